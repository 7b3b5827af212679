//! Products with bias and activation in one op.

use super::case::{Case, Expected, Tolerance};
use super::{matmul, unary};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_ir::ops::{Matmul, MatmulBias, Unary, UnaryKind};

pub(super) fn cases(list: &mut Vec<Case>) {
    let activations = [
        None,
        Some(Unary::new(UnaryKind::Relu)),
        Some(Unary::with(UnaryKind::LeakyRelu, 0.125, 0.0)),
        Some(Unary::new(UnaryKind::Gelu)),
        Some(Unary::new(UnaryKind::Tanh)),
    ];
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        let mut push = |label: &str, op: MatmulBias, inputs: Vec<Input>| {
            let tolerance = Tolerance::units(dtype, 16.0, 2.0);
            list.push(Case::new(label, op, inputs, tolerance, move |i| layer(op, i)));
        };
        let plain = Matmul::default();
        for activation in activations {
            let name = activation.map_or("none", |op| op.kind.name());
            let op = MatmulBias { matmul: plain, activation };
            for (a, b) in [(&[3, 5][..], &[5, 7][..]), (&[1, 67], &[67, 130]), (&[65, 129], &[129, 33])] {
                let bias = noise.array(dtype, &[b[b.len() - 1]]);
                push(name, op, vec![noise.array(dtype, a).into(), noise.array(dtype, b).into(), bias.into()]);
            }
        }
        let op = MatmulBias { matmul: plain, activation: activations[1] };
        for (a, b) in [(&[2, 0][..], &[0, 3][..]), (&[0, 4], &[4, 3]), (&[2, 3, 4], &[4, 5])] {
            let bias = noise.array(dtype, &[b[b.len() - 1]]);
            push("shapes", op, vec![noise.array(dtype, a).into(), noise.array(dtype, b).into(), bias.into()]);
        }
        for (transpose_a, transpose_b) in [(true, false), (false, true), (true, true)] {
            let op = MatmulBias { matmul: Matmul { transpose_a, transpose_b }, activation: activations[1] };
            let side = |swapped: bool, rows: usize, columns: usize| {
                if swapped { [columns, rows] } else { [rows, columns] }
            };
            let a = noise.array(dtype, &side(transpose_a, 9, 20));
            let b = noise.array(dtype, &side(transpose_b, 20, 11));
            let bias = noise.array(dtype, &[11]);
            push(
                &format!("transposes {transpose_a} {transpose_b}"),
                op,
                vec![a.into(), b.into(), bias.into()],
            );
        }
        for form in Form::VIEWS {
            let arrays = [&[9, 10][..], &[10, 11], &[11]].map(|dims| noise.array(dtype, dims));
            push(form.name(), op, arrays.map(|array| Input::formed(array, form)).into());
        }
    }
}

fn layer(op: MatmulBias, inputs: &[Array]) -> Expected {
    let product = matmul::multiply(op.matmul, &inputs[0], &inputs[1]);
    let bias = inputs[2].reals();
    let at = |i: usize| bias[i % bias.len()];
    let sums = product.array.reals().iter().enumerate().map(|(i, v)| v + at(i)).collect();
    let sums = Array::unrounded(product.array.dtype, &product.array.dims, sums);
    // No activation here is steeper than 1.13, so that the product's own error is what remains.
    let scale = product.scale.map(|s| s.iter().enumerate().map(|(i, v)| v + at(i).abs()).collect());
    match op.activation {
        Some(activation) => Expected { scale, ..unary::apply(activation, &sums) },
        None => Expected { array: sums, scale },
    }
}
