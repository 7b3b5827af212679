//! Reductions against plain loops, in double precision where they round.

use super::*;
use crate::level::Level;
use crate::threads::Threads;

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 10_007) as f32 / 1000.0 - 5.0).collect()
}

const EXTENTS: [(usize, usize, usize); 20] = [
    (1, 1, 1),
    (1, 0, 3),
    (0, 4, 4),
    (3, 1, 1),
    (5, 7, 1),
    (2, 33, 1),
    (3, 4097, 1),
    (1, 200_001, 1),
    (40, 100, 1),
    (1, 5, 3),
    (1, 1000, 3),
    (7, 129, 5),
    (2, 65, 31),
    (1, 500, 700),
    (1, 9, 70_000),
    (3, 50_000, 2),
    (2, 3, 513),
    (1, 3000, 64),
    (300, 20, 33),
    (1, 129, 1025),
];

fn run<T: Copy + Send + Sync + 'static, R: Reducer<T>>(exec: &Exec<'_>, x: &[T], extent: Extent) -> Vec<T> {
    let mut out = vec![R::IDENTITY; extent.outer * extent.inner];
    // SAFETY: `x` and `out` have the sizes of the extent.
    unsafe { reduce::<T, R>(exec, x.as_ptr(), out.as_mut_ptr(), extent) };
    out
}

/// The elements that are reduced to result `index`.
fn column<T: Copy>(x: &[T], extent: Extent, index: usize) -> Vec<T> {
    let (o, i) = (index / extent.inner, index % extent.inner);
    (0..extent.length).map(|k| x[(o * extent.length + k) * extent.inner + i]).collect()
}

#[test]
fn sums_are_within_the_error_of_a_tree_and_the_same_bits_for_any_number_of_threads() {
    let pools: Vec<Threads> = [1, 2, 3, 5].into_iter().map(|n| Threads::new(n, None).unwrap()).collect();
    for (outer, length, inner) in EXTENTS {
        let extent = Extent { outer, length, inner };
        let x = values(outer * length * inner);
        for level in Level::available() {
            let out = run::<f32, Sum>(&Exec::new(&pools[0]).with_level(level), &x, extent);
            for (index, got) in out.iter().enumerate() {
                let column = column(&x, extent, index);
                let want: f64 = column.iter().map(|x| f64::from(*x)).sum();
                let size: f64 = column.iter().map(|x| f64::from(x.abs())).sum();
                let roundings = 12.0 + (length as f64).log2().max(0.0) + 128.0f64.min(length as f64 / 32.0);
                assert!((f64::from(*got) - want).abs() <= size * roundings * 6e-8, "{extent:?} {got} {want}");
            }
            for pool in &pools[1..] {
                let again = run::<f32, Sum>(&Exec::new(pool).with_level(level), &x, extent);
                assert!(again.iter().zip(&out).all(|(a, b)| a.to_bits() == b.to_bits()), "{extent:?}");
            }
        }
    }
}

#[test]
fn a_long_sum_of_ones_is_exact_where_a_running_sum_would_stall() {
    let threads = Threads::new(2, None).unwrap();
    let x = vec![1.0f32; (1 << 24) + 3];
    let out = run::<f32, Sum>(&Exec::new(&threads), &x, Extent { outer: 1, length: x.len(), inner: 1 });
    assert_eq!(out[0], (1 << 24) as f32 + 4.0); // 2^24 + 3 rounds to even
}

