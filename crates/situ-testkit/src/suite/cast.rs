//! Conversions between dtypes, all of them.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, Numbers, rounded, rounded_whole};
use crate::input::{Form, Input};
use crate::numbers::{Noise, special_and_ordinary};
use situ_core::DType;
use situ_ir::ops::Cast;

pub(super) fn cases(list: &mut Vec<Case>) {
    for from in DType::ALL {
        for to in DType::ALL {
            let mut noise = Noise::named(&format!("{from} {to}"));
            let mut push = |label: &str, input: Input| {
                let label = format!("to {to} {label}");
                list.push(Case::new(&label, Cast { to }, vec![input], Tolerance::BITS, move |i| {
                    convert(&i[0], to)
                }));
            };
            push("corners", special_and_ordinary(from, 50, &mut noise).into());
            for form in Form::VIEWS {
                push(form.name(), Input::formed(noise.array(from, &[3, 5]), form));
            }
            push("", noise.array(from, &[]).into());
            push("", noise.array(from, &[2, 0]).into());
        }
        let to = if from == DType::F32 { DType::I32 } else { DType::F32 };
        let large = Noise::named("large").array(from, &[66_001]);
        let label = format!("to {to} large");
        list.push(Case::new(&label, Cast { to }, vec![large.into()], Tolerance::BITS, move |i| {
            convert(&i[0], to)
        }));
    }
}

pub(super) fn convert(x: &Array, to: DType) -> Expected {
    match (&x.numbers, to.whole_range()) {
        (Numbers::Real(v), None) => {
            Array::unrounded(to, &x.dims, v.iter().map(|&v| rounded(to, v)).collect())
        }
        (Numbers::Real(v), Some(_)) if to == DType::Bool => {
            Array::whole(to, &x.dims, v.iter().map(|&v| i128::from(v != 0.0)).collect())
        }
        // Toward zero, saturating; Rust's `as` takes NaN to 0.
        (Numbers::Real(v), Some(range)) => {
            let bounded = |v: f64| (v as i128).clamp(*range.start(), *range.end());
            Array::whole(to, &x.dims, v.iter().map(|&v| bounded(v)).collect())
        }
        // In one step: by way of f64 it would round twice.
        (Numbers::Whole(v), None) => {
            Array::unrounded(to, &x.dims, v.iter().map(|&v| rounded_whole(to, v)).collect())
        }
        (Numbers::Whole(v), Some(_)) => Array::whole(to, &x.dims, v.clone()),
    }
    .into()
}
