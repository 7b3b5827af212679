// sizes: units (a cut of a row each, cut by cut), kept axes, reduced axes, length. own: the count as f32,
// rows, length of a cut. Axis words: size and stride of a kept axis, size and stride of a reduced axis.
fn kept(row: u32) -> u32 {
    var rest = row;
    var at = params.w[1].x;
    for (var d = params.w[0].y; d > 0u; d--) {
        let axis = params.w[2u + d];
        let above = rest / axis.x;
        at += (rest - above * axis.x) * axis.y;
        rest = above;
    }
    return at;
}
