// own: strides of the row, of the scale and of the shift, and epsilon. b1 scale, b2 shift, b3 the output.
fn work(row: u32, lane: u32) {
    let base = kept(row).x;
    let own = params.w[2];
    let length = params.w[0].w;
    let count = f32(length);
    var s = 0.0;
    for (var i = lane; i < length; i += LANES) { s += bitcast<f32>(b0[base + i * own.x]); }
    let mean = team_sum(lane, s) / count;
    var v = 0.0;
    for (var i = lane; i < length; i += LANES) {
        let d = bitcast<f32>(b0[base + i * own.x]) - mean;
        v += d * d;
    }
    let variance = team_sum(lane, v) / count;
    let factor = 1.0 / sqrt(variance + bitcast<f32>(own.w));
    let to = params.w[1].w + row * length;
    for (var i = lane; i < length; i += LANES) {
        let x = (bitcast<f32>(b0[base + i * own.x]) - mean) * factor;
        let scale = bitcast<f32>(b1[params.w[1].y + i * own.y]);
        let shift = bitcast<f32>(b2[params.w[1].z + i * own.z]);
        b3[to + i] = bitcast<u32>(x * scale + shift);
    }
}
