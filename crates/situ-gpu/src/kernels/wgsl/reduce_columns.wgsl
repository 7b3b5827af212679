    // SIDE rows that lie side by side, and STRIPES invocations for each: neighbours read neighbours.
    let own = params.w[2];
    let blocks = (own.y + SIDE - 1u) / SIDE;
    let cut = group / blocks;
    if cut * own.y >= params.w[0].x { return; }
    let row = (group - cut * blocks) * SIDE + lane % SIDE;
    let stripe = lane / SIDE;
    let first = cut * own.z;
    let end = min(params.w[0].w, first + own.z);
    scratch[lane] = stretch(min(row, own.y - 1u), first + stripe, end, STRIPES);
    workgroupBarrier();
    for (var width = STRIPES / 2u; width > 0u; width = width >> 1u) {
        if stripe < width { scratch[lane] = join(scratch[lane], scratch[lane + width * SIDE]); }
        workgroupBarrier();
    }
    if stripe == 0u && row < own.y {
        let to = params.w[1].w + cut * own.y + row;
        STORE
    }
}
