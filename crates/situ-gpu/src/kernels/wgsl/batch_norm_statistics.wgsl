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
    for (var i = lane; i < length; i += LANES) { s += value(row, i); }
    let mean = team_sum(lane, s) / count;
    var v = 0.0;
    for (var i = lane; i < length; i += LANES) {
        let d = value(row, i) - mean;
        v += d * d;
    }
    let variance = team_sum(lane, v) / count;
    if lane == 0u {
        b1[params.w[1].y + row] = select(bitcast<u32>(mean), nan_bits, length == 0u);
        b2[params.w[1].z + row] = select(bitcast<u32>(variance), nan_bits, length == 0u);
    }
}
