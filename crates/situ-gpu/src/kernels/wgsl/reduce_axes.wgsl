// More than two axes: every element's place is found anew.
fn place_of(r: u32) -> vec2<u32> { return vec2<u32>(0u, r); }
fn advance(at: vec2<u32>, jump: vec2<u32>) -> vec2<u32> { return at + jump; }
fn offset(at: vec2<u32>) -> u32 { return reduced(at.y); }
fn reduced(r: u32) -> u32 {
    var rest = r;
    var at = 0u;
    for (var d = params.w[0].z; d > 0u; d--) {
        let axis = params.w[2u + d];
        let above = rest / axis.z;
        at += (rest - above * axis.z) * axis.w;
        rest = above;
    }
    return at;
}
