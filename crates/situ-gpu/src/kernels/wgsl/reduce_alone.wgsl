fn element(unit: u32) -> BITS {
    let own = params.w[2];
    let cut = unit / own.y;
    let row = unit - cut * own.y;
    let base = kept(row);
    let length = min(params.w[0].w, (cut + 1u) * own.z);
    // Runs of 64 are joined first: rounding grows with the length of a chain of additions.
    var acc = start(base, row, cut * own.z);
    var at = place_of(cut * own.z);
    let jump = place_of(1u);
    for (var r = cut * own.z; r < length;) {
        var run = start(base, row, r);
        let end = min(length, r + 64u);
        for (; r < end; r++) {
            run = join(run, item_from(base, row, r, at));
            at = advance(at, jump);
        }
        acc = join(acc, run);
    }
    return finish(acc);
}
