// own: stride of the axis, elements after the axis, whether the logarithm is wanted.
fn work(row: u32, lane: u32) {
    let base = kept(row).x;
    let own = params.w[2];
    let length = params.w[0].w;
    var m = bitcast<f32>(b0[base + min(lane, length - 1u) * own.x]);
    for (var i = lane; i < length; i += LANES) { m = max_nan(m, bitcast<f32>(b0[base + i * own.x])); }
    m = team_max(lane, m);
    var s = 0.0;
    for (var i = lane; i < length;) {
        var run = 0.0;
        let end = min(length, i + 64u * LANES);
        for (; i < end; i += LANES) { run += exp_nonpositive(bitcast<f32>(b0[base + i * own.x]) - m); }
        s += run;
    }
    s = team_sum(lane, s);
    // A largest element that is no number, or infinite, leaves no meaning in the row.
    let broken = !is_finite(m);
    let log_s = log_of(s);
    let scale = 1.0 / s;
    let outer = row / own.y;
    let to = params.w[1].w + outer * length * own.y + (row - outer * own.y);
    for (var i = lane; i < length; i += LANES) {
        let x = bitcast<f32>(b0[base + i * own.x]) - m;
        var y = 0.0;
        if own.z != 0u { y = x - log_s; } else { y = exp_nonpositive(x) * scale; }
        b1[to + i * own.y] = bitcast<u32>(select(y, nan(), broken));
    }
}
