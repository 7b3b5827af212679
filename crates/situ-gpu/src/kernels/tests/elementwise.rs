//! Unary, binary, where, cast: values, special values, broadcasting, views, bools.

#![allow(clippy::type_complexity, reason = "tables of functions read best as they are")]

use super::harness::*;
use situ_core::DType;
use situ_ir::ops::{BiasAdd, Binary, BinaryKind, Cast, Unary, UnaryKind, Where};

unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
}

/// Numbers across the range, with the values at which something happens.
fn sweep() -> Vec<f32> {
    let mut values: Vec<f32> = (0..4000u32).map(|i| f32::from_bits(i.wrapping_mul(1_073_741_827))).collect();
    values.retain(|v| v.is_nan() || v.is_infinite() || v.abs() > 1e-37 || *v == 0.0);
    values.extend(numbers(2000, 1));
    values.extend((-2000..2000).map(|i| i as f32 * 0.06));
    for v in [0.0f32, 0.5, 1.0, 1.5, 2.5, 4.0, 9.1, 14.6, 20.0, 87.3, 88.7, 88.8, 89.1, 104.0, 4095.0, 4097.0]
    {
        values.extend([v, -v]);
    }
    values.extend([1e6, 1e10, 3e38, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    values
}

#[test]
fn unary_functions_agree_with_double_precision_across_the_range() {
    if device().is_none() {
        return;
    }
    let x = sweep();
    let tensor = Tensor::new(&[x.len()], &x);
    let cases: &[(UnaryKind, fn(f64) -> f64)] = &[
        (UnaryKind::Neg, |x| -x),
        (UnaryKind::Abs, f64::abs),
        (UnaryKind::Sign, |x| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                x
            }
        }),
        (UnaryKind::Exp, f64::exp),
        (UnaryKind::Log, f64::ln),
        (UnaryKind::Log1p, f64::ln_1p),
        (UnaryKind::Sqrt, f64::sqrt),
        (UnaryKind::Rsqrt, |x| 1.0 / x.sqrt()),
        (UnaryKind::Square, |x| x * x),
        (UnaryKind::Reciprocal, |x| 1.0 / x),
        (UnaryKind::Sin, f64::sin),
        (UnaryKind::Cos, f64::cos),
        (UnaryKind::Tanh, f64::tanh),
        (UnaryKind::Sigmoid, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }),
        (UnaryKind::Relu, |x| if x < 0.0 { 0.0 } else { x }),
        (UnaryKind::LeakyRelu, |x| if x < 0.0 { 0.25 * x } else { x }),
        (UnaryKind::Elu, |x| if x > 0.0 { x } else { 0.25 * x.exp_m1() }),
        (UnaryKind::Gelu, |x| {
            if x < -100.0 { 0.0 } else { 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2) }
        }),
        (UnaryKind::Silu, |x| if x < -800.0 { 0.0 } else { x / (1.0 + (-x).exp()) }),
        (UnaryKind::Softplus, |x| if x.is_nan() { x } else { x.max(0.0) + (-x.abs()).exp().ln_1p() }),
        (UnaryKind::Erf, |x| erf(x)),
        (UnaryKind::Floor, f64::floor),
        (UnaryKind::Ceil, f64::ceil),
        (UnaryKind::Round, f64::round_ties_even),
        (UnaryKind::Clip, |x| if x.is_nan() { x } else { x.clamp(0.25, 1.5) }),
    ];
    for &(kind, reference) in cases {
        let got: Vec<f32> = run(Unary::with(kind, 0.25, 1.5), &[&tensor]).read();
        for (x, got) in x.iter().zip(&got) {
            let want = reference(f64::from(*x));
            let rounded = want as f32;
            let error = (f64::from(*got) - want).abs();
            let close =
                *got == rounded || (got.is_nan() && rounded.is_nan()) || error <= 1e-6 * want.abs() + 2e-38;
            assert!(close, "{}({x:e}) = {got:e}, want {rounded:e}", kind.name());
        }
    }
    let nans: Vec<bool> = run(Unary::new(UnaryKind::IsNan), &[&tensor]).read();
    assert!(x.iter().zip(&nans).all(|(x, n)| x.is_nan() == *n));
}

