// Every so many elements of a row, from the first on; at least one, where there is any.
fn stretch(row: u32, first: u32, end: u32, every: u32) -> Acc {
    let base = kept(row);
    var acc = start(base, row, min(first, max(end, 1u) - 1u));
    var at = place_of(first);
    let jump = place_of(every);
    for (var r = first; r < end; r += every) {
        acc = join(acc, item_from(base, row, r, at));
        at = advance(at, jump);
    }
    return acc;
}
