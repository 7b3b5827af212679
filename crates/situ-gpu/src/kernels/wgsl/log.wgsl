// log x with x = 2^e (1 + f). The same polynomial as on the CPU.
fn log_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    if x < 0.0 { return nan(); }
    if x == 0.0 { return -inf(); }
    if is_inf(x) { return x; }
    // Denormals are scaled into the normal range first.
    let small = x < 1.1754944e-38;
    let bits = bitcast<u32>(select(x, x * 16777216.0, small));
    let exponent = bitcast<i32>(bits - 0x3f3504f3u) >> 23u;
    let f = bitcast<f32>(bits - (bitcast<u32>(exponent) << 23u)) - 1.0;
    let e = f32(exponent) - select(0.0, 24.0, small);
    let q = f * f;
    var t = 0.067466422915 * f - 0.11675652117;
    t = t * f + 0.11888162047;
    t = t * f - 0.12405588478;
    t = t * f + 0.14219552279;
    t = t * f - 0.16667996347;
    t = t * f + 0.20002119243;
    t = t * f - 0.25000008941;
    t = t * f + 0.33333313465;
    let tail = q * -0.5 + (e * 1.4286068e-6 + q * f * t);
    return e * 0.69314575 + (f + tail);
}
fn log1p_of(x: f32) -> f32 {
    if is_nan(x) || is_inf(x) { return select(x, nan(), bitcast<u32>(x) == 0xff800000u); }
    // 1 + x loses low bits of x; `lost` is exactly those, and enters to first order.
    let u = hide(1.0 + x);
    if u == 0.0 { return -inf(); }
    let lost = x - (u - 1.0);
    if x == 0.0 { return x; }
    return log_of(u) + lost / u;
}