#[test]
fn unary_functions_of_integers_and_bools_are_exact() {
    if device().is_none() {
        return;
    }
    let x = [0, 1, -1, 7, -8, i32::MAX, i32::MIN, 100_000];
    let tensor = Tensor::new(&[8], &x);
    let cases: &[(UnaryKind, fn(i32) -> i32)] = &[
        (UnaryKind::Neg, i32::wrapping_neg),
        (UnaryKind::Abs, i32::wrapping_abs),
        (UnaryKind::Sign, i32::signum),
        (UnaryKind::Square, |x| x.wrapping_mul(x)),
        (UnaryKind::Relu, |x| x.max(0)),
        (UnaryKind::Clip, |x| x.clamp(-3, 5)),
    ];
    for &(kind, reference) in cases {
        let got: Vec<i32> = run(Unary::with(kind, -3.5, 5.5), &[&tensor]).read();
        assert_eq!(got, x.map(reference), "{}", kind.name());
    }
    let bools = Tensor::new(&[5], &[true, false, true, true, false]);
    let got: Vec<bool> = run(Unary::new(UnaryKind::Not), &[&bools]).read();
    assert_eq!(got, [false, true, false, false, true]);
}

#[test]
fn binary_functions_agree_at_every_pair_of_special_values() {
    if device().is_none() {
        return;
    }
    let special = [
        0.0f32,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        2.5,
        1e-30,
        1e30,
        -1e30,
        7.3,
        -7.3,
        16_777_216.0,
        1e10,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        0.999_999_9,
        1.000_000_1,
        88.0,
        -120.5,
    ];
    let n = special.len();
    let (a, b) = (Tensor::new(&[n, 1], &special), Tensor::new(&[n], &special));
    let cases: &[(BinaryKind, fn(f32, f32) -> f64)] = &[
        (BinaryKind::Add, |a, b| f64::from(a + b)),
        (BinaryKind::Sub, |a, b| f64::from(a - b)),
        (BinaryKind::Mul, |a, b| f64::from(a * b)),
        (BinaryKind::Div, |a, b| f64::from(a / b)),
        (BinaryKind::Rem, |a, b| f64::from(a % b)),
        (BinaryKind::Pow, |a, b| f64::from(a).powf(f64::from(b))),
        (BinaryKind::Maximum, |a, b| f64::from(if a > b || a.is_nan() { a } else { b })),
        (BinaryKind::Minimum, |a, b| f64::from(if a < b || a.is_nan() { a } else { b })),
    ];
    for &(kind, reference) in cases {
        let got: Vec<f32> = run(Binary { kind }, &[&a, &b]).read();
        for (i, got) in got.iter().enumerate() {
            let (a, b) = (special[i / n], special[i % n]);
            let want = reference(a, b);
            let rounded = want as f32;
            let error = (f64::from(*got) - want).abs();
            let close =
                *got == rounded || (got.is_nan() && rounded.is_nan()) || error <= 1e-6 * want.abs() + 2e-38;
            assert!(close, "{}({a:e}, {b:e}) = {got:e}, want {rounded:e}", kind.name());
        }
    }
    let cases: &[(BinaryKind, fn(&f32, &f32) -> bool)] = &[
        (BinaryKind::Equal, |a, b| a == b),
        (BinaryKind::NotEqual, |a, b| a != b),
        (BinaryKind::Less, |a, b| a < b),
        (BinaryKind::LessEqual, |a, b| a <= b),
        (BinaryKind::Greater, |a, b| a > b),
        (BinaryKind::GreaterEqual, |a, b| a >= b),
    ];
    for &(kind, reference) in cases {
        let got: Vec<bool> = run(Binary { kind }, &[&a, &b]).read();
        for (i, got) in got.iter().enumerate() {
            let (a, b) = (special[i / n], special[i % n]);
            assert_eq!(*got, reference(&a, &b), "{}({a:e}, {b:e})", kind.name());
        }
    }
}

