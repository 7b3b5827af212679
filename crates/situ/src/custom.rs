//! Ops of your own: a shape rule, a cost, a gradient, kernels for CPUs and GPUs, from any crate.
//!
//! An op is a plain type that implements [`Rule`], as situ's own ops do: what it takes and gives, what it
//! costs, its gradient. [`register`] makes it known by name and gives devices its kernels; [`apply`] runs it,
//! eagerly, under a tape or in a function, where placement decides. A device without a kernel for it is
//! passed over with that reason, as for any op. `examples/custom-op` is such a crate, with its tests.
//!
//! ```
//! use situ::custom::{CpuCall, Differentiability, Given, Rule, Work, WorkClass, Wgsl};
//! use situ::{DType, Error, Result, TensorType};
//!
//! /// x · 2ⁿ
//! #[derive(Clone, PartialEq, Eq, Hash, Debug)]
//! struct Shifted {
//!     by: u8,
//! }
//!
//! impl Rule for Shifted {
//!     const NAMES: &'static [&'static str] = &["my_shifted"];
//!
//!     fn attributes(&self) -> situ::custom::Attributes {
//!         situ::custom::Attributes::none().with("by", self.by)
//!     }
//!     fn read(_: &str, given: &mut Given) -> Result<Shifted> {
//!         Ok(Shifted { by: given.integer("by")? })
//!     }
//!     fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
//!         match inputs {
//!             [x] if x.dtype == DType::I32 => Ok(*x),
//!             _ => Err(Error::operands(self.name(), inputs, "it takes one tensor of i32", "cast it")),
//!         }
//!     }
//!     fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
//!         Work::streaming(WorkClass::Elementwise, 1.0, inputs, outputs)
//!     }
//!     fn differentiability(&self) -> Differentiability {
//!         Differentiability::Flat
//!     }
//! }
//!
//! fn on_cpu(op: &Shifted, call: &mut CpuCall<'_>) -> Result<()> {
//!     let (x, y) = (call.input::<i32>(0)?, call.output::<i32>(0)?);
//!     call.chunks(y, 4096, |first, part| {
//!         for (y, x) in part.iter_mut().zip(&x[first..]) {
//!             *y = x << op.by;
//!         }
//!     });
//!     Ok(())
//! }
//!
//! # fn main() -> Result<()> {
//! situ::custom::register::<Shifted>()?.cpu(&[DType::I32], on_cpu).gpu(
//!     &[DType::I32],
//!     Wgsl::new(
//!         |op: &Shifted| format!("fn result(e: u32) -> i32 {{ return in0(e) << {}u; }}\n", op.by),
//!         |_, _| 0,
//!     ),
//! );
//! let y = situ::custom::apply(Shifted { by: 3 }, &[&situ::tensor([1i32, -2, 5])?])?;
//! assert_eq!(y.to_vec::<i32>()?, [8, -16, 40]);
//! # Ok(()) }
//! ```

use crate::{Result, Tensor};
use situ_core::Error;

pub use situ_core::{Axes, Scalar};
pub use situ_ir::gradient::{
    Application, Builder, Differentiability, Elementwise, Gradients, Terms, none, undefined,
};
pub use situ_ir::ops::{Attributes, Custom, Foreign, Given, Outputs, Rule, Viewing};
pub use situ_ir::{Work, WorkClass};
pub use situ_runtime::custom::{CpuCall, Registered, Wgsl, register};

/// Runs an op of your own under the scopes around the call, and gives its first output.
/// [`apply_op`](crate::apply_op) with a [`Custom`] gives all.
#[track_caller]
pub fn apply(op: impl Foreign, inputs: &[&Tensor]) -> Result<Tensor> {
    let name = op.name();
    let made = crate::apply_op(Custom::new(op), inputs)?.into_iter().next();
    made.ok_or_else(|| Error::argument(name, "it has no output", "let its rule give one"))
}
