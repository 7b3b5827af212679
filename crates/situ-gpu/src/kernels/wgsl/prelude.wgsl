// What every kernel may use. NaN and infinity are kept out of the compiler's sight: WGSL lets it assume that
// neither exists, so they are made from bits at run time and told by bits.
var<private> nan_bits: u32 = 0x7fc00000u;
var<private> inf_bits: u32 = 0x7f800000u;
fn nan() -> f32 { return bitcast<f32>(nan_bits); }
fn inf() -> f32 { return bitcast<f32>(inf_bits); }
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }
fn copy_sign(x: f32, s: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
// x, in a way that no compiler can see through: word 62 of the parameters is always 0. Compilers may
// otherwise cancel (a + b) - a, which is where error terms come from. A sum, because hiding twice must not
// cancel either.
fn hide(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) + p(62u)); }
fn hide_whole(x: i32) -> i32 { return x + bitcast<i32>(p(62u)); }
// The larger or the smaller; NaN if either is. Compared by a hidden copy: drivers know a choice between what
// was compared as their own min or max, which may give either of two zeros.
fn max_nan(a: f32, b: f32) -> f32 {
    if is_nan(a) { return a; }
    if is_nan(b) { return b; }
    return select(b, a, hide(a) > b);
}
fn min_nan(a: f32, b: f32) -> f32 {
    if is_nan(a) { return a; }
    if is_nan(b) { return b; }
    return select(b, a, hide(a) < b);
}
fn clip_of(x: f32, low: f32, high: f32) -> f32 {
    if is_nan(x) { return x; }
    let y = select(x, low, hide(x) < low);
    return select(y, high, hide(y) > high);
}
