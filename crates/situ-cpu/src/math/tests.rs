//! Sweeps of the f32 functions against double precision, at every level this machine has.

use super::*;
use crate::level::Level;
use crate::multiversion;

unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
}

/// Every 1009th f32 of either sign, with the values at which something happens.
fn sweep() -> Vec<f32> {
    let mut values: Vec<f32> = (0..=u32::MAX / 1009).map(|i| f32::from_bits(i * 1009)).collect();
    for v in [
        0.0f32,
        1e-45,
        f32::MIN_POSITIVE,
        0.5,
        std::f32::consts::LN_2,
        0.921_875,
        1.0,
        1.5,
        2.5,
        4.0,
        9.1,
        14.6,
        20.0,
        87.336_54,
    ] {
        for v in [v, v.next_up(), v.next_down()] {
            values.extend([v, -v]);
        }
    }
    for v in [88.722_83f32, 89.0, 103.97, 104.0, 110.0, 8_388_608.0, 1e10, f32::MAX, f32::INFINITY, f32::NAN]
    {
        values.extend([v, -v]);
    }
    values
}

/// The distance from the true value, in units in the last place of the f32 nearest to it; 0 for the same
/// special value.
fn ulps(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if got.is_nan() || rounded.is_nan() {
        return if got.is_nan() == rounded.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == rounded {
        return 0.0;
    }
    if got.is_infinite() || rounded.is_infinite() {
        // At the very edge of the range one of the two may round over it.
        let edge = f64::from(f32::MAX);
        return if (f64::from(got.clamp(f32::MIN, f32::MAX)).abs() - want.abs().min(edge)).abs() <= edge * 2e-7
        {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let unit =
        (f64::from(rounded.abs().next_up()) - f64::from(rounded.abs())).max(f64::from(f32::from_bits(1)));
    (f64::from(got) - want).abs() / unit
}

macro_rules! accuracy {
    ($($test:ident, $f:path, $reference:expr, $limit:expr, $domain:expr;)*) => {$(
        #[test]
        fn $test() {
            multiversion! {
                fn apply[I](x: &[f32], y: &mut [f32]) {
                    for (y, x) in y.iter_mut().zip(x) {
                        *y = $f(*x);
                    }
                }
            }
            let domain: fn(f32) -> bool = $domain;
            let x: Vec<f32> = sweep().into_iter().filter(|x| domain(*x)).collect();
            let mut y = vec![0.0; x.len()];
            for level in Level::available() {
                apply(level, &x, &mut y);
                let reference: fn(f64) -> f64 = $reference;
                let (mut worst, mut at) = (0.0, 0.0f32);
                for (x, y) in x.iter().zip(&y) {
                    let error = ulps(*y, reference(f64::from(*x)));
                    if error > worst {
                        (worst, at) = (error, *x);
                    }
                }
                println!("{level}: {worst:.3} at {at:e}");
                assert!(worst <= $limit, "{level}: {worst} ulp at {at:e}");
            }
        }
    )*};
}

fn wide_silu(x: f64) -> f64 {
    if x < -800.0 {
        0.0
    } else if x < 0.0 {
        x * x.exp() / (1.0 + x.exp())
    } else {
        x / (1.0 + (-x).exp())
    }
}

fn wide_gelu(x: f64) -> f64 {
    if x < -100.0 { 0.0 } else { 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2) }
}

fn everywhere(_: f32) -> bool {
    true
}

accuracy! {
    exp_is_within_two_ulps, exp::<I>, f64::exp, 2.0, everywhere;
    expm1_is_within_two_ulps, expm1::<I>, f64::exp_m1, 2.0, everywhere;
    log_is_within_two_ulps, log::<I>, f64::ln, 2.0, everywhere;
    log1p_is_within_two_ulps, log1p::<I>, f64::ln_1p, 2.0, everywhere;
    tanh_is_within_three_ulps, tanh::<I>, f64::tanh, 3.0, everywhere;
    sigmoid_is_within_three_ulps, sigmoid::<I>, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) },
        3.0, everywhere;
    silu_is_within_four_ulps, silu::<I>, wide_silu, 4.0, |x| x > -87.0 || x.is_nan();
    softplus_is_within_three_ulps, softplus::<I>, |x| x.max(0.0) + (-x.abs()).exp().ln_1p() + if x.is_nan() { x } else { 0.0 },
        3.0, everywhere;
    sin_is_within_two_ulps, sin::<I>, f64::sin, 2.0, |x| x.abs() <= TRIG_LIMIT || !x.is_finite();
    cos_is_within_two_ulps, cos::<I>, f64::cos, 2.0, |x| x.abs() <= TRIG_LIMIT || !x.is_finite();
    erf_is_within_three_ulps, super::erf::<I>, |x| erf(x), 3.0, everywhere;
    gelu_is_within_six_ulps, gelu::<I>, wide_gelu, 6.0, |x| x > -12.9 || x.is_nan();
    floor_is_exact, floor::<I>, f64::floor, 0.0, everywhere;
    ceil_is_exact, ceil::<I>, f64::ceil, 0.0, everywhere;
    round_is_exact_and_takes_ties_to_even, round::<I>, f64::round_ties_even, 0.0, everywhere;
    exp_nonpositive_is_within_two_ulps, exp_nonpositive::<I>, |x| if x < -87.336_54f32 as f64 { 0.0 } else { x.exp() }, 2.0,
        |x| x <= 0.0 || x.is_nan();
}

