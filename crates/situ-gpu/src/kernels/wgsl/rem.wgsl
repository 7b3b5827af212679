// The remainder of x / y with the sign of x, exact: long division of the mantissas, one bit of the quotient a
// step.
fn rem_of(x: f32, y: f32) -> f32 {
    if is_nan(x) || is_nan(y) || is_inf(x) || y == 0.0 { return nan(); }
    let ax = bitcast<u32>(x) & 0x7fffffffu;
    let ay = bitcast<u32>(y) & 0x7fffffffu;
    if ax < ay { return x; }
    var ex = max(i32(ax >> 23u), 1);
    var ey = max(i32(ay >> 23u), 1);
    var mx = (ax & 0x7fffffu) | select(0u, 0x800000u, ax >= 0x800000u);
    var my = (ay & 0x7fffffu) | select(0u, 0x800000u, ay >= 0x800000u);
    if my == 0u { return nan(); }
    // A denormal divisor has leading zeros, and may go into the dividend more than once a step.
    let denormal = my < 0x800000u;
    let steps = ex - ey;
    for (var i = 0; i < steps; i++) {
        if denormal { mx = mx % my; } else if mx >= my { mx = mx - my; }
        mx = mx << 1u;
    }
    if denormal { mx = mx % my; } else if mx >= my { mx = mx - my; }
    if mx == 0u { return copy_sign(0.0, x); }
    // Back to a normal mantissa, as far as the exponent reaches.
    let shift = min(i32(countLeadingZeros(mx)) - 8, ey - 1);
    mx = mx << u32(shift);
    ey = ey - shift;
    let bits = select(mx, (mx - 0x800000u) | (u32(ey) << 23u), mx >= 0x800000u);
    return copy_sign(bitcast<f32>(bits), x);
}
