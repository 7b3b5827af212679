// Every so many elements of a row, from the first on; at least one, where there is any.
fn stretch(row: u32, first: u32, end: u32, every: u32) -> Acc {
    let base = kept(row);
    var acc = start(base, row, min(first, max(end, 1u) - 1u));
    var at = place_of(first);
    let jump = place_of(every);
    var r = first;
    // Four loads at once: none waits for the sum of another.
    for (; r + 3u * every < end; r += 4u * every) {
        let b = advance(at, jump);
        let c = advance(b, jump);
        let d = advance(c, jump);
        let one = join(item_from(base, row, r, at), item_from(base, row, r + every, b));
        let two = join(item_from(base, row, r + 2u * every, c), item_from(base, row, r + 3u * every, d));
        acc = join(acc, join(one, two));
        at = advance(d, jump);
    }
    for (; r < end; r += every) {
        acc = join(acc, item_from(base, row, r, at));
        at = advance(at, jump);
    }
    return acc;
}
