//! Kernels: the ops of `situ-ir` on the primitives of this crate, one file per family.
//!
//! Adding one: a file here with a `register` function, and one line in [`registry`].

mod batch_norm;
mod conv2d;
mod cross_entropy;
mod custom;
mod dropout;
mod elementwise;
mod fused;
mod generate;
pub(crate) mod half;
mod index;
mod layer_norm;
mod matmul;
mod matmul_bf16;
mod matmul_integer;
mod movement;
mod pool2d;
mod pool2d_pairs;
#[cfg(target_arch = "x86_64")]
mod pool2d_pairs_avx512;
mod random;
mod reduce;
mod rows;
mod softmax;
mod update;

use crate::exec::Exec;
use situ_core::{Error, Layout, Result, TensorType};
use situ_device::{Arg, Call, Registry};
use situ_ir::Op;

/// A kernel of the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuKernel {
    /// Computes the outputs of a call.
    pub(crate) run: fn(&Exec<'_>, &Call<'_>) -> Result<()>,
    /// Whether it reads an input in a layout that is not dense.
    pub(crate) accepts: fn(&Op, usize, &Layout) -> bool,
    /// Bytes of scratch memory it wants.
    pub(crate) workspace: fn(&Op, &[TensorType], &[TensorType]) -> usize,
    /// Whether it may write its result over an operand: it reads an element, or a tile, before it writes it.
    pub(crate) in_place: bool,
    /// Whether it is a kernel of f32 that stands for one of f16 or bf16: see [`half`].
    pub(crate) in_f32: bool,
}

impl CpuKernel {
    /// A kernel that wants its inputs dense (at any offset) and no workspace.
    pub(crate) const fn dense(run: fn(&Exec<'_>, &Call<'_>) -> Result<()>) -> CpuKernel {
        CpuKernel { run, accepts: |_, _, _| false, workspace: |_, _, _| 0, in_place: false, in_f32: false }
    }

    /// A kernel that reads inputs of any strides and wants no workspace.
    pub(crate) const fn strided(run: fn(&Exec<'_>, &Call<'_>) -> Result<()>) -> CpuKernel {
        CpuKernel { run, accepts: |_, _, _| true, workspace: |_, _, _| 0, in_place: false, in_f32: false }
    }

    /// The same kernel, which may write its result over an operand.
    pub(crate) const fn working_in_place(self) -> CpuKernel {
        CpuKernel { in_place: true, ..self }
    }
}

/// Every kernel there is.
pub(crate) fn registry() -> Registry<CpuKernel> {
    let mut registry = Registry::default();
    elementwise::register(&mut registry);
    fused::register(&mut registry);
    matmul::register(&mut registry);
    matmul_bf16::register(&mut registry);
    matmul_integer::register(&mut registry);
    reduce::register(&mut registry);
    softmax::register(&mut registry);
    cross_entropy::register(&mut registry);
    layer_norm::register(&mut registry);
    movement::register(&mut registry);
    index::register(&mut registry);
    rows::register(&mut registry);
    generate::register(&mut registry);
    random::register(&mut registry);
    conv2d::register(&mut registry);
    pool2d::register(&mut registry);
    batch_norm::register(&mut registry);
    dropout::register(&mut registry);
    update::register(&mut registry);
    // Behind all that compute in f32, which it takes for f16 and bf16 too.
    half::register(&mut registry);
    custom::register(&mut registry);
    registry
}

/// The error of a kernel that was handed an op, or operands, that it is not for: what chose it is wrong, and
/// nothing was computed.
#[cold]
pub(crate) fn refused(call: &Call<'_>) -> Error {
    Error::argument(
        call.op.name(),
        format!(
            "the kernel {} was handed {} inputs and {} outputs that it does not take",
            call.kernel.0,
            call.inputs.len(),
            call.outputs.len()
        ),
        "this is a defect of the table of kernels, or of what launched it",
    )
}

/// The address of a tensor's first element.
///
/// A CPU device is only ever given blocks of its own, which are addressable; null stands for the impossible
/// and is never read, because no kernel touches memory of an empty tensor and every other block has an
/// address.
pub(crate) fn start(arg: &Arg<'_>) -> *mut u8 {
    match arg.region.host() {
        Some(base) => base.as_ptr().wrapping_add(arg.layout.offset() * arg.dtype.size()),
        None => std::ptr::null_mut(),
    }
}

#[cfg(test)]
mod tests;
