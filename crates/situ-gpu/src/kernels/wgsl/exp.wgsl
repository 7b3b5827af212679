// e^x = 2^n e^r with |r| <= ln2 / 2. The same polynomial as on the CPU.
const LN2_HIGH: f32 = 0.69314575;
const LN2_LOW: f32 = 1.4286068e-6;
fn power_of_two(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }
// e^r - 1 for the r left over when n = round(x / ln2) is taken off.
fn exp_rest(x: f32, n: f32) -> f32 {
    let r = hide(x - n * LN2_HIGH) - n * LN2_LOW;
    let tail = (((0.0013947597472 * r + 0.0083672469482) * r + 0.041666265577) * r + 0.16666537523) * r + 0.5;
    return r * r * tail + r;
}
fn exp_n(x: f32) -> f32 { return round(x * 1.44269504089); }
fn exp_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    // e^89 overflows and e^-104 rounds to 0.
    if x > 89.0 { return inf(); }
    if x < -104.0 { return 0.0; }
    let n = exp_n(x);
    // 2^n itself may be beyond f32 on either side where the product is not: apply it in two halves.
    let half = i32(n) >> 1u;
    return (1.0 + exp_rest(x, n)) * power_of_two(half) * power_of_two(i32(n) - half);
}
// e^x for x at most 0, flushed to 0 below the smallest normal number: what a softmax needs.
fn exp_nonpositive(x: f32) -> f32 {
    if is_nan(x) { return x; }
    if x < -87.33654 { return 0.0; }
    let n = exp_n(x);
    let scale = power_of_two(i32(n));
    return exp_rest(x, n) * scale + scale;
}
fn expm1_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    if x > 89.0 { return inf(); }
    // Below -20 the result rounds to -1.
    let c = max(x, -20.0);
    let n = exp_n(c);
    let half = i32(n) >> 1u;
    let rest = i32(n) - half;
    let scale = power_of_two(half);
    return (exp_rest(c, n) * scale + (scale - power_of_two(-rest))) * power_of_two(rest);
}
fn tanh_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    // From 9.1 on, tanh rounds to 1.
    let a = min(abs(x), 9.1);
    let e = expm1_of(a + a);
    return copy_sign(e / (e + 2.0), x);
}
fn sigmoid_of(x: f32) -> f32 {
    let e = exp_of(-abs(x));
    return select(1.0, e, x < 0.0) / (1.0 + e);
}
fn silu_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    // Below -110 the result is 0; the clamp keeps -inf * 0 from becoming NaN.
    let c = max(x, -110.0);
    return c * sigmoid_of(c);
}
