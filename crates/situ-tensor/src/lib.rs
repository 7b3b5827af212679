//! Tensors, variables and device scopes: what users write.
//!
//! Promises: every method that can fail returns a `Result`; a tensor never changes; a scope ends where it was
//! opened. Leaves to others: where an op runs (`situ-runtime`), what it means (`situ-ir`).

mod apply;
mod bucketed;
mod control;
mod create;
mod current;
mod display;
mod elementwise;
mod function;
mod image;
mod indexing;
mod linear;
mod movement;
mod operators;
pub mod random;
mod reductions;
mod rows;
pub mod scope;
mod span;
mod tape;
mod tensor;
mod together;
mod trace;
mod update;
mod variable;
mod variant;

pub use apply::apply_op;
pub use bucketed::Buckets;
pub use control::{cond, while_loop};
pub use create::{TensorData, arange, constant, eye, full, ones, range, tensor, written, zeros};
pub use current::{current_runtime, with_runtime};
pub use elementwise::where_;
pub use function::Function;
pub use image::{Padding, Windows};
pub use movement::{concat, stack};
pub use rows::Rows;
pub use scope::{ScopeGuard, clear_device, copy_policy, device, fallback_policy, name_scope, with_device};
pub use span::Span;
pub use tape::{Source, Tape};
pub use tensor::Tensor;
pub use variable::Variable;