#[test]
fn max_min_and_integers_are_exact_at_every_level() {
    let threads = Threads::new(3, None).unwrap();
    for (outer, length, inner) in EXTENTS {
        let extent = Extent { outer, length, inner };
        let x = values(outer * length * inner);
        let whole: Vec<i64> = x.iter().map(|x| (f64::from(*x) * 1e15) as i64).collect();
        for level in Level::available() {
            let exec = Exec::new(&threads).with_level(level);
            let (max, min) = (run::<f32, Max>(&exec, &x, extent), run::<f32, Min>(&exec, &x, extent));
            let (sum, product) =
                (run::<i64, Sum>(&exec, &whole, extent), run::<i64, Prod>(&exec, &whole, extent));
            for index in 0..outer * inner {
                let column_x = column(&x, extent, index);
                assert_eq!(max[index], column_x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                assert_eq!(min[index], column_x.iter().copied().fold(f32::INFINITY, f32::min));
                let column_i = column(&whole, extent, index);
                assert_eq!(sum[index], column_i.iter().fold(0i64, |a, b| a.wrapping_add(*b)));
                assert_eq!(product[index], column_i.iter().fold(1i64, |a, b| a.wrapping_mul(*b)));
            }
        }
    }
}

#[test]
fn one_nan_anywhere_makes_max_min_and_sum_nan() {
    let threads = Threads::new(1, None).unwrap();
    for level in Level::available() {
        let exec = Exec::new(&threads).with_level(level);
        for (length, inner) in [(70, 1), (5000, 1), (70, 3), (130, 40)] {
            for place in [0, 1, 31, 33, 69] {
                let mut x = values(length * inner);
                x[place * inner] = f32::NAN;
                let extent = Extent { outer: 1, length, inner };
                for out in [
                    run::<f32, Max>(&exec, &x, extent),
                    run::<f32, Min>(&exec, &x, extent),
                    run::<f32, Sum>(&exec, &x, extent),
                ] {
                    assert!(out[0].is_nan());
                    assert!(out[1..].iter().all(|x| !x.is_nan()));
                }
            }
        }
    }
}

#[test]
fn any_and_all_look_at_every_byte() {
    let threads = Threads::new(2, None).unwrap();
    let exec = Exec::new(&threads);
    for (length, inner) in [(0, 2), (1, 1), (100, 1), (5000, 1), (9, 50)] {
        for place in 0..length.min(100) {
            let mut none = vec![0u8; length * inner];
            let mut every = vec![2u8; length * inner];
            none[place * inner] = 4;
            every[place * inner] = 0;
            let extent = Extent { outer: 1, length, inner };
            assert_eq!(run::<u8, Any>(&exec, &none, extent)[0], 1);
            assert_eq!(run::<u8, All>(&exec, &every, extent)[0], 0);
            assert!(run::<u8, Any>(&exec, &none, extent)[1..].iter().all(|b| *b == 0));
            assert!(run::<u8, All>(&exec, &every, extent)[1..].iter().all(|b| *b == 1));
        }
    }
}

fn positions<T: arg::Ranked>(exec: &Exec<'_>, kind: ArgKind, x: &[T], extent: Extent) -> Vec<i32> {
    let mut out = vec![-1; extent.outer * extent.inner];
    // SAFETY: `x` and `out` have the sizes of the extent, whose length is not 0.
    unsafe { arg_reduce(exec, kind, x.as_ptr(), out.as_mut_ptr(), extent) };
    out
}

/// NumPy's rule as a plain loop.
fn reference(column: &[f32], kind: ArgKind) -> i32 {
    let mut best = 0;
    for (i, x) in column.iter().enumerate() {
        let b = column[best];
        let better = if kind == ArgKind::Max { *x > b } else { *x < b };
        if !b.is_nan() && (better || x.is_nan()) {
            best = i;
        }
    }
    best as i32
}

#[test]
fn argmax_and_argmin_take_the_first_of_equals_and_nan_before_numbers() {
    let pools: Vec<Threads> = [1, 3].into_iter().map(|n| Threads::new(n, None).unwrap()).collect();
    for (outer, length, inner) in EXTENTS.into_iter().filter(|e| e.1 > 0) {
        let extent = Extent { outer, length, inner };
        let mut x: Vec<f32> = values(outer * length * inner).iter().map(|x| x.round()).collect();
        for with_nan in [false, true] {
            if with_nan {
                (0..x.len()).filter(|i| i % 1013 == 500).for_each(|i| x[i] = f32::NAN);
            }
            for (level, kind) in
                Level::available().into_iter().flat_map(|l| [(l, ArgKind::Max), (l, ArgKind::Min)])
            {
                for pool in &pools {
                    let got = positions(&Exec::new(pool).with_level(level), kind, &x, extent);
                    for (index, got) in got.iter().enumerate() {
                        assert_eq!(
                            *got,
                            reference(&column(&x, extent, index), kind),
                            "{extent:?} {kind:?} {index}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn argmax_of_integers_and_infinities() {
    let threads = Threads::new(1, None).unwrap();
    let exec = Exec::new(&threads);
    let extent = Extent { outer: 1, length: 4, inner: 1 };
    assert_eq!(positions(&exec, ArgKind::Max, &[i64::MIN, i64::MIN, 5, 5], extent), [2]);
    assert_eq!(positions(&exec, ArgKind::Min, &[u8::MAX, 255, 255, 255], extent), [0]);
    assert_eq!(positions(&exec, ArgKind::Max, &[f64::NEG_INFINITY; 4], extent), [0]);
}
