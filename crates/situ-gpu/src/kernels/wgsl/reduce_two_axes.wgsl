// Where element number r of a row is: its place along both axes, which goes on without dividing at every
// step.
fn place_of(r: u32) -> vec2<u32> {
    let above = r / params.w[4].z;
    return vec2<u32>(above, r - above * params.w[4].z);
}
fn advance(at: vec2<u32>, jump: vec2<u32>) -> vec2<u32> {
    let next = at + jump;
    let over = next.y >= params.w[4].z;
    return select(next, vec2<u32>(next.x + 1u, next.y - params.w[4].z), over);
}
fn offset(at: vec2<u32>) -> u32 { return at.x * params.w[3].w + at.y * params.w[4].w; }
fn reduced(r: u32) -> u32 { return offset(place_of(r)); }
