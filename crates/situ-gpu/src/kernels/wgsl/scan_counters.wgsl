// Each counter becomes the sum of those before it.
fn work(block: u32) {
    let sizes = params.w[0];
    let end = min(sizes.x, (block + 1u) * sizes.y);
    var before = b0[params.w[1].y + block];
    for (var i = block * sizes.y; i < end; i++) {
        let count = b0[params.w[1].x + i];
        b0[params.w[1].x + i] = before;
        before += count;
    }
}
