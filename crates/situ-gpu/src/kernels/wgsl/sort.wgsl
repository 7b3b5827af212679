// One round of a stable sort of positions by a digit of their keys. b0 the indices, b1 the workspace. sizes:
// positions, keys, positions of a chunk, chunks. offsets: indices, positions before and after, counters. own:
// the lowest bit of the digit, its mask, whether positions come in their own order yet. An index out of range
// counts as the highest key.
fn position(j: u32) -> u32 {
    if params.w[2].z != 0u { return j; }
    return b1[params.w[1].y + j];
}
fn counter(at: u32, chunk: u32) -> u32 {
    let key = min(index_at(params.w[1].x + at), params.w[0].y);
    return params.w[1].w + ((key >> params.w[2].x) & params.w[2].y) * params.w[0].w + chunk;
}
