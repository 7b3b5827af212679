//! Values against the reference.

use super::cases::{Case, LAYS, Lay, Operand, check, numbers};
use crate::level::Level;
use crate::matmul::{Activation, Matrix, MatrixSlice, Offsets, PackedB, matmul_slices};
use crate::threads::Threads;

/// Sizes around the kernels' tiles, and a few that reach every path: several blocks of k, several tiles,
/// shared panels.
const SIZES: [(usize, usize, usize); 30] = [
    (1, 1, 1),
    (1, 7, 33),
    (1, 300, 70),
    (33, 300, 1),
    (2, 3, 4),
    (3, 70, 40),
    (4, 9, 8),
    (5, 17, 16),
    (6, 16, 17),
    (7, 31, 31),
    (8, 64, 32),
    (11, 40, 15),
    (12, 33, 64),
    (13, 129, 65),
    (23, 24, 25),
    (24, 1, 48),
    (25, 2, 100),
    (31, 70, 69),
    (32, 784, 128),
    (47, 513, 33),
    (64, 64, 64),
    (65, 1025, 66),
    (70, 70, 70),
    (100, 100, 100),
    (130, 600, 97),
    (257, 520, 130),
    (400, 64, 33),
    (640, 40, 530),
    (61, 300, 1024),
    (1500, 9, 10),
];

const F32_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
const F64_ROUNDOFF: f64 = f64::EPSILON; // the reference has as many roundings

fn f32_case(sizes: (usize, usize, usize), lays: (Lay, Lay)) -> Case<f32> {
    let mut next = numbers((sizes.0 * 31 + sizes.1 * 7 + sizes.2) as u64);
    Case::new(sizes, lays, move || next() as f32)
}

#[test]
fn f32_products_of_dense_and_transposed_operands_match_the_reference_at_every_level() {
    let threads = Threads::new(2, None).unwrap();
    for sizes in SIZES {
        for lays in
            [Lay::Dense, Lay::Transposed].into_iter().flat_map(|a| [(a, Lay::Dense), (a, Lay::Transposed)])
        {
            let case = f32_case(sizes, lays);
            check(&case, F32_ROUNDOFF, "f32", |level| case.run(level, &threads, f32::NAN));
        }
    }
}

#[test]
fn every_small_size_matches_the_reference() {
    let threads = Threads::new(1, None).unwrap();
    let mut next = numbers(5);
    for round in 0..150 {
        let mut size = |most: f64| 1 + ((next() + 1.0) / 2.0 * most) as usize;
        let case = f32_case((size(70.0), size(70.0), size(70.0)), (LAYS[round % 6], LAYS[round / 6 % 6]));
        check(&case, F32_ROUNDOFF, "f32", |level| case.run(level, &threads, f32::NAN));
    }
}

#[test]
fn f64_products_match_the_reference_at_every_level() {
    let threads = Threads::new(2, None).unwrap();
    for (i, sizes) in SIZES.into_iter().enumerate() {
        let case = Case::new(sizes, (LAYS[i % 6], LAYS[i / 6 % 6]), numbers(i as u64 + 1));
        check(&case, F64_ROUNDOFF, "f64", |level| case.run(level, &threads, f64::NAN));
    }
}

#[test]
fn operands_with_any_strides_match_the_reference() {
    let threads = Threads::new(2, None).unwrap();
    for a in LAYS {
        for b in LAYS {
            for sizes in [(19, 37, 53), (1, 90, 40), (40, 90, 1), (3, 20, 70), (150, 530, 80)] {
                let case = f32_case(sizes, (a, b));
                check(&case, F32_ROUNDOFF, &format!("{a:?} {b:?}"), |level| {
                    case.run(level, &threads, f32::NAN)
                });
            }
        }
    }
}

#[test]
fn integer_products_wrap_around_and_match_a_plain_loop() {
    fn go<T>(
        sizes: (usize, usize, usize),
        lays: (Lay, Lay),
        from: fn(f64) -> T,
        mul: fn(T, T) -> T,
        add: fn(T, T) -> T,
    ) where
        T: crate::matmul::Element + Default + PartialEq + std::fmt::Debug,
    {
        let threads = Threads::new(2, None).unwrap();
        let mut next = numbers(sizes.1 as u64);
        let case = Case::new(sizes, lays, move || from(next()));
        for level in Level::available() {
            let got = case.run(level, &threads, from(0.5));
            for i in 0..sizes.0 {
                for j in 0..sizes.2 {
                    let want = (0..sizes.1)
                        .fold(T::default(), |sum, s| add(sum, mul(case.a.get(0, i, s), case.b.get(0, s, j))));
                    assert_eq!(got[i * sizes.2 + j], want, "{sizes:?} {lays:?} at {level}: element {i}, {j}");
                }
            }
        }
    }
    for (i, sizes) in
        [(1, 1, 1), (3, 5, 7), (65, 130, 257), (64, 4, 300), (1, 200, 9), (9, 200, 1), (2, 0, 3)]
            .into_iter()
            .enumerate()
    {
        let lays = (LAYS[i % 6], LAYS[(i + 1) % 6]);
        go::<i32>(sizes, lays, |x| (x * 2e9) as i32, i32::wrapping_mul, i32::wrapping_add);
        go::<i64>(sizes, lays, |x| (x * 9e18) as i64, i64::wrapping_mul, i64::wrapping_add);
        go::<u8>(sizes, lays, |x| (x * 127.0 + 128.0) as u8, u8::wrapping_mul, u8::wrapping_add);
    }
}

