//! Products of bf16 against the same in f32, bit for bit.

use super::cases::{LAYS, Lay, Operand, numbers};
use crate::level::Level;
use crate::matmul::{
    Bf16Product, Matrix, Product, SINGLE, Workspace, bf16_workspace_bytes, matmul, matmul_bf16,
};
use crate::threads::Threads;
use situ_core::bf16;

/// What bf16 gives, if it does, and what f32 gives.
fn both(
    (m, k, n): (usize, usize, usize),
    (a, b): (&Operand<bf16>, &Operand<bf16>),
    threads: &Threads,
) -> (Option<Vec<f32>>, Vec<f32>) {
    let wide = |x: &Operand<bf16>, rows: usize, cols: usize| -> Vec<f32> {
        (0..rows * cols).map(|at| x.get(0, at / cols, at % cols).to_f32()).collect()
    };
    let (left, right) = (wide(a, m, k), wide(b, k, n));
    let mut expected = vec![7.0f32; m * n];
    let (x, y) = (Matrix::dense(left.as_ptr(), k), Matrix::dense(right.as_ptr(), n));
    // SAFETY: the sides and the output have these sizes.
    unsafe { matmul(Level::Avx512, threads, &Product::new(m, k, n, x, y, expected.as_mut_ptr())) };
    let mut memory = vec![0u8; bf16_workspace_bytes(m, k, n)];
    let mut found = vec![9.0f32; m * n];
    let workspace = Workspace { start: memory.as_mut_ptr(), bytes: memory.len() };
    let (a, b) = (a.matrix(), b.matrix());
    let product = Bf16Product { m, k, n, batch: SINGLE, a, b, out: found.as_mut_ptr(), workspace };
    // SAFETY: the sides and the output have these sizes.
    let done = unsafe { matmul_bf16(Level::Avx512, threads, &product) };
    (done.then_some(found), expected)
}

fn has_instruction() -> bool {
    bf16_workspace_bytes(2, 2, 2) > 0
}

#[test]
fn products_of_bf16_have_the_bits_of_those_in_f32() {
    let threads = Threads::new(2, None).unwrap();
    let sizes = [
        (2, 1, 2),
        (3, 2, 5),
        (14, 31, 32),
        (15, 64, 33),
        (29, 513, 65),
        (64, 1025, 70),
        (130, 600, 97),
        (300, 2049, 40),
        (1000, 9, 10),
        (400, 90, 100),
    ];
    for size @ (m, k, n) in sizes {
        let mut next = numbers((m + k + n) as u64);
        let mut number = move || bf16::from_f32(next() as f32);
        let sides =
            (Operand::new(Lay::Dense, m, k, 1, &mut number), Operand::new(Lay::Dense, k, n, 1, &mut number));
        let (found, expected) = both(size, (&sides.0, &sides.1), &threads);
        assert_eq!(found.is_some(), has_instruction(), "{size:?}");
        if let Some(found) = found {
            let same = found.iter().zip(&expected).all(|(x, y)| x.to_bits() == y.to_bits());
            assert!(same, "{size:?}");
        }
    }
    for left in LAYS {
        for right in LAYS {
            let mut next = numbers(5);
            let mut number = move || bf16::from_f32(next() as f32);
            let a = Operand::new(left, 19, 71, 1, &mut number);
            let b = Operand::new(right, 71, 37, 1, &mut number);
            let (found, expected) = both((19, 71, 37), (&a, &b), &threads);
            assert!(found.is_none_or(|found| found == expected), "{left:?} {right:?}");
        }
    }
}

#[test]
fn infinities_and_nans_go_through_and_small_numbers_are_left_to_f32() {
    let threads = Threads::new(1, None).unwrap();
    let size @ (m, k, n) = (20, 40, 33);
    let sides = |special: f32, every: usize| {
        let mut next = numbers(11);
        let mut count = 0;
        let mut number = move || {
            count += 1;
            bf16::from_f32(if count % every == 0 { special } else { next() as f32 })
        };
        (Operand::new(Lay::Dense, m, k, 1, &mut number), Operand::new(Lay::Dense, k, n, 1, &mut number))
    };
    for special in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, 0.0, -0.0] {
        let (a, b) = sides(special, 97);
        let (found, expected) = both(size, (&a, &b), &threads);
        assert_eq!(found.is_some(), has_instruction(), "{special}");
        let alike = |(x, y): (&f32, &f32)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        assert!(found.is_none_or(|found| found.iter().zip(&expected).all(alike)), "{special}");
    }
    for small in [1e-39, 1e-30, 2f32.powi(-126)] {
        let (a, b) = sides(small, 3);
        assert!(both(size, (&a, &b), &threads).0.is_none(), "{small}");
    }
}
