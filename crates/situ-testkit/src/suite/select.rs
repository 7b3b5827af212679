//! Choosing between two tensors element by element.

use super::case::{Case, Tolerance};
use crate::array::{Array, indices, position};
use crate::input::{Form, Input};
use crate::numbers::{Noise, special};
use situ_core::DType;
use situ_ir::ops::Where;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in DType::ALL {
        let mut noise = Noise::named(dtype.name());
        let mut push = |label: &str, inputs: Vec<Input>| {
            list.push(Case::new(label, Where, inputs, Tolerance::BITS, choose))
        };
        let corners = special(dtype);
        let n = corners.len();
        let condition = noise.array(DType::Bool, &[n]);
        let backwards = corners.pick(&[n], (0..n).rev());
        push("corners", vec![condition.into(), corners.into(), backwards.into()]);
        let shapes: [[&[usize]; 3]; 5] = [
            [&[3, 4], &[3, 4], &[3, 4]],
            [&[3, 1], &[4], &[]],
            [&[], &[2, 3], &[3]],
            [&[0, 2], &[1, 2], &[]],
            [&[2, 1, 5], &[3, 1], &[1, 1, 1]],
        ];
        for [c, a, b] in shapes {
            let inputs = [(DType::Bool, c), (dtype, a), (dtype, b)];
            push("", inputs.map(|(d, dims)| noise.array(d, dims).into()).into());
        }
        for form in Form::VIEWS {
            let inputs = [DType::Bool, dtype, dtype].map(|d| Input::formed(noise.array(d, &[4, 7]), form));
            push(form.name(), inputs.into());
        }
        let inputs = [DType::Bool, dtype, dtype].map(|d| noise.array(d, &[66_003]).into());
        push("large", inputs.into());
    }
}

pub(super) fn choose(inputs: &[Array]) -> super::Expected {
    let rank = inputs.iter().map(|i| i.dims.len()).max().unwrap_or(0);
    let size = |a: &Array, axis: usize| (axis + a.dims.len()).checked_sub(rank).map_or(1, |i| a.dims[i]);
    let dims: Vec<usize> =
        (0..rank).map(|axis| inputs.iter().map(|i| size(i, axis)).find(|&s| s != 1).unwrap_or(1)).collect();
    let at = |a: &Array, index: &[usize]| {
        let own: Vec<usize> = index[rank - a.dims.len()..]
            .iter()
            .zip(&a.dims)
            .map(|(&i, &d)| if d == 1 { 0 } else { i })
            .collect();
        position(&a.dims, &own)
    };
    let mut reals = Vec::new();
    let mut wholes = Vec::new();
    for index in indices(&dims) {
        let holds = inputs[0].wholes()[at(&inputs[0], &index)] != 0;
        let from = if holds { &inputs[1] } else { &inputs[2] };
        let place = at(from, &index);
        match &from.numbers {
            crate::array::Numbers::Real(v) => reals.push(v[place]),
            crate::array::Numbers::Whole(v) => wholes.push(v[place]),
        }
    }
    let dtype = inputs[1].dtype;
    let chosen = if dtype.is_float() {
        Array::unrounded(dtype, &dims, reals)
    } else {
        Array::whole(dtype, &dims, wholes)
    };
    chosen.into()
}
