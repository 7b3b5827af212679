// Sine and cosine on the rest after quarter turns are taken off. Below 4096 the quarter turn is subtracted in
// three parts whose products are exact; above, the product with 2/pi is formed in integers.
struct Turned { quarters: u32, rest: f32 }
fn turned(x: f32) -> Turned {
    if abs(x) < 4096.0 {
        let n = round(x * 0.636619772368);
        let high = hide(x - n * bitcast<f32>(0x3fc90000u));
        let r = hide(high - n * bitcast<f32>(0x39fda000u)) - n * bitcast<f32>(0x33a22169u);
        return Turned(bitcast<u32>(i32(n)), r);
    }
    var two_over_pi = array<u32, 8>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
        0xfe5163abu);
    let bits = bitcast<u32>(x);
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    // Bits of 2/pi that would give whole turns are left out; 96 of those that follow are enough.
    let bit = ((bits >> 23u) & 255u) - 120u;
    let first = bit >> 5u;
    let shift = bit & 31u;
    var window = vec3<u32>(two_over_pi[first], two_over_pi[first + 1u], two_over_pi[first + 2u]);
    if shift != 0u {
        let next = vec3<u32>(window.y, window.z, two_over_pi[first + 3u]);
        window = (window << vec3<u32>(shift)) | (next >> vec3<u32>(32u - shift));
    }
    let low = mantissa * window.z;
    let mid_high = mul_hi(mantissa, window.z);
    let mid_low = mantissa * window.y;
    let mid = mid_high + mid_low;
    let carry = select(0u, 1u, mid < mid_low);
    let high = mul_hi(mantissa, window.y) + mantissa * window.x + carry;
    var quarters = high >> 30u;
    // The fraction of a quarter turn, 64 bits; more than half counts as the next quarter less something.
    var f1 = (high << 2u) | (mid >> 30u);
    var f0 = (mid << 2u) | (low >> 30u);
    let over = f1 >= 0x80000000u;
    if over {
        quarters = quarters + 1u;
        f0 = ~f0 + 1u;
        f1 = ~f1 + select(0u, 1u, f0 == 0u);
    }
    var r = (f32(f1) * 4294967296.0 + f32(f0)) * 5.421010862427522e-20 * 1.57079632679;
    r = select(r, -r, over);
    let negative = x < 0.0;
    return Turned(select(quarters, 0u - quarters, negative), select(r, -r, negative));
}
fn sine_from(x: f32, quarters: u32) -> f32 {
    if !is_finite(x) { return nan(); }
    let t = turned(x);
    let quarter = t.quarters + quarters;
    let r = t.rest;
    let u = r * r;
    let sine = r * u * (((2.7180465167e-06 * u - 0.0001983930415) * u + 0.0083333291113) * u - 0.16666667163) + r;
    let cosine = u * u * (((-2.7209549103e-07 * u + 2.4799512175e-05) * u - 0.0013888883404) * u + 0.041666667908)
        + (1.0 - 0.5 * u);
    let y = select(cosine, sine, (quarter & 1u) == 0u);
    return bitcast<f32>(bitcast<u32>(y) ^ ((quarter & 2u) << 30u));
}
fn sin_of(x: f32) -> f32 { return select(sine_from(x, 0u), x, x == 0.0); }
fn cos_of(x: f32) -> f32 { return sine_from(x, 1u); }
