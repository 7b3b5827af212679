fn element(row: u32) -> u32 {
    let base = kept(row);
    let length = params.w[0].w;
    // Runs of 64 are joined first: rounding grows with the length of a chain of additions.
    var acc = start(base, 0u);
    for (var r = 0u; r < length;) {
        var run = start(base, r);
        let end = min(length, r + 64u);
        for (; r < end; r++) { run = join(run, item_at(base, r)); }
        acc = join(acc, run);
    }
    return finish(acc);
}
