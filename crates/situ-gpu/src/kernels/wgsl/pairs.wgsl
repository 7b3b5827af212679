// Integers of 64 bits as two words, the low one first.
fn negated(pair: vec2<u32>) -> vec2<u32> {
    let low = ~pair.x + 1u;
    return vec2<u32>(low, ~pair.y + select(0u, 1u, low == 0u));
}
fn sign_extended(a: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u)); }
// A number that is not negative as 32 leading bits, of which the last says whether any was cut off behind
// them, and the exponent of its last place.
fn leading_bits(m: vec2<u32>) -> vec2<u32> {
    if m.y == 0u { return vec2<u32>(m.x, 0u); }
    let z = countLeadingZeros(m.y);
    var top = m.y << z;
    if z > 0u { top |= m.x >> (32u - z); }
    if (m.x << z) != 0u { top |= 1u; }
    return vec2<u32>(top, 32u - z);
}
fn scale_of(exponent: u32) -> f32 { return bitcast<f32>((127u + exponent) << 23u); }
// The nearest float, ties to even.
fn unsigned_float_of(pair: vec2<u32>) -> f32 {
    let top = leading_bits(pair);
    return f32(top.x) * scale_of(top.y);
}
fn signed_float_of(pair: vec2<u32>) -> f32 {
    if (pair.y >> 31u) == 1u { return -unsigned_float_of(negated(pair)); }
    return unsigned_float_of(pair);
}
// The float toward zero, with the last bit set where that is not the number: rounded once more to half as
// many bits, it gives what the number itself would.
fn unsigned_odd_of(pair: vec2<u32>) -> f32 {
    let top = leading_bits(pair);
    if top.x < 0x1000000u { return f32(top.x) * scale_of(top.y); }
    let cut = 8u - countLeadingZeros(top.x);
    var kept = top.x >> cut;
    if (kept << cut) != top.x { kept |= 1u; }
    return f32(kept) * scale_of(top.y + cut);
}
fn signed_odd_of(pair: vec2<u32>) -> f32 {
    if (pair.y >> 31u) == 1u { return -unsigned_odd_of(negated(pair)); }
    return unsigned_odd_of(pair);
}
// Toward zero, saturating; NaN is 0.
fn unsigned_pair_of(a: f32) -> vec2<u32> {
    if is_nan(a) || a <= 0.0 { return vec2<u32>(0u, 0u); }
    if a >= 18446744073709551616.0 { return vec2<u32>(0xffffffffu, 0xffffffffu); }
    let m = trunc(a);
    let high = trunc(m * 0.00000000023283064365386962890625);
    return vec2<u32>(u32(m - high * 4294967296.0), u32(high));
}
fn signed_pair_of(a: f32) -> vec2<u32> {
    if is_nan(a) { return vec2<u32>(0u, 0u); }
    if a >= 9223372036854775808.0 { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
    if a <= -9223372036854775808.0 { return vec2<u32>(0u, 0x80000000u); }
    let pair = unsigned_pair_of(abs(a));
    if a < 0.0 { return negated(pair); }
    return pair;
}
