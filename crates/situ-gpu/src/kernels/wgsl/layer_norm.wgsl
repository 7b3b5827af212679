// own: strides of the row, of the scale and of the shift, and epsilon. b1 scale, b2 shift, b3 the output.
fn work(row: u32, lane: u32) {
    let base = kept(row).x;
    let own = params.w[2];
    let length = params.w[0].w;
    let count = f32(length);
    var s = 0.0;
    for (var i = lane; i < length;) {
        var run = 0.0;
        let end = min(length, i + 64u * LANES);
        for (; i < end; i += LANES) { run += bitcast<f32>(b0[base + i * own.x]); }
        s += run;
    }
    let near = team_sum(lane, s) / count;
    // Distances are summed too: they tell how far the mean is off.
    var v = vec2<f32>(0.0);
    for (var i = lane; i < length;) {
        var run = vec2<f32>(0.0);
        let end = min(length, i + 64u * LANES);
        for (; i < end; i += LANES) {
            let d = bitcast<f32>(b0[base + i * own.x]) - near;
            run += vec2<f32>(d, d * d);
        }
        v += run;
    }
    let off = team_sum(lane, v.x) / count;
    let mean = select(near, near + off, is_finite(near));
    let variance = max_nan(team_sum(lane, v.y) / count - off * off, 0.0);
    let factor = 1.0 / sqrt(variance + bitcast<f32>(own.w));
    let to = params.w[1].w + row * length;
    for (var i = lane; i < length; i += LANES) {
        let x = (bitcast<f32>(b0[base + i * own.x]) - mean) * factor;
        let scale = bitcast<f32>(b1[params.w[1].y + i * own.y]);
        let shift = bitcast<f32>(b2[params.w[1].z + i * own.z]);
        b3[to + i] = bitcast<u32>(x * scale + shift);
    }
}
