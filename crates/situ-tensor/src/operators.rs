//! `&a + &b` and its like. They return `Result`, as the methods do: a wrong shape is no reason to panic.

use crate::apply::apply_beside;
use crate::tensor::Tensor;
use situ_core::{Caller, Error, Result, Scalar, Shape};
use situ_ir::ops::Fill;

/// A number as an element of a tensor's dtype, for the op of that name; an error where the dtype does not
/// have it.
pub(crate) fn number_beside(op: &'static str, tensor: &Tensor, number: f64) -> Result<Scalar> {
    let dtype = tensor.dtype();
    Scalar::exact(dtype, number).ok_or_else(|| {
        let help = match dtype.is_float() {
            true => "cast the tensor to f64 first, or give a smaller number",
            false => "cast the tensor to a float first, or give a number that its dtype holds",
        };
        Error::operands(op, &[tensor.tensor_type()], format!("{dtype} has no element {number:?}"), help)
    })
}

macro_rules! operators {
    ($($trait:ident $method:ident;)*) => {$(
        impl std::ops::$trait<&Tensor> for &Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Result<Tensor> {
                Tensor::$method(self, other)
            }
        }

        /// A number on the right is a scalar of the tensor's dtype, on its device. One that the dtype does
        /// not have, such as 2.5 beside integers, is an error: nothing is rounded or cut off unseen.
        impl std::ops::$trait<f64> for &Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, other: f64) -> Result<Tensor> {
                let value = number_beside(stringify!($method), self, other)?;
                let fill = Fill { shape: Shape::SCALAR, value };
                let caller = Caller::here();
                let scalar = crate::current::with_runtime_of(self, || apply_beside(self, fill, caller))?;
                Tensor::$method(self, &scalar)
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
    Rem rem;
}

impl std::ops::Neg for &Tensor {
    type Output = Result<Tensor>;
    #[track_caller]
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}
