    // For each index: where the next equal one stands (or all ones), and whether it is the first of its
    // value. Indices out of range are no chain's first. b2 are the error slots.
    let i = group * 256u + lane;
    let count = params.w[0].x;
    if i >= count { return; }
    let base = params.w[1].x;
    let mine = index_at(base + i);
    let valid = mine < params.w[0].w;
    if !valid { atomicMax(&b2[p(63u) * 4u], ~i); }
    var first = valid;
    for (var j = 0u; j < i; j++) {
        if index_at(base + j) == mine {
            first = false;
            break;
        }
    }
    var next = 0xffffffffu;
    for (var j = i + 1u; j < count; j++) {
        if index_at(base + j) == mine {
            next = j;
            break;
        }
    }
    let to = params.w[1].y;
    b1[to + i] = next;
    b1[to + count + i] = select(0u, 1u, first);
}
