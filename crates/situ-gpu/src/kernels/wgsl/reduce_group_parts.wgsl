    let first = group * PER_WORD;
    if first >= params.w[0].x { return; }
    var word = 0u;
    for (var k = 0u; k < PER_WORD; k++) {
        let row = min(first + k, params.w[0].x - 1u);
        word |= finish(reduce_part(row, 0u, params.w[0].w, lane)) << (k * SIZE);
    }
    if lane == 0u { OUT[(params.w[1].w + first) / PER_WORD] = word; }
}
