//! The losses. Each remembers the scope in which it was made, and runs there, forward and backward, unless a
//! scope at the call says otherwise. Adding one: a struct with a [`Site`](crate::Site) that is a
//! [`Loss`](crate::Loss), and a line here.

#[macro_use]
mod cross_entropy;

mod binary;
mod categorical;
mod custom;
mod regression;
mod sparse;
mod targets;

pub use binary::BinaryCrossEntropy;
pub use categorical::CategoricalCrossEntropy;
pub use custom::Custom;
pub use regression::{Huber, MeanAbsoluteError, MeanSquaredError};
pub use sparse::SparseCategoricalCrossEntropy;

pub(crate) use targets::{class_numbers, same_shape};
