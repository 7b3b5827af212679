// sizes: elements of the updates, elements after the axis, indices, size of the axis. b0 updates, b1 indices,
// b2 links, b3 the output, which holds the base.
fn add_chain(e: u32) {
    let sizes = params.w[0];
    let above = e / sizes.y;
    let column = e - above * sizes.y;
    let outer = above / sizes.z;
    var i = above - outer * sizes.z;
    let links = params.w[1].z;
    if b2[links + sizes.z + i] == 0u { return; }
    let at = params.w[1].w + (outer * sizes.w + index_at(params.w[1].y + i)) * sizes.y + column;
    var sum = output(at);
    // A chain visits each index at most once.
    for (var n = 0u; n < sizes.z; n++) {
        sum += update(params.w[1].x + (outer * sizes.z + i) * sizes.y + column);
        i = b2[links + i];
        if i == 0xffffffffu { break; }
    }
    set_output(at, sum);
}
