// Element offsets of row number `row` in two tensors; axis words are (size, stride, stride of the second, -).
fn kept(row: u32) -> vec2<u32> {
    var rest = row;
    var at = params.w[1].xy;
    for (var d = params.w[0].y; d > 0u; d--) {
        let axis = params.w[2u + d];
        let above = rest / axis.x;
        at += (rest - above * axis.x) * axis.yz;
        rest = above;
    }
    return at;
}
