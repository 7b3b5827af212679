// A pair of normal numbers from a pair of words, by Box and Muller's transform. own: mean and deviation.
fn normal_pair(x: u32, y: u32) -> vec2<u32> {
    // Only the highest 24 significant bits, so that the number is an f32 exactly.
    var n = max(x, 1u);
    var s = n >> 24u;
    s |= s >> 1u;
    s |= s >> 2u;
    s |= s >> 4u;
    n &= ~s;
    let bits = bitcast<u32>(f32(n >> 16u) * 65536.0 + f32(n & 0xffffu));
    let e = bitcast<i32>(bits - 0x3f3504f3u) >> 23u;
    let f = bitcast<f32>(bits - (bitcast<u32>(e) << 23u)) - 1.0;
    let q = f / (f + 2.0);
    let z = q * q;
    let series = ((((0.09090909090909091 * z + 0.1111111111111111) * z + 0.14285714285714285) * z + 0.2) * z
        + 0.3333333333333333) * z + 1.0;
    let log_u = f32(e - 32) * 0.6931471805599453 + (q + q) * series;
    let r = sqrt(max(-2.0 * log_u, 0.0));
    let t = (f32(i32((y >> 6u) & 0xffffffu) - 8388608) + 0.5) * 5.9604644775390625e-8;
    let a = t * 1.5707963267948966;
    let w = a * a;
    let sine = a + a * w * (((2.7557319223985893e-6 * w - 0.0001984126984126984) * w + 0.008333333333333333) * w
        - 0.16666666666666666);
    let cosine = 1.0 + w * (((2.48015873015873e-5 * w - 0.001388888888888889) * w + 0.041666666666666664) * w - 0.5);
    let quarter = y >> 30u;
    let even = select(sine, cosine, (quarter & 1u) == 0u);
    let odd = select(cosine, sine, (quarter & 1u) == 0u);
    let own = params.w[2];
    let pair = r * vec2<f32>(select(even, -even, quarter == 1u || quarter == 2u), select(odd, -odd, quarter >= 2u));
    return bitcast<vec2<u32>>(bitcast<f32>(own.x) + pair * bitcast<f32>(own.y));
}
