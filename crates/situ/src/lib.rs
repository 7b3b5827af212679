//! *situ* (Latin: "in its proper place") runs tensor programs across the CPU and the GPUs of a machine,
//! decides where every operation runs, and can say why.
//!
//! ```
//! use situ::prelude::*;
//!
//! # fn main() -> Result<()> {
//! let a = situ::tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
//! let b = situ::tensor([[5.0f32, 6.0], [7.0, 8.0]])?;
//!
//! let sum = situ::with_device("/CPU:0", || a.add(&b))?; // this op there
//! let product = a.matmul(&b)?; // this one wherever it is done soonest
//!
//! assert_eq!(sum.device().to_string(), "CPU:0");
//! assert_eq!(product.to_vec::<f32>()?, [19.0, 22.0, 43.0, 50.0]);
//! println!("{}: {}", product.device(), product.reason());
//! # Ok(()) }
//! ```
//!
//! # The parts
//! - [`Tensor`]: immutable, cheap to clone, on one device; [`Variable`]: one that can be assigned.
//! - [`tensor()`], [`zeros`], [`range`], [`random`] and others make tensors; everything else is a method.
//! - [`device()`] and [`with_device`] say where the ops inside run; [`fallback_policy`] and [`copy_policy`]
//!   say what may happen that was not asked for; [`name_scope`] names the ops inside, for people.
//! - [`Tensor::device`] is where the bytes are, [`Tensor::reason`] is why; [`config::ledger`] lists every
//!   copy and every fallback with its line of the program.
//! - [`Function`]: a closure traced once per input signature, planned and run as a whole; [`cond`] and
//!   [`while_loop`] decide by value inside of one.
//! - [`data`]: datasets from tensors and files, shuffled, mapped, batched and copied to a device ahead of
//!   their use.
//! - [`nn`]: layers, losses and metrics, which keep to the scopes they were made in, and models of them.
//! - [`profile`]: what a part of a program did, as a [`Record`](observe::Record): tables, traces, findings,
//!   why each op is where it is;
//!   [`expect`]: what it may do, as a check.
//! - [`config`]: the machine's devices, what programs see of them, and what they may use.
//!
//! # What decides where an op runs
//! The innermost scope, if there is one. A device that does not exist, or that has no kernel for the op and
//! dtype, is replaced under the fallback [`Policy`]: allowed, allowed with a warning (the default), or an
//! error. Without a scope, [`PlacementRule::Auto`] takes the device on which the op is done soonest, with the
//! work that is queued there and the copies it needs counted in; if that device's memory is full, the next
//! one.
//!
//! # Errors
//! Every call that can fail returns a [`Result`]. An [`Error`] names the op, the shapes and dtypes, the
//! device, and what to do next; after one, every tensor is still valid. Errors that depend on data queued on
//! a GPU (a label out of range) are returned when a result that depends on it is read, or by [`sync`].
//!
//! # Cargo features
//! - `gpu` (on by default): GPUs, through wgpu. Without it nothing of wgpu is built, only CPUs are found, and
//!   what asks for a GPU runs on the CPU with that reason; [`config::built_for`] tells.

pub mod config;
pub mod custom;
pub mod observe;
pub mod prelude;

pub use situ_core::{
    Caller, DType, DeviceId, DeviceKind, DeviceSpec, DeviceType, Element, Error, Layout, Location, MAX_RANK,
    Policy, Real, Reason, Result, Rule, Scalar, Shape, TensorType, bf16, error, f16, locate_with, reason,
    replace_file, visible, visible_lines,
};
/// Datasets: elements from tensors and files, made ready and brought to a device ahead of their use.
pub use situ_data as data;
/// Layers, losses, metrics, optimizers, and the loop that trains a model with them.
pub use situ_nn as nn;
/// Placing cost graphs: the model, the algorithms, their bounds and reasons.
pub use situ_place as place;

pub use situ_observe::{expect, profile};

pub use situ_ir::{Graph, Op, OpKind, ops};
pub use situ_runtime::{LogicalConfig, PlacementRule, Request, Runtime, costs, function};
pub use situ_tensor::{
    Function, Padding, ScopeGuard, Source, Span, Tape, Tensor, TensorData, Variable, Windows, apply_op,
    arange, clear_device, concat, cond, constant, copy_policy, current_runtime, device, eye, fallback_policy,
    full, name_scope, ones, random, range, scope, stack, tensor, where_, while_loop, with_device,
    with_runtime, zeros,
};

/// Waits for the queued work of every device, and returns its errors.
///
/// Reading a tensor waits for what it depends on; this is for timing, and for finding an error where it
/// belongs.
///
/// ```
/// # fn main() -> situ::Result<()> {
/// let x = situ::zeros(&[64, 64], situ::DType::F32)?;
/// let start = std::time::Instant::now();
/// let y = x.matmul(&x)?;
/// situ::sync()?;
/// println!("{:?} on {}", start.elapsed(), y.device());
/// # Ok(()) }
/// ```
pub fn sync() -> Result<()> {
    current_runtime().sync()
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// The guide, so that its programs are tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../docs/softmax-on-the-cpu.md")]
    mod softmax_on_the_cpu {}
    #[doc = include_str!("../docs/why-on-the-cpu.md")]
    mod why_on_the_cpu {}
    #[doc = include_str!("../docs/gpu-and-dedicated-cores.md")]
    mod gpu_and_dedicated_cores {}
    #[doc = include_str!("../docs/training-on-both.md")]
    mod training_on_both {}
    #[doc = include_str!("../docs/both-at-once.md")]
    mod both_at_once {}
    #[doc = include_str!("../docs/coming-from-tensorflow.md")]
    mod coming_from_tensorflow {}
    #[doc = include_str!("../docs/coming-from-pytorch.md")]
    mod coming_from_pytorch {}
}
