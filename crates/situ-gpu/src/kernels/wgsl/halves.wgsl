// Floats of 16 bits as f32, which holds them all, and back: to the nearest, ties to even. A NaN stays one.
fn f16_of(bits: u32) -> f32 {
    let sign = (bits & 0x8000u) << 16u;
    let size = bits & 0x7fffu;
    // Denormals are whole numbers of 2^-24. What is above them needs another exponent, and infinity and NaN
    // yet another.
    let denormal = bitcast<u32>(f32(size) * 5.9604644775390625e-8);
    let normal = (size << 13u) + select(0x38000000u, 0x70000000u, size >= 0x7c00u);
    return bitcast<f32>(sign | select(normal, denormal, size < 0x400u));
}
fn f16_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let size = bits & 0x7fffffffu;
    // Half of the last place that stays, less one if the digit before it is even.
    let normal = (size + 0xfffu + ((size >> 13u) & 1u) - 0x38000000u) >> 13u;
    // Below 2^-14: the significand, moved to where a unit is 2^-24. Below 2^-25 nothing is left of it.
    let shift = clamp(126u - (size >> 23u), 14u, 25u);
    let whole = (size & 0x7fffffu) | 0x800000u;
    let kept = whole >> shift;
    let cut = whole - (kept << shift);
    let middle = 1u << (shift - 1u);
    let up = cut > middle || (cut == middle && (kept & 1u) == 1u);
    let denormal = select(kept + select(0u, 1u, up), 0u, size < 0x33000000u);
    var near = select(normal, denormal, size < 0x38800000u);
    near = select(near, 0x7c00u, size >= 0x477ff000u);
    near = select(near, 0x7e00u, size > 0x7f800000u);
    return sign | near;
}
fn bf16_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let near = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    return select(near, (bits >> 16u) | 0x40u, (bits & 0x7fffffffu) > 0x7f800000u);
}
