fn reduce_part(row: u32, first: u32, end: u32, lane: u32) -> Acc {
    let base = kept(row);
    var acc = start(base, row, min(first + lane, max(end, 1u) - 1u));
    for (var r = first + lane; r < end; r += LANES) { acc = join(acc, item_at(base, row, r)); }
    return team_join(lane, acc);
}
