// sizes: elements, channels, elements behind the channel. own: offsets of mean and variance, epsilon. b0 x, b1 scale, b2 shift, b3 mean,
// b4 variance.
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let c = (e / sizes.z) % sizes.y;
    let mean = bitcast<f32>(b3[own.x + c]);
    let rate = 1.0 / sqrt(bitcast<f32>(b4[own.y + c]) + bitcast<f32>(own.z));
    let x = (bitcast<f32>(b0[params.w[1].x + e]) - mean) * rate;
    return bitcast<u32>(x * bitcast<f32>(b1[params.w[1].y + c]) + bitcast<f32>(b2[params.w[1].z + c]));
}
