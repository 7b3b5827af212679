//! One launch of one kernel, with everything it needs written out.

use crate::{Region, Timing};
use situ_core::{Caller, DType, Layout, Location, TensorType};
use situ_ir::Op;
use std::sync::Arc;

/// A kernel of a device, as the device numbers them. Chosen once, then launched without any lookup.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelId(pub u32);

/// A tensor as a kernel sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    /// Its memory. The layout's offset counts from the region's start.
    pub region: Region<'a>,
    /// Its element type.
    pub dtype: DType,
    /// How its elements lie.
    pub layout: &'a Layout,
}

impl Arg<'_> {
    /// Its dtype and shape.
    pub fn tensor_type(&self) -> TensorType {
        TensorType { dtype: self.dtype, shape: *self.layout.shape() }
    }
}

/// A launch. Outputs are dense, in regions of their own or, where the device said that the kernel can, in
/// that of an input; inputs are laid out as the kernel accepts them.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The kernel that was chosen.
    pub kernel: KernelId,
    /// The op, with its attributes.
    pub op: &'a Op,
    /// What it reads.
    pub inputs: &'a [Arg<'a>],
    /// What it writes.
    pub outputs: &'a [Arg<'a>],
    /// Scratch memory, of the size that the device asked for; `None` where it asked for none.
    pub workspace: Option<Region<'a>>,
    /// Who called the op.
    pub caller: Option<Caller>,
    /// Where to say how long it took, if somebody wants to know.
    pub timing: Option<&'a Arc<Timing>>,
}

impl Call<'_> {
    /// Where the program called the op, for what outlives the launch. To be asked on the thread that
    /// launches.
    pub fn location(&self) -> Option<Location> {
        self.caller.map(Caller::location)
    }
}
