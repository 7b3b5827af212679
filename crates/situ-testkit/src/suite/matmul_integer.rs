//! Products of bytes in 32 bits.

use super::case::{Case, Expected, Tolerance};
use super::matmul::multiply;
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::{Noise, special};
use situ_core::DType;
use situ_ir::ops::{Matmul, MatmulInteger};

pub(super) fn cases(list: &mut Vec<Case>) {
    for left in [DType::I8, DType::U8] {
        for right in [DType::I8, DType::U8] {
            products(list, left, right);
        }
    }
}

/// The same product of wider numbers.
fn reference(op: MatmulInteger, sides: &[Array]) -> Expected {
    let [a, b] = [0, 1].map(|n| Array::whole(DType::I32, &sides[n].dims, sides[n].wholes().to_vec()));
    multiply(op.matmul, &a, &b)
}

fn products(list: &mut Vec<Case>, left: DType, right: DType) {
    let mut noise = Noise::named(&format!("{left} {right}"));
    let mut push = |label: &str, matmul: Matmul, inputs: Vec<Input>| {
        let op = MatmulInteger { matmul };
        list.push(Case::new(label, op, inputs, Tolerance::EQUAL, move |i| reference(op, i)));
    };
    // Any byte.
    let mut bytes = |dtype: DType, dims: &[usize]| {
        let range = dtype.whole_range().expect("an integer");
        noise.wholes(dtype, dims, *range.start(), *range.end() + 1)
    };
    let plain = Matmul::default();
    let shapes: [(&[usize], &[usize]); 14] = [
        (&[1, 1], &[1, 1]),
        (&[3, 5], &[5, 7]),
        (&[1, 67], &[67, 130]),
        (&[131, 65], &[65, 1]),
        (&[1, 300], &[300, 1]),
        (&[17, 2], &[2, 19]),
        (&[64, 64], &[64, 64]),
        (&[65, 1031], &[1031, 33]),
        (&[2, 0], &[0, 3]),
        (&[0, 4], &[4, 3]),
        (&[3, 4, 5], &[3, 5, 2]),
        (&[2, 3, 4, 5], &[5, 6]),
        (&[4, 5], &[3, 5, 6]),
        (&[2, 1, 3, 4], &[1, 5, 4, 2]),
    ];
    for (a, b) in shapes {
        push("", plain, vec![bytes(left, a).into(), bytes(right, b).into()]);
    }
    // The ends of both ranges against each other, in one sum and one by one.
    let (a, b) = (special(left), special(right));
    let repeated = |x: &Array, count: usize| {
        Array::whole(x.dtype, &[count], (0..count).map(|n| x.wholes()[n % x.len()]).collect())
    };
    let (long, other) = (repeated(&a, 600), repeated(&b, 600));
    push("corners", plain, vec![long.reshaped(&[1, 600]).into(), other.reshaped(&[600, 1]).into()]);
    let (m, n) = (a.len(), b.len());
    push("corners", plain, vec![a.reshaped(&[m, 1]).into(), b.reshaped(&[1, n]).into()]);
    for (transpose_a, transpose_b) in [(true, false), (false, true), (true, true)] {
        let op = Matmul { transpose_a, transpose_b };
        let label = format!("transposes {transpose_a} {transpose_b}");
        let side = |rows: usize, columns: usize, swapped: bool| {
            if swapped { [columns, rows] } else { [rows, columns] }
        };
        for (m, k, n) in [(5, 6, 7), (1, 9, 20), (20, 9, 1), (70, 65, 66)] {
            let a = bytes(left, &side(m, k, transpose_a));
            push(&label, op, vec![a.into(), bytes(right, &side(k, n, transpose_b)).into()]);
        }
    }
    for form in Form::VIEWS {
        let (a, b) = (bytes(left, &[2, 9, 10]), bytes(right, &[2, 10, 11]));
        push(&format!("both {}", form.name()), plain, vec![Input::formed(a, form), Input::formed(b, form)]);
    }
    let a = Input::expanded(bytes(left, &[4, 5]), &[3, 4, 5]);
    let b = Input::expanded(bytes(right, &[5, 1]), &[5, 6]);
    push("expanded", plain, vec![a, b]);
}
