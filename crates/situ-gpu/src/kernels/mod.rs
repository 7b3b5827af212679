//! The kernels, one file per family of ops.
//!
//! Adding one: a file with a `register` function, and a line in [`registry`]. A kernel's host side is a plain
//! function from a [`Run`] to queued dispatches; its device side is WGSL put together by `shader` or written
//! out.
//!
//! Promises: a kernel writes its output's elements and, at most, the padding behind them; it reads only what
//! its inputs' layouts reach; the order of additions depends on shapes alone. Results agree with the CPU's to
//! about 1e-6 relative (16-bit floats: to their last place), exactly for integers and bools.

mod batch_norm;
mod binary;
mod boxes;
mod cast;
mod conv2d;
mod conv2d_by_element;
mod copy;
mod cumsum;
mod custom;
mod distinct;
mod dropout;
mod elem;
mod elementwise;
mod fused;
mod generate;
mod implicit;
mod index;
mod join;
mod long_rows;
mod matmul;
mod pool2d;
mod pool2d_strips;
mod put_rows;
mod quads;
mod random;
mod reduce;
mod rows;
mod run;
mod scatter_add;
mod select;
mod shader;
mod space;
mod team;
mod unary;
mod update;
mod widen;

use crate::borders::Borders;
use crate::fault::Fault;
use situ_core::{Layout, TensorType};
use situ_device::{Check, Registry};
use situ_ir::Op;
use std::fmt;
use std::sync::Arc;

pub(crate) use run::{Run, block_of};
pub(crate) use widen::{launch as launch_widened, workspace};

/// Queues the work of one call.
type LaunchFn = fn(&Run<'_>) -> Result<Option<Arc<Check>>, Fault>;

/// Scratch bytes of an op on these types, on a device with these borders.
type WorkspaceFn = fn(&Borders, &Op, &[TensorType], &[TensorType]) -> usize;

/// One kernel of the table.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) launch: LaunchFn,
    /// Whether input number `usize` may have this layout.
    pub(crate) accepts: fn(&Op, usize, &Layout) -> bool,
    /// Bytes of scratch memory that a launch needs.
    pub(crate) workspace: WorkspaceFn,
    /// Whether an op on these types takes 64-bit arithmetic, which some adapters lack.
    pub(crate) int64: fn(&Op, &[TensorType], &[TensorType]) -> bool,
    /// Whether operands are converted to words before it and results back behind it; see `widen`.
    pub(crate) widened: bool,
}

impl Kernel {
    /// A kernel that reads any layout and needs no scratch.
    pub(crate) fn new(launch: LaunchFn) -> Kernel {
        Kernel {
            launch,
            accepts: |_, _, _| true,
            workspace: |_, _, _, _| 0,
            int64: |_, _, _| false,
            widened: false,
        }
    }

    /// One that computes with the elements of its dtype, and does not only move them.
    pub(crate) fn computing(self) -> Kernel {
        Kernel { int64: |op, inputs, outputs| op.kernel_dtype(inputs, outputs).size() == 8, ..self }
    }

    /// One that reads only the layouts for which `accepts` says yes.
    pub(crate) fn accepting(self, accepts: fn(&Op, usize, &Layout) -> bool) -> Kernel {
        Kernel { accepts, ..self }
    }

    /// One that needs scratch memory.
    pub(crate) fn with_workspace(self, workspace: WorkspaceFn) -> Kernel {
        Kernel { workspace, ..self }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

/// The table of all kernels.
pub(crate) fn registry() -> Registry<Kernel> {
    let mut registry = Registry::default();
    unary::register(&mut registry);
    binary::register(&mut registry);
    select::register(&mut registry);
    cast::register(&mut registry);
    fused::register(&mut registry);
    copy::register(&mut registry);
    join::register(&mut registry);
    generate::register(&mut registry);
    index::register(&mut registry);
    distinct::register(&mut registry);
    put_rows::register(&mut registry);
    random::register(&mut registry);
    matmul::register(&mut registry);
    reduce::register(&mut registry);
    cumsum::register(&mut registry);
    rows::register(&mut registry);
    conv2d::register(&mut registry);
    pool2d::register(&mut registry);
    batch_norm::register(&mut registry);
    dropout::register(&mut registry);
    update::register(&mut registry);
    custom::register(&mut registry);
    // Last: for what the others have no kernel of their own.
    widen::register(&mut registry);
    registry
}

#[cfg(test)]
mod tests;
