// One row for each channel. own: channels, elements behind the channel. b0 x, b1 the mean, b2 the variance.
fn value(row: u32, i: u32) -> f32 {
    let own = params.w[2];
    let above = i / own.y;
    return bitcast<f32>(b0[params.w[1].x + (above * own.x + row) * own.y + (i - above * own.y)]);
}
fn work(row: u32, lane: u32) {
    let length = params.w[0].w;
    let count = f32(length);
    var s = 0.0;
    for (var i = lane; i < length;) {
        var run = 0.0;
        let end = min(length, i + 64u * LANES);
        for (; i < end; i += LANES) { run += value(row, i); }
        s += run;
    }
    let near = team_sum(lane, s) / count;
    // Distances are summed too: they tell how far the mean is off.
    var v = vec2<f32>(0.0);
    for (var i = lane; i < length;) {
        var run = vec2<f32>(0.0);
        let end = min(length, i + 64u * LANES);
        for (; i < end; i += LANES) {
            let d = value(row, i) - near;
            run += vec2<f32>(d, d * d);
        }
        v += run;
    }
    let off = team_sum(lane, v.x) / count;
    let mean = select(near, near + off, is_finite(near));
    let variance = max_nan(team_sum(lane, v.y) / count - off * off, 0.0);
    if lane == 0u {
        b1[params.w[1].y + row] = select(bitcast<u32>(mean), nan_bits, length == 0u);
        b2[params.w[1].z + row] = select(bitcast<u32>(variance), nan_bits, length == 0u);
    }
}
