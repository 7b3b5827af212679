//! Tensors as the runtime knows them: memory on a logical device, a layout over it, and why it is there.

use crate::logical::LogicalDevice;
use crate::pool::Allocation;
use crate::transfer;
use situ_core::{DType, DeviceId, DeviceKind, Error, Layout, Reason, Result, Shape, TensorType};
use situ_device::{Arg, Check, Region};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};

/// Launches whose outcome a tensor still depends on.
pub(crate) type Checks = SmallVec<[Arc<Check>; 1]>;

/// Memory on a device, given back on drop.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) device: Arc<LogicalDevice>,
    allocation: Allocation,
    /// Copies on other devices, kept for as long as this memory is a variable's value.
    replicas: OnceLock<Mutex<Vec<DeviceTensor>>>,
}

impl Storage {
    pub(crate) fn new(device: Arc<LogicalDevice>, allocation: Allocation) -> Storage {
        Storage { device, allocation, replicas: OnceLock::new() }
    }

    pub(crate) fn region(&self) -> Region<'_> {
        Region { block: &self.allocation.block, offset: self.allocation.offset, bytes: self.allocation.bytes }
    }

    fn replicas(&self) -> Option<std::sync::MutexGuard<'_, Vec<DeviceTensor>>> {
        self.replicas.get().map(|r| r.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
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

    /// The sizes.
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

    /// Its elements' bytes where they lie, row-major: of a dense tensor in the host's memory that depends on nothing queued.
    pub fn host_bytes(&self) -> Option<&[u8]> {
        if self.device().kind != DeviceKind::Cpu || !self.layout.is_dense() || !self.checks.is_empty() {
            return None;
        }
        let Region { block, offset, bytes } = self.storage.region();
        let start = self.layout.offset() * self.dtype.size();
        let region = Region { block, offset: offset + start, bytes: bytes - start };
        // SAFETY: a tensor's memory is written only by the launch that made it, which has ended on a CPU; the memory lives for as
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

    /// Whether it is its memory from the start, in order: what a copy made for a variable holds.
    fn is_whole(&self) -> bool {
        self.layout.is_dense() && self.layout.offset() == 0
    }

    /// A copy of it that was kept on that device.
    pub(crate) fn replica_on(&self, device: DeviceId) -> Option<DeviceTensor> {
        let kept = self.storage.replicas()?;
        let found =
            kept.iter().find(|r| self.is_whole() && r.device() == device && r.shape() == self.shape());
        found.cloned()
    }

    /// Keeps a copy for later, if this is a variable's value as a whole.
    pub(crate) fn keep_replica(&self, copy: &DeviceTensor) {
        if self.is_whole()
            && let Some(mut kept) = self.storage.replicas()
        {
            kept.push(copy.clone());
        }
    }

    /// From now on, copies made of this tensor for ops on other devices are kept: it is a variable's value.
    pub fn keep_replicas(&self) {
        self.storage.replicas.get_or_init(Mutex::default);
    }

    /// Lets go of the copies kept on other devices: the variable has another value now.
    pub fn forget_replicas(&self) {
        if let Some(mut kept) = self.storage.replicas() {
            kept.clear();
        }
    }

    /// Waits for the outcome of all that it depends on, and returns the error of what failed. It waits for nothing where nothing is
    /// open.
    pub fn settle(&self) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        transfer::await_checks(&self.checks, self.logical_device())?;
        transfer::verdict(&self.checks)
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
