// The error function and the Gaussian activation. The same polynomials as on the CPU.
fn erf_near(x: f32) -> f32 {
    let u = x * x;
    var t = 7.8538636444e-05 * u - 0.00080101942876;
    t = t * u + 0.0051883277483;
    t = t * u - 0.026853812858;
    t = t * u + 0.11283585429;
    t = t * u - 0.37612625957;
    t = t * u + 0.12837910652;
    return x * t + x;
}
// The upper tail of the normal distribution for t from 0 to 14.6.
fn normal_tail(t: f32) -> f32 {
    // e^(-t^2/2) magnifies the rounding of t^2: square a part of t that squares exactly, and multiply the
    // rest in.
    let high = bitcast<f32>(bitcast<u32>(t) & 0xfffff000u);
    let rest = (t - high) * (t + high) * 0.5;
    let correction = rest * (rest * (rest * -0.16666667 + 0.5) - 1.0) + 1.0;
    let inverse = 1.0 / (t + 4.0);
    let s = (t - 4.0) * inverse;
    var h = -0.00013243270223 * s + 0.00017837235646;
    h = h * s + 0.0015695890179;
    h = h * s - 0.0035120788962;
    h = h * s - 0.0075250035152;
    h = h * s + 0.060403764248;
    h = h * s - 0.1865234822;
    h = h * s + 0.38713690639;
    h = h * s - 0.60789656639;
    h = h * s + 0.75528514385;
    return h * inverse * correction * exp_of(-0.5 * high * high);
}
fn erf_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let a = abs(x);
    if a < 1.0 { return erf_near(x); }
    // From 4 on, erf rounds to 1.
    return copy_sign(1.0 - 2.0 * normal_tail(min(a, 4.0) * 1.41421356237), x);
}
fn gelu_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    // Below -14.6 the result is 0; the clamp keeps -inf * 0 from becoming NaN.
    let c = max(x, -14.6);
    let a = abs(c);
    // Around 0 the tail is a product of many roundings; 1/2 + erf/2 is a sum with one.
    if a < 0.75 { return c * (0.5 * erf_near(c * 0.70710678118) + 0.5); }
    let tail = normal_tail(min(a, 14.6));
    return c * select(1.0 - tail, tail, c < 0.0);
}
