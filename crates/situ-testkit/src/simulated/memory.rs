//! Memory that only the simulated device can address: a block of the CPU's, hidden.

use super::queue::Queue;
use situ_core::{DType, Layout, Result};
use situ_device::{Arg, Block, Device, Region};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a simulated block owns. Queued work holds it too, so that memory given back early is never reused
/// under it.
#[derive(Debug)]
struct Hidden {
    block: Arc<Block>,
    home: Home,
}

/// Whose memory it is: the queue that writes it, and what runs that.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) queue: Arc<Mutex<Queue>>,
    pub(super) inner: Arc<dyn Device>,
    pub(super) delay: Duration,
}

impl Home {
    /// Runs what is queued.
    pub(super) fn drain(&self) -> Result<()> {
        let mut queue = self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        queue.run(&*self.inner, self.delay)
    }
}

/// A block of the CPU's without its address.
pub(super) fn hide(block: Block, home: Home) -> Block {
    Block::on_device(block.bytes(), Box::new(Hidden { block: Arc::new(block), home }))
}

/// Whose memory a region is; `None` for memory of no simulated device.
pub(super) fn home_of<'a>(region: Region<'a>) -> Option<&'a Home> {
    region.block.native::<Hidden>().map(|hidden| &hidden.home)
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
        Some(Held { block: hidden.block.clone(), offset: region.offset, bytes: region.bytes })
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