#[test]
fn batches_take_their_operands_from_their_offsets() {
    let threads = Threads::new(2, None).unwrap();
    for (sizes, lays) in [
        ((5, 8, 9), (Lay::Dense, Lay::Dense)),
        ((17, 33, 40), (Lay::Transposed, Lay::Dense)),
        ((20, 70, 33), (Lay::Dense, Lay::Transposed)),
        ((1, 50, 40), (Lay::Dense, Lay::Dense)),
        ((200, 600, 40), (Lay::Apart, Lay::Transposed)),
    ] {
        let mut next = numbers(3);
        let (m, k, n) = sizes;
        let a = Operand::new(lays.0, m, k, 3, || next() as f32);
        let b = Operand::new(lays.1, k, n, 2, || next() as f32);
        // Three left sides against two right ones: both are broadcast.
        let batch = (0..6).map(|i| Offsets { a: i % 3 * a.span(3), b: i / 3 * b.span(2) }).collect();
        let case = Case { sizes, a, b, batch, bias: None, activation: Activation::None };
        check(&case, F32_ROUNDOFF, "batch", |level| case.run(level, &threads, f32::NAN));
    }
}

#[test]
fn bias_and_relu_are_applied_once_at_the_end() {
    let threads = Threads::new(2, None).unwrap();
    for sizes in SIZES {
        let mut case = f32_case(sizes, (Lay::Dense, Lay::Dense));
        let mut next = numbers(9);
        case.bias = Some((0..sizes.2).map(|_| next() as f32).collect());
        for activation in [Activation::None, Activation::Relu] {
            case.activation = activation;
            check(&case, F32_ROUNDOFF, "epilogue", |level| case.run(level, &threads, f32::NAN));
        }
    }
}

#[test]
fn a_packed_right_side_gives_the_same_bits_as_the_right_side_itself() {
    let threads = Threads::new(2, None).unwrap();
    for sizes in SIZES {
        for lay in [Lay::Dense, Lay::Transposed, Lay::Apart] {
            let case = f32_case(sizes, (Lay::Dense, lay));
            let run = |level| {
                // SAFETY: the operand has `k` × `n` elements.
                let packed = unsafe { PackedB::new(level, &threads, sizes.1, sizes.2, case.b.matrix()) };
                assert!(packed.bytes() >= PackedB::<f32>::bytes_for(level, sizes.1, sizes.2));
                let mut got = case.fresh_output(f32::NAN);
                let mut product = case.product(&mut got);
                product.b = Matrix::dense(std::ptr::null(), 0);
                // SAFETY: as for an ordinary product.
                unsafe { packed.matmul(&threads, &product) };
                got
            };
            if sizes.0 == 1 || sizes.2 == 1 {
                check(&case, F32_ROUNDOFF, "packed", run);
            } else {
                for level in Level::available() {
                    assert!(
                        run(level) == case.run(level, &threads, f32::NAN),
                        "{sizes:?} {lay:?} at {level}"
                    );
                }
            }
        }
    }
}

#[test]
fn slices_are_checked() {
    let threads = Threads::new(1, None).unwrap();
    let data = [1.0f64; 12];
    assert!(MatrixSlice::new(&data, 3, 4, 4, 1).is_some());
    assert!(MatrixSlice::new(&data, 3, 5, 4, 1).is_none());
    assert!(MatrixSlice::new(&data, usize::MAX, 5, 4, 1).is_none());
    assert!(MatrixSlice::new(&data, 0, 5, 4, 1).is_some());
    let a = MatrixSlice::dense(&data, 3, 4).unwrap();
    assert!(matmul_slices(Level::detect(), &threads, a, a).is_none());
    assert_eq!(matmul_slices(Level::detect(), &threads, a, a.transposed()), Some(vec![4.0; 9]));
}