#[test]
fn powers_keep_their_precision_where_the_exponent_is_large() {
    if device().is_none() {
        return;
    }
    let bases: Vec<f32> = (0..5000).map(|i| 0.01 + i as f32 * 0.013).collect();
    let exponents: Vec<f32> = bases
        .iter()
        .enumerate()
        .map(|(i, b)| 80.0 / (b.ln() + 0.3) * ((i % 17) as f32 / 8.5 - 1.0))
        .collect();
    let got: Vec<f32> = run(
        Binary { kind: BinaryKind::Pow },
        &[&Tensor::new(&[5000], &bases), &Tensor::new(&[5000], &exponents)],
    )
    .read();
    for i in 0..5000 {
        let want = f64::from(bases[i]).powf(f64::from(exponents[i]));
        if (1e-37..3e38).contains(&want) {
            let error = (f64::from(got[i]) - want).abs() / want;
            assert!(error < 1e-6, "{} ^ {} = {}, want {want}: {error:e}", bases[i], exponents[i], got[i]);
        }
    }
}

#[test]
fn integer_arithmetic_wraps_and_division_by_zero_is_reported_at_its_element() {
    if device().is_none() {
        return;
    }
    let a = [7, -7, i32::MIN, i32::MAX, 100, -5];
    let b = [2, 2, -1, i32::MAX, -7, 3];
    let (ta, tb) = (Tensor::new(&[6], &a), Tensor::new(&[6], &b));
    let cases: &[(BinaryKind, fn(i32, i32) -> i32)] = &[
        (BinaryKind::Add, i32::wrapping_add),
        (BinaryKind::Sub, i32::wrapping_sub),
        (BinaryKind::Mul, i32::wrapping_mul),
        (BinaryKind::Div, i32::wrapping_div),
        (BinaryKind::Rem, i32::wrapping_rem),
        (BinaryKind::Maximum, i32::max),
        (BinaryKind::Minimum, i32::min),
    ];
    for &(kind, reference) in cases {
        let result = run(Binary { kind }, &[&ta, &tb]);
        let want: Vec<i32> = a.iter().zip(b).map(|(&a, b)| reference(a, b)).collect();
        assert_eq!(result.read::<i32>(), want, "{}", kind.name());
        assert_eq!(result.check.is_some(), matches!(kind, BinaryKind::Div | BinaryKind::Rem));
        assert!(result.check.is_none_or(|check| check.outcome().unwrap().is_none()));
    }
    let zeros = Tensor::new(&[6], &[1, 1, 0, 1, 0, 1]);
    let result = run(Binary { kind: BinaryKind::Rem }, &[&ta, &zeros]);
    result.read::<i32>();
    let check = result.check.unwrap();
    let data = check.outcome().unwrap().unwrap();
    assert_eq!((data.op, data.row), ("rem", 2));
}

#[test]
fn every_pattern_of_broadcasting_finds_its_elements() {
    if device().is_none() {
        return;
    }
    // Rows that are whole quads and others; operands that repeat in a row, between rows, and both ways.
    for (a, b, dims) in [
        (&[2, 3, 4, 4][..], &[3, 1, 1][..], &[2, 3, 4, 4][..]),
        (&[2, 3, 3, 5], &[3, 1, 1], &[2, 3, 3, 5]),
        (&[2, 3, 3, 8], &[8], &[2, 3, 3, 8]),
        (&[2, 5, 3], &[3], &[2, 5, 3]),
        (&[6, 1], &[1, 8], &[6, 8]),
        (&[6, 1], &[1, 9], &[6, 9]),
        (&[4, 1, 3, 1, 5], &[2, 1, 3, 1], &[4, 2, 3, 3, 5]),
        (&[3, 1, 2, 1, 2, 1], &[2, 1, 2, 1, 2], &[3, 2, 2, 2, 2, 2]),
        (&[1], &[7, 1], &[7, 1]),
    ] {
        let count = |dims: &[usize]| dims.iter().product();
        let (ta, tb) = (Tensor::new(a, &numbers(count(a), 1)), Tensor::new(b, &numbers(count(b), 2)));
        // The same elements from views that begin within a quad and go backwards.
        let shifted = |t: &Tensor, dims: &[usize]| {
            let mut wide = dims.to_vec();
            let last = wide.len() - 1;
            wide[last] += 3;
            let data: Vec<f32> = t.read();
            let rows = data
                .chunks(dims[last])
                .flat_map(|row| row.iter().rev().chain(&[9.0; 3]).copied().collect::<Vec<f32>>());
            let mut starts = vec![0; wide.len()];
            starts[last] = dims[last] - 1;
            let mut steps = vec![1; wide.len()];
            steps[last] = -1;
            Tensor::new(&wide, &rows.collect::<Vec<f32>>()).slice(&starts, &steps, dims)
        };
        let [va, vb] = [ta.expand(dims).read::<f32>(), tb.expand(dims).read::<f32>()];
        let want: Vec<f64> = va.iter().zip(&vb).map(|(a, b)| f64::from(a - b)).collect();
        let less: Vec<bool> = va.iter().zip(&vb).map(|(a, b)| a < b).collect();
        for (ta, tb) in [(&ta, &tb), (&shifted(&ta, a), &tb), (&ta, &shifted(&tb, b))] {
            println!("{a:?} and {b:?}");
            assert_close(&run(Binary { kind: BinaryKind::Sub }, &[ta, tb]).read(), &want, 0.0, 0.0);
            assert_eq!(run(Binary { kind: BinaryKind::Less }, &[ta, tb]).read::<bool>(), less);
            let truth = run(Binary { kind: BinaryKind::Less }, &[ta, tb]);
            let chosen: Vec<f32> = run(Where, &[&truth, ta, tb]).read();
            let smaller: Vec<f64> = va.iter().zip(&vb).map(|(a, b)| f64::from(a.min(*b))).collect();
            assert_close(&chosen, &smaller, 0.0, 0.0);
        }
    }
}

