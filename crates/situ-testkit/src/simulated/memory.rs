//! Memory that only the simulated device can address: a block of the CPU's, hidden.

use situ_core::{DType, Layout};
use situ_device::{Arg, Block, Region};
use std::sync::Arc;

/// What a simulated block owns. Queued work holds it too, so that memory given back early is never reused under it.
#[derive(Debug)]
struct Hidden(Arc<Block>);

/// A block of the CPU's without its address.
pub(super) fn hide(block: Block) -> Block {
    Block::on_device(block.bytes(), Box::new(Hidden(Arc::new(block))))
}

/// Part of a hidden block, held.
#[derive(Clone, Debug)]
pub(super) struct Held {
    block: Arc<Block>,
    offset: usize,
    bytes: usize,
}

impl Held {
    /// The hidden memory of a region; `None` for memory of another device.
    pub(super) fn of(region: Region<'_>) -> Option<Held> {
        let hidden = region.block.native::<Hidden>()?;
        Some(Held { block: hidden.0.clone(), offset: region.offset, bytes: region.bytes })
    }

    /// As the CPU's kernels see it.
    pub(super) fn region(&self) -> Region<'_> {
        Region { block: &self.block, offset: self.offset, bytes: self.bytes }
    }
}

/// An argument of a launch, held until it runs.
#[derive(Clone, Debug)]
pub(super) struct HeldArg {
    memory: Held,
    dtype: DType,
    layout: Layout,
}

impl HeldArg {
    pub(super) fn of(arg: &Arg<'_>) -> Option<HeldArg> {
        Some(HeldArg { memory: Held::of(arg.region)?, dtype: arg.dtype, layout: *arg.layout })
    }

    pub(super) fn arg(&self) -> Arg<'_> {
        Arg { region: self.memory.region(), dtype: self.dtype, layout: &self.layout }
    }
}
