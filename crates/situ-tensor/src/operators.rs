//! `&a + &b` and its like. They return `Result`, as the methods do: a wrong shape is no reason to panic.

use crate::apply::apply_beside;
use crate::tensor::Tensor;
use situ_core::{Result, Scalar, Shape};
use situ_ir::ops::Fill;
use std::panic::Location;

macro_rules! operators {
    ($($trait:ident $method:ident;)*) => {$(
        impl std::ops::$trait<&Tensor> for &Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Result<Tensor> {
                Tensor::$method(self, other)
            }
        }

        /// A number on the right is a scalar of the tensor's dtype, on its device.
        impl std::ops::$trait<f64> for &Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, other: f64) -> Result<Tensor> {
                let value = Scalar::of(self.dtype(), other);
                let fill = Fill { shape: Shape::SCALAR, value };
                let location = Location::caller();
                let scalar = crate::current::with_runtime_of(self, || apply_beside(self, fill, location))?;
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
