// What follows a convolution: b0 a bias for each channel, b1 the sums, and then the results. sizes: elements,
// channels, elements from one channel to the next. own: the activation's parameters.
fn element(e: u32) -> u32 {
    let own = params.w[2];
    let channel = (e / params.w[0].z) % params.w[0].y;
    let sum = bitcast<f32>(b1[params.w[1].w + e]) + bitcast<f32>(b0[params.w[1].x + channel]);
    // Hidden, as between any two ops: the activation is to see a number, and not a sum.
    let a = hide(sum);
    let done = ACTIVATION;
    return bitcast<u32>(done);
}