multiversion! {
    fn pow_each[I](x: &[f32], y: &[f32], z: &mut [f32]) {
        for ((z, x), y) in z.iter_mut().zip(x).zip(y) {
            *z = pow::<I>(*x, *y);
        }
    }
}

#[test]
fn pow_is_within_one_ulp_and_right_at_every_pair_of_special_values() {
    let mut bases = vec![];
    let mut exponents = vec![];
    let special = [
        0.0f32,
        1.0,
        0.5,
        2.0,
        3.0,
        2.5,
        1e-45,
        1e-39,
        1e30,
        7.0,
        8_388_609.0,
        16_777_216.0,
        1e10,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        0.999_999_9,
        1.000_000_1,
    ];
    for x in special {
        for y in special {
            for (sx, sy) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                bases.push(x * sx);
                exponents.push(y * sy);
            }
        }
    }
    for i in 0..2_000_000u32 {
        let bits = i.wrapping_mul(2_654_435_761);
        let x = f32::from_bits(bits & 0x7fff_ffff);
        bases.push(x);
        // Exponents that keep most results within range.
        let wide = ((bits >> 3) % 1000) as f32 / 250.0 - 2.0;
        exponents.push(if x.is_finite() && x != 1.0 { 40.0 * wide / (x.log2().abs() + 1.0) } else { wide });
    }
    let mut z = vec![0.0; bases.len()];
    for level in Level::available() {
        pow_each(level, &bases, &exponents, &mut z);
        for i in 0..z.len() {
            let want = f64::from(bases[i]).powf(f64::from(exponents[i]));
            let error = ulps(z[i], want);
            assert!(
                error <= 1.0,
                "{level}: {} ^ {} = {}, want {want}: {error}",
                bases[i],
                exponents[i],
                z[i]
            );
        }
    }
}

#[test]
fn powers_that_have_an_op_of_their_own_have_its_bits() {
    let bases: Vec<f32> = (0..1_000_000u32).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761))).collect();
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, -1e-45, f32::MAX];
    let bases: Vec<f32> = bases.into_iter().chain(special).collect();
    let mut z = vec![0.0; bases.len()];
    type Plain = fn(f32) -> f32;
    let plain: [(f32, Plain); 2] = [(2.0, |x| x * x), (-1.0, |x| 1.0 / x)];
    for level in Level::available() {
        for (exponent, plain) in plain {
            pow_each(level, &bases, &vec![exponent; bases.len()], &mut z);
            for (x, z) in bases.iter().zip(&z) {
                let want = plain(*x);
                let same = z.to_bits() == want.to_bits() || (z.is_nan() && want.is_nan());
                assert!(same, "{level}: {x} ^ {exponent} = {z}, want {want}");
            }
        }
    }
}

#[test]
fn masked_softmax_can_rely_on_exp_at_minus_infinity() {
    multiversion! {
        fn both[I](x: f32) -> (f32, f32) {
            (exp::<I>(x), exp_nonpositive::<I>(x))
        }
    }
    for level in Level::available() {
        assert_eq!(both(level, f32::NEG_INFINITY), (0.0, 0.0));
        assert_eq!(both(level, 0.0), (1.0, 1.0));
        assert_eq!(both(level, -0.0), (1.0, 1.0));
        let (a, b) = both(level, f32::NAN);
        assert!(a.is_nan() && b.is_nan());
    }
}

#[test]
fn where_their_factors_are_denormal_silu_and_gelu_are_denormal_or_zero() {
    multiversion! {
        fn both[I](x: f32) -> (f32, f32) {
            (silu::<I>(x), gelu::<I>(x))
        }
    }
    for level in Level::available() {
        for x in sweep().into_iter().filter(|x| *x < -12.0) {
            let (s, g) = both(level, x);
            assert!(
                (f64::from(s) - wide_silu(f64::from(x))).abs() < 4e-7 * wide_silu(f64::from(x)).abs() + 2e-43,
                "silu({x}) = {s}"
            );
            assert!(
                (f64::from(g) - wide_gelu(f64::from(x))).abs() < 4e-7 * wide_gelu(f64::from(x)).abs() + 2e-37,
                "gelu({x}) = {g}"
            );
        }
    }
}
