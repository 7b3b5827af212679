//! Conversions between dtypes, all of them.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, Numbers};
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
    match (&x.numbers, to) {
        (Numbers::Real(v), DType::F32) => {
            Array::unrounded(to, &x.dims, v.iter().map(|&v| f64::from(v as f32)).collect())
        }
        (Numbers::Real(v), DType::F64) => Array::unrounded(to, &x.dims, v.clone()),
        // Rust's `as` rounds toward zero, saturates, and takes NaN to 0.
        (Numbers::Real(v), DType::I32) => {
            Array::whole(to, &x.dims, v.iter().map(|&v| i64::from(v as i32)).collect())
        }
        (Numbers::Real(v), DType::I64) => Array::whole(to, &x.dims, v.iter().map(|&v| v as i64).collect()),
        (Numbers::Real(v), DType::U8) => {
            Array::whole(to, &x.dims, v.iter().map(|&v| i64::from(v as u8)).collect())
        }
        (Numbers::Real(v), DType::Bool) => {
            Array::whole(to, &x.dims, v.iter().map(|&v| i64::from(v != 0.0)).collect())
        }
        // In one step: by way of f64 it would round twice.
        (Numbers::Whole(v), DType::F32) => {
            Array::unrounded(to, &x.dims, v.iter().map(|&v| f64::from(v as f32)).collect())
        }
        (Numbers::Whole(v), DType::F64) => {
            Array::unrounded(to, &x.dims, v.iter().map(|&v| v as f64).collect())
        }
        (Numbers::Whole(v), DType::I32 | DType::I64 | DType::U8 | DType::Bool) => {
            Array::whole(to, &x.dims, v.clone())
        }
    }
    .into()
}
