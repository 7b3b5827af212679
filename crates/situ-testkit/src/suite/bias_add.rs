//! A bias along the last axis.

use super::case::{Case, Tolerance};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::DType;
use situ_ir::ops::BiasAdd;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8] {
        let mut noise = Noise::named(dtype.name());
        let mut push = |label: &str, inputs: Vec<Input>| {
            list.push(Case::new(label, BiasAdd, inputs, Tolerance::EQUAL, add))
        };
        for dims in [&[5][..], &[4, 7], &[2, 3, 5], &[0, 3], &[3, 0], &[1, 1], &[300, 257]] {
            let bias = noise.array(dtype, &[dims[dims.len() - 1]]);
            push("", vec![noise.array(dtype, dims).into(), bias.into()]);
        }
        for form in Form::VIEWS {
            let inputs = [&[4, 6][..], &[6]].map(|dims| Input::formed(noise.array(dtype, dims), form));
            push(form.name(), inputs.into());
        }
    }
}

fn add(inputs: &[Array]) -> super::Expected {
    let [x, bias] = inputs else { unreachable!("two inputs") };
    let n = bias.len();
    if x.dtype.is_float() {
        let sums = x.reals().iter().enumerate().map(|(i, v)| v + bias.reals()[i % n]).collect();
        return Array::unrounded(x.dtype, &x.dims, sums).into();
    }
    let sums = x.wholes().iter().enumerate().map(|(i, v)| v.wrapping_add(bias.wholes()[i % n])).collect();
    Array::whole(x.dtype, &x.dims, sums).into()
}
