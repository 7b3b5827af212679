// Sums of blocks of counters. b0 the workspace. sizes: counters, counters of a block, blocks. offsets:
// counters, sums.
fn work(block: u32) {
    let sizes = params.w[0];
    let end = min(sizes.x, (block + 1u) * sizes.y);
    var sum = 0u;
    for (var i = block * sizes.y; i < end; i++) { sum += b0[params.w[1].x + i]; }
    b0[params.w[1].y + block] = sum;
}
