// own: stride of the classes. b2 are the labels, dense; b3 the output, b4 the error slots.
fn work(row: u32) {
    let label = index_at(params.w[1].y + row);
    let pair = whole(row);
    var loss = 0.0;
    // A negative label is beyond the end, as unsigned numbers see it.
    if label < params.w[0].w {
        loss = log_of(pair.y) - (value(origin(row), label) - pair.x);
        if !is_finite(pair.x) { loss = nan(); }
    } else {
        atomicMax(&b4[p(63u) * 4u], ~row);
    }
    b3[params.w[1].w + row] = bitcast<u32>(loss);
}
