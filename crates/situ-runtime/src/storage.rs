//! Tensors as the runtime knows them: memory on a logical device, a layout over it, and why it is there.

use crate::logical::LogicalDevice;
use crate::pool::Allocation;
use crate::transfer;
use situ_core::{DType, DeviceId, Error, Layout, Reason, Result, Shape, TensorType};
use situ_device::{Arg, Check, Region};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

/// Launches whose outcome a tensor still depends on.
pub(crate) type Checks = SmallVec<[Arc<Check>; 1]>;

/// Memory on a device, given back on drop.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) device: Arc<LogicalDevice>,
    allocation: Allocation,
    copies: OnceLock<Mutex<Copies>>,
}

/// Copies of what is in a memory, which does not change.
#[derive(Debug, Default)]
struct Copies {
    /// Whether the memory is a variable's value: copies for ops on other devices are kept, for as long as it
    /// is.
    kept: Option<Vec<DeviceTensor>>,
    /// Copies that functions hold, for others to hold the same.
    shared: Vec<SharedCopy>,
}

/// A copy of a view that functions hold; it goes with the last of them.
#[derive(Debug)]
struct SharedCopy {
    /// The view that it is a copy of.
    of: (Layout, DType),
    storage: Weak<Storage>,
    reason: Reason,
    checks: Checks,
}

impl Storage {
    pub(crate) fn new(device: Arc<LogicalDevice>, allocation: Allocation) -> Storage {
        Storage { device, allocation, copies: OnceLock::new() }
    }

    pub(crate) fn region(&self) -> Region<'_> {
        Region { block: &self.allocation.block, offset: self.allocation.offset, bytes: self.allocation.bytes }
    }

    /// Its copies, if it ever had to know of one.
    fn copies(&self) -> Option<MutexGuard<'_, Copies>> {
        self.copies.get().map(|c| c.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    fn copies_from_now(&self) -> MutexGuard<'_, Copies> {
        let copies = self.copies.get_or_init(Mutex::default);
        copies.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        self.device.free(&self.allocation);
    }
}

/// A concrete tensor on a logical device. Cheap to clone; views share their memory.
#[derive(Clone, Debug)]
pub struct DeviceTensor {
    pub(crate) storage: Arc<Storage>,
    pub(crate) layout: Layout,
    pub(crate) dtype: DType,
    pub(crate) reason: Reason,
    pub(crate) checks: Checks,
}

impl DeviceTensor {
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes of its dimensions.
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// How the elements lie in memory.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// dtype and shape together.
    pub fn tensor_type(&self) -> TensorType {
        TensorType { dtype: self.dtype, shape: *self.layout.shape() }
    }

    /// Where its bytes are.
    pub fn device(&self) -> DeviceId {
        self.storage.device.id()
    }