#[test]
fn broadcasts_and_views_read_the_elements_they_stand_for() {
    if device().is_none() {
        return;
    }
    let data = numbers(2 * 3 * 5 * 7, 3);
    let t = Tensor::new(&[2, 3, 5, 7], &data);
    let row = Tensor::new(&[7], &numbers(7, 4));
    let one = Tensor::new(&[1], &[3.5f32]);
    let views = [
        t.permute(&[3, 1, 0, 2]),
        t.slice(&[1, 2, 4, 6], &[-1, -1, -2, -3], &[2, 3, 3, 3]),
        t.slice(&[0, 0, 0, 1], &[1, 1, 1, 1], &[2, 3, 5, 6]),
        t.slice(&[0, 1, 2, 3], &[1, 1, 1, 1], &[1, 1, 1, 1]),
        row.expand(&[4, 2, 7]),
        one.expand(&[3, 3]),
        t.slice(&[1, 0, 0, 0], &[1, 1, 1, 1], &[1, 3, 5, 7]),
    ];
    for v in &views {
        let want: Vec<f64> = v.read::<f32>().iter().map(|x| f64::from(*x * 2.0)).collect();
        assert_close(&run(Binary { kind: BinaryKind::Add }, &[v, v]).read(), &want, 0.0, 0.0);
        let want: Vec<f64> = v.read::<f32>().iter().map(|x| f64::from(*x * 3.5)).collect();
        assert_close(&run(Binary { kind: BinaryKind::Mul }, &[v, &one]).read(), &want, 0.0, 0.0);
    }
    let got: Vec<f32> = run(BiasAdd, &[&t, &row]).read();
    let bias = row.read::<f32>();
    let want: Vec<f64> = data.iter().enumerate().map(|(i, x)| f64::from(x + bias[i % 7])).collect();
    assert_close(&got, &want, 0.0, 0.0);
}

#[test]
fn every_length_around_a_vector_and_a_workgroup_is_covered_exactly() {
    if device().is_none() {
        return;
    }
    for n in [1, 2, 3, 4, 5, 7, 8, 1023, 1024, 1025, 4099, 70_000] {
        let x = numbers(n, n as u32);
        let t = Tensor::new(&[n], &x);
        let got: Vec<f32> = run(Unary::new(UnaryKind::Neg), &[&t]).read();
        assert!(x.iter().zip(&got).all(|(x, g)| -x == *g), "{n}");
        let got: Vec<bool> =
            run(Binary { kind: BinaryKind::Less }, &[&t, &Tensor::new(&[], &[0.0f32])]).read();
        assert!(x.iter().zip(&got).all(|(x, g)| (*x < 0.0) == *g), "{n}");
        let back = t.slice(&[n - 1], &[-1], &[n]);
        let got: Vec<bool> = run(Binary { kind: BinaryKind::Less }, &[&back, &t]).read();
        assert!((0..n).all(|i| got[i] == (x[n - 1 - i] < x[i])), "{n}");
    }
}

