// The largest of a row of logits, and the logarithm of the sum of e^(x - largest): NaN where the largest is
// no number, or infinite.
fn shift_and_log(base: u32, step: u32, length: u32, lane: u32) -> vec2<f32> {
    var m = 0.0;
    if length > 0u { m = bitcast<f32>(b0[base + min(lane, length - 1u) * step]); }
    for (var i = lane; i < length; i += LANES) { m = max_nan(m, bitcast<f32>(b0[base + i * step])); }
    m = team_max(lane, m);
    var s = 0.0;
    for (var i = lane; i < length;) {
        var run = 0.0;
        let end = min(length, i + 64u * LANES);
        for (; i < end; i += LANES) { run += exp_nonpositive(bitcast<f32>(b0[base + i * step]) - m); }
        s += run;
    }
    s = team_sum(lane, s);
    return vec2<f32>(m, select(log_of(s), nan(), !is_finite(m)));
}
