// own: stride of the classes. b1 are the labels, dense; b3 the error slots.
fn work(row: u32, lane: u32) {
    let base = kept(row).x;
    let own = params.w[2];
    let length = params.w[0].w;
    let shape = shift_and_log(base, own.x, length, lane);
    if lane == 0u {
        let label = index_at(params.w[1].y + row);
        var loss = 0.0;
        // A negative label is beyond the end, as unsigned numbers see it.
        if label < length {
            loss = shape.y - (bitcast<f32>(b0[base + label * own.x]) - shape.x);
            if is_nan(shape.y) { loss = nan(); }
        } else {
            atomicMax(&b3[p(63u) * 4u], ~row);
        }
        b2[params.w[1].w + row] = bitcast<u32>(loss);
    }
}