#[test]
fn bools_are_bytes_wherever_they_begin() {
    if device().is_none() {
        return;
    }
    let a: Vec<bool> = (0..37).map(|i| i % 3 == 0).collect();
    let b: Vec<bool> = (0..37).map(|i| i % 2 == 0).collect();
    let (ta, tb) = (Tensor::new(&[37], &a), Tensor::new(&[37], &b));
    let cases: &[(BinaryKind, fn(bool, bool) -> bool)] = &[
        (BinaryKind::And, |a, b| a & b),
        (BinaryKind::Or, |a, b| a | b),
        (BinaryKind::Xor, |a, b| a ^ b),
        (BinaryKind::Equal, |a, b| a == b),
        (BinaryKind::NotEqual, |a, b| a != b),
    ];
    for &(kind, reference) in cases {
        for start in 0..5 {
            let size = 37 - start;
            let (va, vb) = (ta.slice(&[start], &[1], &[size]), tb.slice(&[0], &[1], &[size]));
            let got: Vec<bool> = run(Binary { kind }, &[&va, &vb]).read();
            let want: Vec<bool> = (0..size).map(|i| reference(a[i + start], b[i])).collect();
            assert_eq!(got, want, "{} from {start}", kind.name());
        }
    }
}

#[test]
fn where_picks_by_element_for_every_dtype() {
    if device().is_none() {
        return;
    }
    let condition = Tensor::new(&[2, 1], &[true, false]);
    let a = Tensor::new(&[3], &[1.0f32, f32::NAN, -0.0]);
    let b = Tensor::new(&[], &[f32::INFINITY]);
    let got: Vec<f32> = run(Where, &[&condition, &a, &b]).read();
    assert!(
        got[0] == 1.0 && got[1].is_nan() && got[2] == 0.0 && got[3..].iter().all(|x| *x == f32::INFINITY)
    );
    let same = Tensor::new(&[5], &[true, false, false, true, true]);
    let got: Vec<i32> =
        run(Where, &[&same, &Tensor::new(&[5], &[1, 2, 3, 4, 5]), &Tensor::new(&[5], &[-1, -2, -3, -4, -5])])
            .read();
    assert_eq!(got, [1, -2, -3, 4, 5]);
    let got: Vec<bool> = run(Where, &[&same, &same, &Tensor::new(&[], &[true])]).read();
    assert_eq!(got, [true; 5]);
}

#[test]
fn casts_saturate_round_toward_zero_and_take_nan_to_zero() {
    if device().is_none() {
        return;
    }
    let x = [
        0.0f32,
        -0.0,
        1.9,
        -1.9,
        0.3,
        2_147_483_648.0,
        2_147_483_520.0,
        -2_147_483_648.0,
        -3e9,
        1e20,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e-39,
    ];
    let t = Tensor::new(&[x.len()], &x);
    let got: Vec<i32> = run(Cast { to: DType::I32 }, &[&t]).read();
    assert_eq!(got, x.map(|x| x as i32));
    let got: Vec<bool> = run(Cast { to: DType::Bool }, &[&t]).read();
    // A denormal may count as zero on a GPU.
    assert_eq!(got[..13], x.map(|x| x != 0.0)[..13]);
    let i = [0, 1, -1, 16_777_217, i32::MAX, i32::MIN];
    let t = Tensor::new(&[6], &i);
    assert_eq!(run(Cast { to: DType::F32 }, &[&t]).read::<f32>(), i.map(|i| i as f32));
    let bools = run(Cast { to: DType::Bool }, &[&t]);
    assert_eq!(bools.read::<bool>(), i.map(|i| i != 0));
    assert_eq!(run(Cast { to: DType::I32 }, &[&bools]).read::<i32>(), [0, 1, 1, 1, 1, 1]);
    assert_eq!(run(Cast { to: DType::F32 }, &[&bools]).read::<f32>(), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
}
