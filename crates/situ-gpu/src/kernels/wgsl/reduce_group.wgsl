fn reduce_part(row: u32, first: u32, end: u32, lane: u32) -> Acc {
    return team_join(lane, stretch(row, first + lane, end, LANES));
}
