// sizes: elements, channels, elements behind the channel. own: offsets of mean and variance, epsilon. b0 x,
// b1 scale, b2 shift, b3 mean, b4 variance.
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let c = (e / sizes.z) % sizes.y;
    let mean = bitcast<f32>(b3[own.x + c]);
    // Scaled first, as on the CPU: where the rate overflows, the order decides what comes out.
    let rate = bitcast<f32>(b1[params.w[1].y + c]) / sqrt(bitcast<f32>(b4[own.y + c]) + bitcast<f32>(own.z));
    return bitcast<u32>((bitcast<f32>(b0[params.w[1].x + e]) - mean) * rate + bitcast<f32>(b2[params.w[1].z + c]));
}
