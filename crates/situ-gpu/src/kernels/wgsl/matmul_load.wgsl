// sizes: rows, columns, inner size, batch axes. own: strides of a's rows and inner axis, of b's inner axis
// and columns. Axis words: size, strides of a and b. The third offset is the number of batches.
struct Place { a: u32, b: u32, out: u32, row: u32, column: u32 }
fn place_of(group: u32) -> Place {
    let sizes = params.w[0];
    let across = (sizes.y + ACROSS - 1u) / ACROSS;
    let down = (sizes.x + DOWN - 1u) / DOWN;
    let above = group / across;
    let batch = above / down;
    var at = params.w[1].xy;
    var rest = batch;
    for (var d = sizes.w; d > 0u; d--) {
        let axis = params.w[2u + d];
        let next = rest / axis.x;
        at += (rest - next * axis.x) * axis.yz;
        rest = next;
    }
    // A workgroup beyond the last batch is put beyond the last row, where nothing is read or written.
    let row = select((above - batch * down) * DOWN, sizes.x, batch >= params.w[1].z);
    let column = (group - above * across) * ACROSS;
    return Place(at.x, at.y, params.w[1].w + batch * sizes.x * sizes.y, row, column);
}
fn load_a(place: Place, row: u32, k: u32) -> T {
    if row >= params.w[0].x || k >= params.w[0].z { return T(0); }
    return left(place.a + row * params.w[2].x + k * params.w[2].y);
}
fn load_b(place: Place, k: u32, column: u32) -> T {
    if column >= params.w[0].y || k >= params.w[0].z { return T(0); }
    return right(place.b + k * params.w[2].z + column * params.w[2].w);
}
