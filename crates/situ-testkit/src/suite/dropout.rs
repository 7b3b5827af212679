//! Dropout: which elements are dropped follows from the generator's definition.

use super::case::{Case, Expected, Tolerance};
use super::random::philox;
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::{DType, Real};
use situ_ir::ops::Dropout;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        let tolerance = Tolerance::units(dtype, 2.0, 2.0);
        let mut push = |label: &str, rate: f64, x: Input, step: Option<i128>| {
            let op = Dropout { rate: Real(rate), seed: 0xdead_beef_0123_4567, stream: 0xffff_fffe };
            let mut inputs = vec![x];
            inputs.extend(step.map(|s| Array::whole(DType::I32, &[], vec![s]).into()));
            let label = format!("{label} rate {rate} step {step:?}");
            list.push(Case::new(&label, op, inputs, tolerance, move |i| dropped(op, i)));
        };
        for dims in [&[7][..], &[], &[3, 5], &[0, 2], &[257, 300]] {
            push("", 0.3, noise.array(dtype, dims).into(), None);
            push("", 0.5, noise.array(dtype, dims).into(), Some(3));
        }
        for rate in [0.0, 0.999, 1e-12] {
            push("", rate, noise.array(dtype, &[1000]).into(), Some(-7));
        }
        let corners =
            vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, f64::NAN, f64::INFINITY];
        push("corners", 0.5, Array::real(dtype, &[8], corners).into(), None);
        for form in Form::VIEWS {
            push(form.name(), 0.4, Input::formed(noise.array(dtype, &[6, 9]), form), Some(1));
        }
    }
}

fn dropped(op: Dropout, inputs: &[Array]) -> Expected {
    let x = &inputs[0];
    let step = inputs.get(1).map_or(0, |step| step.wholes()[0]);
    let stream = op.stream.wrapping_add(step as u64);
    let keep = ((1.0 - op.rate.0) * 2f64.powi(32)).floor();
    let element = |(n, value): (usize, &f64)| {
        let word = philox(op.seed, stream, n as u64 / 4)[n % 4];
        if f64::from(word) < keep { value / (1.0 - op.rate.0) } else { 0.0 }
    };
    let values = x.reals().iter().enumerate().map(element).collect();
    Array::unrounded(x.dtype, &x.dims, values).into()
}
