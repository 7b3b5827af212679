// x^y as 2^(y log2 x), with the logarithm and the product as sums of two f32: one alone would lose up to
// seven bits of the result to a large exponent.
struct Two { high: f32, low: f32 }
fn head(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }
fn two_sum(a: f32, b: f32) -> Two {
    let s = hide(a + b);
    let t = hide(s - a);
    return Two(s, (a - hide(s - t)) + (b - t));
}
fn two_product(a: f32, b: f32) -> Two {
    let product = hide(a * b);
    let ah = head(a);
    let al = a - ah;
    let bh = head(b);
    let bl = b - bh;
    return Two(product, ((hide(ah * bh - product) + ah * bl) + al * bh) + al * bl);
}
// log2 of a positive, finite, normal number.
fn log2_two(x: f32) -> Two {
    let bits = bitcast<u32>(x);
    let exponent = bitcast<i32>(bits - 0x3f3504f3u) >> 23u;
    let m = bitcast<f32>(bits - (bitcast<u32>(exponent) << 23u));
    let top = m - 1.0;
    let bottom = two_sum(m, 1.0);
    let s = top / bottom.high;
    let back = two_product(s, bottom.high);
    let s_low = ((hide(top - back.high) - back.low) - s * bottom.low) / bottom.high;
    let u = s * s;
    // log2 m = s (2/ln2 + 0.96 s^2 + ...): the first term in two parts, the others are small.
    let more = ((((0.28292090520790547 * u + 0.31990432211929476) * u + 0.4122092838790569) * u + 0.5770779420747112) * u
        + 0.9617966941142595) * u;
    let lead = two_product(s, 2.8853900432586669921875);
    let rest = lead.low + s * 3.8519259e-8 + s_low * 2.8853901 + s * more;
    let sum = two_sum(f32(exponent), lead.high);
    return Two(sum.high, sum.low + rest);
}
fn exp2_two(x: Two) -> f32 {
    let n = round(x.high);
    let r = hide(x.high - n) + x.low;
    var t = 1.5201832072751694e-05 * r + 0.00015469422584199458;
    t = t * r + 0.0013333923960020565;
    t = t * r + 0.009618026846609853;
    t = t * r + 0.05550410350464427;
    t = t * r + 0.24022651201167255;
    t = t * r + 0.6931471807297513;
    t = t * r + 1.0;
    let half = i32(n) >> 1u;
    return t * power_of_two(half) * power_of_two(i32(n) - half);
}
fn pow_of(x: f32, y: f32) -> f32 {
    if y == 0.0 || x == 1.0 { return 1.0; }
    if is_nan(x) || is_nan(y) { return nan(); }
    let a = abs(x);
    // As the square and the reciprocal round: compilers of functions make one of the other.
    if y == 2.0 { return a * a; }
    if y == -1.0 && is_finite(a) && a != 0.0 { return 1.0 / x; }
    let integer = is_inf(y) || floor(y) == y;
    let half = y * 0.5;
    let odd = integer && !is_inf(y) && floor(half) != half;
    var r = 1.0;
    if a == 0.0 || is_inf(a) {
        r = select(0.0, inf(), (a == 0.0) == (y < 0.0));
    } else if is_inf(y) {
        if a != 1.0 { r = select(0.0, inf(), (a > 1.0) == (y > 0.0)); }
    } else if a != 1.0 {
        let small = a < 1.1754944e-38;
        var l = log2_two(select(a, a * 16777216.0, small));
        if small { l = Two(l.high - 24.0, l.low); }
        let product = two_product(y, l.high);
        if abs(product.high) > 160.0 || !is_finite(product.high) {
            r = select(0.0, inf(), (a > 1.0) == (y > 0.0));
        } else {
            r = exp2_two(Two(product.high, product.low + y * l.low));
        }
    }
    if x < 0.0 && !integer && !is_inf(a) { return nan(); }
    return select(r, copy_sign(r, x), odd);
}
