    let first = group * 4u;
    if first >= params.w[0].x { return; }
    var word = 0u;
    for (var k = 0u; k < 4u; k++) {
        let row = min(first + k, params.w[0].x - 1u);
        word |= finish(reduce_part(row, 0u, params.w[0].w, lane)) << (k * 8u);
    }
    if lane == 0u { b1[(params.w[1].w + first) >> 2u] = word; }
}
