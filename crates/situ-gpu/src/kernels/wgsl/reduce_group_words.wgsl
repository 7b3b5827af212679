    if group >= params.w[0].x { return; }
    let own = params.w[2];
    let cut = group / own.y;
    let first = cut * own.z;
    let end = min(params.w[0].w, first + own.z);
    let acc = reduce_part(group - cut * own.y, first, end, lane);
    if lane == 0u {
        let to = params.w[1].w + group;
        STORE
    }
}