    /// Why they are there.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Whether two tensors share their memory.
    pub fn shares_memory_with(&self, other: &DeviceTensor) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }

    /// Whether two tensors are the same view of the same memory.
    pub fn is_same_view(&self, other: &DeviceTensor) -> bool {
        self.shares_memory_with(other) && self.layout == other.layout && self.dtype == other.dtype
    }

    /// The device it lives on.
    pub fn logical_device(&self) -> &Arc<LogicalDevice> {
        &self.storage.device
    }

    /// Its elements' bytes where they lie, row-major: of a dense tensor in the host's memory that depends on
    /// nothing queued.
    pub fn host_bytes(&self) -> Option<&[u8]> {
        if !self.storage.device.is_host() || !self.layout.is_dense() || !self.checks.is_empty() {
            return None;
        }
        let Region { block, offset, bytes } = self.storage.region();
        let start = self.layout.offset() * self.dtype.size();
        let region = Region { block, offset: offset + start, bytes: bytes - start };
        // SAFETY: a tensor's memory is written by the launch that made it, which has ended on a CPU, and by
        // others only where nobody else holds it, as whoever has these bytes does; the memory lives for as
        // long as the tensor.
        unsafe { transfer::host_bytes(&region, self.tensor_type().bytes()) }
    }

    pub(crate) fn arg(&self) -> Arg<'_> {
        Arg { region: self.storage.region(), dtype: self.dtype, layout: &self.layout }
    }

    /// The same memory under another layout.
    pub(crate) fn view(&self, layout: Layout) -> DeviceTensor {
        DeviceTensor { layout, reason: Reason::View, ..self.clone() }
    }

    /// The `sizes` elements of each axis from `starts` on, as a view; `None` where there are no such
    /// elements.
    pub fn part(&self, starts: &[usize], sizes: &[usize]) -> Option<DeviceTensor> {
        let shape = self.layout.shape();
        let ends = starts.iter().zip(sizes).map(|(start, size)| start.checked_add(*size));
        let is_part = starts.len() == shape.rank()
            && sizes.len() == shape.rank()
            && ends.zip(shape.iter()).all(|(end, size)| end.is_some_and(|end| end <= *size));
        let part = Shape::new(sizes).ok().filter(|_| is_part)?;
        Some(self.view(self.layout.slice(starts, &[1; situ_core::MAX_RANK], part)))
    }

    /// Whether it is its memory from the start, in order: what a copy made for a variable holds.
    pub(crate) fn is_whole(&self) -> bool {
        self.layout.is_dense() && self.layout.offset() == 0
    }

    /// A copy of it that was kept on that device.
    pub(crate) fn replica_on(&self, device: DeviceId) -> Option<DeviceTensor> {
        let copies = self.storage.copies()?;
        let found = copies
            .kept
            .iter()
            .flatten()
            .find(|r| self.is_whole() && r.device() == device && r.shape() == self.shape());
        found.cloned()
    }

    /// Keeps a copy for later, if this is a variable's value as a whole.
    pub(crate) fn keep_replica(&self, copy: &DeviceTensor) {
        if self.is_whole()
            && let Some(mut copies) = self.storage.copies()
            && let Some(kept) = &mut copies.kept
        {
            kept.push(copy.clone());
        }
    }

    /// From now on, copies made of this tensor for ops on other devices are kept: it is a variable's value.
    pub fn keep_replicas(&self) {
        let mut fresh = false;
        self.storage.copies.get_or_init(|| {
            fresh = true;
            Mutex::new(Copies { kept: Some(Vec::new()), shared: Vec::new() })
        });
        if !fresh {
            self.storage.copies_from_now().kept.get_or_insert_default();
        }
    }

    /// Lets go of the copies kept on other devices: the variable has another value now.
    pub fn forget_replicas(&self) {
        if let Some(mut copies) = self.storage.copies()
            && let Some(kept) = &mut copies.kept
        {
            let gone = std::mem::take(kept);
            drop(copies);
            drop(gone);
        }
    }

    /// Whether nobody else holds its memory, all of which it is: then it may be written over.
    pub fn is_alone(&mut self) -> bool {
        self.is_whole() && Arc::get_mut(&mut self.storage).is_some()
    }

    /// Lets go of all copies of it: it is written over.
    pub(crate) fn forget_copies(&mut self) {
        let Some(storage) = Arc::get_mut(&mut self.storage) else { return };
        if let Some(copies) = storage.copies.get_mut() {
            let copies = copies.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
            copies.shared.clear();
            copies.kept.iter_mut().for_each(Vec::clear);
        }
    }

    /// Waits for the outcome of all that it depends on, and returns the error of what failed. It waits for
    /// nothing where nothing is open.
    pub fn settle(&self) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        transfer::await_checks(&self.checks, self.logical_device())?;
        transfer::verdict(&self.checks)
    }

    /// A dense copy of it on that device that a function holds.
    pub(crate) fn lent_on(&self, device: DeviceId) -> Option<DeviceTensor> {
        let copies = self.storage.copies()?;
        copies.shared.iter().filter(|shared| shared.of == (self.layout, self.dtype)).find_map(|shared| {
            let storage = shared.storage.upgrade().filter(|storage| storage.device.id() == device)?;
            Some(DeviceTensor {
                storage,
                layout: Layout::dense(*self.shape()),
                dtype: self.dtype,
                reason: shared.reason,
                checks: shared.checks.clone(),
            })
        })
    }

    /// Lets other functions find a dense copy of it, for as long as one holds it.
    pub(crate) fn lend(&self, copy: &DeviceTensor) {
        if !copy.is_whole() || copy.shape() != self.shape() {
            return;
        }
        let mut copies = self.storage.copies_from_now();
        copies.shared.retain(|shared| shared.storage.strong_count() > 0);
        copies.shared.push(SharedCopy {
            of: (self.layout, self.dtype),
            storage: Arc::downgrade(&copy.storage),
            reason: copy.reason,
            checks: copy.checks.clone(),
        });
    }

    /// The error of a launch this tensor depends on, once it is known.
    pub(crate) fn poisoned(&self) -> Result<()> {
        for check in &self.checks {
            if let Some(Some(data)) = check.outcome() {
                check.report();
                return Err(Error::Data(Box::new(data.clone())));
            }
        }
        Ok(())
    }
}
