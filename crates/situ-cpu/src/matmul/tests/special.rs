//! NaN, infinity, emptiness, and what must not be touched.

use super::cases::{Case, Lay, numbers};
use crate::level::Level;
use crate::matmul::{Activation, Workspace, matmul, release_workspaces, workspace_bytes};
use crate::threads::Threads;

#[test]
fn nan_and_infinity_spread_even_against_zeros() {
    let threads = Threads::new(2, None).unwrap();
    for sizes in [(1, 9, 20), (20, 9, 1), (7, 40, 19), (40, 600, 33), (200, 600, 70)] {
        for level in Level::available() {
            let mut case = Case::new(sizes, (Lay::Dense, Lay::Dense), || 0.0f32);
            let (m, k, n) = sizes;
            let special = [f32::NAN, f32::INFINITY];
            for value in special {
                let a = crate::matmul::tests::cases::Operand::new(Lay::Dense, m, k, 1, {
                    let mut at = 0;
                    // The last k of the last row.
                    move || {
                        at += 1;
                        if at == m * k { value } else { 0.0 }
                    }
                });
                case.a = a;
                let out = case.run(level, &threads, 1.0);
                for i in 0..m {
                    for j in 0..n {
                        let x = out[i * n + j];
                        // Infinity times zero is NaN too.
                        assert_eq!(x.is_nan(), i == m - 1, "{sizes:?} at {level}: element {i}, {j} is {x}");
                    }
                }
            }
        }
    }
}

#[test]
fn relu_keeps_nan() {
    let threads = Threads::new(1, None).unwrap();
    for sizes in [(1, 3, 9), (9, 3, 1), (7, 3, 19)] {
        for level in Level::available() {
            let mut case = Case::new(sizes, (Lay::Dense, Lay::Dense), || f64::NAN);
            case.activation = Activation::Relu;
            assert!(case.run(level, &threads, 1.0).iter().all(|x| x.is_nan()), "{sizes:?} at {level}");
        }
    }
}

#[test]
fn a_product_over_nothing_is_zero_then_bias_and_activation() {
    let threads = Threads::new(2, None).unwrap();
    for (m, n) in [(1, 1), (1, 20), (20, 1), (7, 19), (700, 40)] {
        for level in Level::available() {
            let mut case = Case::new((m, 0, n), (Lay::Dense, Lay::Dense), || 1.0f32);
            assert!(case.run(level, &threads, f32::NAN).iter().all(|&x| x == 0.0));
            case.bias = Some((0..n).map(|j| j as f32 - 3.0).collect());
            case.activation = Activation::Relu;
            let out = case.run(level, &threads, f32::NAN);
            assert!(out.iter().enumerate().all(|(at, &x)| x == ((at % n) as f32 - 3.0).max(0.0)));
        }
    }
}

#[test]
fn products_with_no_elements_touch_nothing() {
    let threads = Threads::new(2, None).unwrap();
    for sizes in [(0, 5, 5), (5, 5, 0), (0, 0, 0), (0, 1, 1)] {
        for level in Level::available() {
            assert!(
                Case::new(sizes, (Lay::Dense, Lay::Dense), || 1.0f32).run(level, &threads, 1.0).is_empty()
            );
            assert!(Case::new(sizes, (Lay::Dense, Lay::Dense), || 1i32).run(level, &threads, 1).is_empty());
        }
        let mut none = Case::new((3, 3, 3), (Lay::Dense, Lay::Dense), || 1.0f32);
        none.batch.clear();
        assert!(none.run(Level::detect(), &threads, 1.0).is_empty());
    }
}

#[test]
fn nothing_is_written_beyond_the_output() {
    let threads = Threads::new(2, None).unwrap();
    for sizes in [(1, 30, 21), (21, 30, 1), (5, 30, 21), (31, 30, 37), (150, 600, 83)] {
        for level in Level::available() {
            let case = Case::new(sizes, (Lay::Dense, Lay::Dense), || 1.0f32);
            let mut out = vec![-7.0; sizes.0 * sizes.2 + 64];
            // SAFETY: the operands are as large as the sizes say, the output larger.
            unsafe { matmul(level, &threads, &case.product(&mut out)) };
            let (written, beyond) = out.split_at(sizes.0 * sizes.2);
            assert!(
                written.iter().all(|&x| x == sizes.1 as f32) && beyond.iter().all(|&x| x == -7.0),
                "{sizes:?}"
            );
        }
    }
}

#[test]
fn a_workspace_of_the_size_asked_for_is_enough_at_any_alignment() {
    let threads = Threads::new(2, None).unwrap();
    release_workspaces();
    for sizes in [(300, 700, 90), (700, 1100, 900), (40, 600, 1024)] {
        for lays in [(Lay::Dense, Lay::Dense), (Lay::Transposed, Lay::Transposed), (Lay::Apart, Lay::Apart)] {
            for level in Level::available() {
                let mut next = numbers(1);
                let case = Case::new(sizes, lays, move || next() as f32);
                let bytes = workspace_bytes::<f32>(sizes.0, sizes.1, sizes.2);
                let mut memory = vec![0u8; bytes + 3 + 64];
                memory[3 + bytes..].fill(0xa5);
                let mut out = case.fresh_output(f32::NAN);
                let mut product = case.product(&mut out);
                product.workspace = Workspace { start: memory[3..].as_mut_ptr(), bytes };
                // SAFETY: operands and output are as large as the sizes say, and the workspace as large as it
                // says.
                unsafe { matmul(level, &threads, &product) };
                assert!(
                    memory[3 + bytes..].iter().all(|&x| x == 0xa5),
                    "{sizes:?} at {level} wrote beyond its workspace"
                );
                assert!(out == case.run(level, &threads, f32::NAN));
            }
        }
    }
}
