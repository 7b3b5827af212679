// i64 as two words, the low one first.
fn negated(pair: vec2<u32>) -> vec2<u32> {
    let low = ~pair.x + 1u;
    return vec2<u32>(low, ~pair.y + select(0u, 1u, low == 0u));
}
fn sign_extended(a: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u)); }
// The nearest float, ties to even: 32 leading bits, of which the last says whether any was cut off behind
// them, round once.
fn float_of(pair: vec2<u32>) -> f32 {
    let negative = (pair.y >> 31u) == 1u;
    var m = pair;
    if negative { m = negated(pair); }
    var value = f32(m.x);
    if m.y != 0u {
        let z = countLeadingZeros(m.y);
        var top = m.y << z;
        if z > 0u { top |= m.x >> (32u - z); }
        let rest = m.x << z;
        if rest != 0u { top |= 1u; }
        value = f32(top) * bitcast<f32>((159u - z) << 23u);
    }
    return select(value, -value, negative);
}
// Toward zero, saturating; NaN is 0.
fn pair_of(a: f32) -> vec2<u32> {
    if is_nan(a) { return vec2<u32>(0u, 0u); }
    if a >= 9223372036854775808.0 { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
    if a <= -9223372036854775808.0 { return vec2<u32>(0u, 0x80000000u); }
    let m = trunc(abs(a));
    let high = trunc(m * 0.00000000023283064365386962890625);
    let pair = vec2<u32>(u32(m - high * 4294967296.0), u32(high));
    if a < 0.0 { return negated(pair); }
    return pair;
}
