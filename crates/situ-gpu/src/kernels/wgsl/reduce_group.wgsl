fn reduce_part(base: u32, first: u32, end: u32, lane: u32) -> Acc {
    var acc = start(base, min(first + lane, max(end, 1u) - 1u));
    for (var r = first + lane; r < end; r += LANES) { acc = join(acc, item_at(base, r)); }
    return team_join(lane, acc);
}
