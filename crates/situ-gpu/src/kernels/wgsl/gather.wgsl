// sizes: elements, elements after the axis, indices, size of the axis. b2 is the output, b3 the error slots.
fn place_of(e: u32) -> u32 {
    let sizes = params.w[0];
    let above = e / sizes.y;
    let column = e - above * sizes.y;
    let outer = above / sizes.z;
    let i = above - outer * sizes.z;
    var index = index_at(params.w[1].y + i);
    // A negative index is beyond the end, as unsigned numbers see it.
    if index >= sizes.w {
        atomicMax(&b3[p(63u) * 4u], ~i);
        index = 0u;
    }
    return params.w[1].x + (outer * sizes.w + index) * sizes.y + column;
}
