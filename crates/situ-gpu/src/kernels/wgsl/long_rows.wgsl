// Rows in cuts. w[12]: rows, parts of a row, parts that are joined, elements of a part. w[13]: where pairs of
// numbers lie in `WORK`, the workspace: those read, those written, those of whole rows. Parts of one number
// lie row by row.
struct Part { row: u32, first: u32, end: u32 }
// Elements of the cut that is unit number `unit`.
fn cut_of(unit: u32) -> Part {
    let how = params.w[12];
    let cut = unit / how.x;
    return Part(unit - cut * how.x, cut * how.w, min(params.w[0].w, (cut + 1u) * how.w));
}
// Parts that unit number `unit` joins.
fn parts_of(unit: u32) -> Part {
    let how = params.w[12];
    let to = unit / how.x;
    return Part(unit - to * how.x, to * how.z, min(how.y, (to + 1u) * how.z));
}
fn pair_at(at: u32) -> vec2<f32> { return vec2<f32>(bitcast<f32>(WORK[at]), bitcast<f32>(WORK[at + 1u])); }
fn part(row: u32, i: u32) -> vec2<f32> { return pair_at(params.w[13].x + 2u * (i * params.w[12].x + row)); }
fn whole(row: u32) -> vec2<f32> { return pair_at(params.w[13].z + 2u * row); }
fn keep(unit: u32, pair: vec2<f32>) {
    let at = params.w[13].y + 2u * unit;
    WORK[at] = bitcast<u32>(pair.x);
    WORK[at + 1u] = bitcast<u32>(pair.y);
}
