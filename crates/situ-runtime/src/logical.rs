//! A logical device at work: the device behind the seam, opened at first use, and its memory pool.

use crate::costs::CostModel;
use crate::costs::store::{self, Ignored};
use crate::pool::{Allocation, MemoryInfo, Pool};
use crate::runtime::Inner;
use crate::storage::Storage;
use situ_core::budget::Holder;
use situ_core::error::Owner;
use situ_core::{Budget, DType, DeviceId, Error, Layout, Reason, Result, TensorType};
use situ_device::{Capabilities, Check, Description, Device, Open, Physical};
use situ_ir::Work;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use crate::storage::{Checks, DeviceTensor};

/// A device as programs see it.
#[derive(Debug)]
pub struct LogicalDevice {
    id: DeviceId,
    physical: Arc<dyn Physical>,
    physical_index: usize,
    how: Open,
    budget: Arc<Budget>,
    growth: bool,
    /// The hardware's description, with the cores and threads that this device uses of it.
    profile: Description,
    ignored: Option<Ignored>,
    costs: AtomicPtr<CostModel>,
    /// How much longer work takes than its model says, lately.
    slowness: AtomicU64,
    opened: OnceLock<Result<Opened>>,
    /// Launches whose outcome nobody has asked for yet: `sync` reports them, even if their results were
    /// dropped.
    watched: Mutex<Vec<Arc<Check>>>,
    /// Held by the call whose lane runs on the threads that the device owns.
    turn: Mutex<()>,
    pub(crate) runtime: Weak<Inner>,
}

/// Made at first use: opening a GPU takes tens of milliseconds that a program may never need.
#[derive(Debug)]
struct Opened {
    device: Arc<dyn Device>,
    pool: Pool,
}

impl LogicalDevice {
    pub(crate) fn new(
        physical: Arc<dyn Physical>,
        physical_index: usize,
        how: Open,
        budget: Arc<Budget>,
        growth: bool,
        calibrations: Option<&Path>,
        runtime: Weak<Inner>,
    ) -> LogicalDevice {
        let mut description = physical.description().clone();
        if let Some(cores) = &how.cores {
            description.cores = cores.clone();
        }
        if let Some(threads) = how.threads {
            description.cores.truncate(threads.max(1));
        }
        let found = calibrations.map_or(Ok(None), |folder| store::load(folder, &description));
        let (calibrated, ignored) = found.map_or_else(|ignored| (None, Some(ignored)), |found| (found, None));
        let model = calibrated.map_or_else(|| CostModel::built_in(&description), |found| found.model);
        let costs = AtomicPtr::new(Box::leak(Box::new(model)));
        LogicalDevice {
            id: how.id,
            physical,
            physical_index,
            how,
            budget,
            growth,
            profile: description,
            ignored,
            costs,
            slowness: AtomicU64::new(1f64.to_bits()),
            opened: OnceLock::new(),
            watched: Mutex::default(),
            turn: Mutex::new(()),
            runtime,
        }
    }

    /// Whether it is the same device, configured the same way.
    pub(crate) fn is_same_as(&self, other: &LogicalDevice) -> bool {
        self.id == other.id
            && Arc::ptr_eq(&self.physical, &other.physical)
            && self.how.cores == other.how.cores
            && self.how.threads == other.how.threads
            && self.budget.limit() == other.budget.limit()
            && self.growth == other.growth
    }

    /// The name that programs use: `GPU:0`.
    pub fn id(&self) -> DeviceId {
        self.id
    }

    /// What is known of the hardware.
    pub fn description(&self) -> &Description {
        self.physical.description()
    }

    /// What may be asked of it besides kernels.
    #[inline]
    pub fn capabilities(&self) -> Capabilities {
        self.profile.capabilities
    }

    /// Whether its memory is the host's.
    #[inline]
    pub(crate) fn is_host(&self) -> bool {
        self.profile.capabilities.host_addressable
    }

    /// Whether launches on it return before they have run.
    #[inline]
    pub(crate) fn is_queued(&self) -> bool {
        self.profile.capabilities.queued
    }

    /// Whether bytes go between it and the other without the host.
    pub(crate) fn is_peer_of(&self, other: &LogicalDevice) -> bool {
        self.profile.capabilities.peers && Arc::ptr_eq(&self.physical, &other.physical)
    }

    /// What is known of the part of the hardware that it uses: its cores and threads, where it does not use
    /// all. This is what a calibration is for.
    pub fn profile(&self) -> &Description {
        &self.profile
    }

    /// The calibration that was found for it and is not used, if there is one.
    pub fn ignored_calibration(&self) -> Option<&Ignored> {
        self.ignored.as_ref()
    }

    /// The number of the physical device it is on, within its kind.
    pub fn physical_index(&self) -> usize {
        self.physical_index
    }

    /// The cores it owns alone, if it does.
    pub fn cores(&self) -> Option<&[usize]> {
        self.how.cores.as_deref()
    }

    /// Its expected speeds.
    #[inline]
    pub fn costs(&self) -> &'static CostModel {
        // SAFETY: it points to a model that was leaked, so it is valid for ever and nobody writes to it.
        unsafe { &*self.costs.load(Acquire) }
    }

    /// Seconds that work is expected to take on it: by its model, times what it was found to be slower of
    /// late.
    #[inline]
    pub fn seconds(&self, work: &Work) -> f64 {
        self.costs().compute(work) * self.price()
    }

    /// How much slower than its model it answers: 1 where nobody else is using it.
    #[inline]
    pub fn price(&self) -> f64 {
        // A model is rarely better than a quarter: within that, it is taken at its word.
        match f64::from_bits(self.slowness.load(Relaxed)) {
            slowness if slowness > 1.25 => slowness,
            _ => 1.0,
        }
    }

    /// Takes note of work that took `measured` seconds where the model said `modelled`. One sample moves the
    /// price by an eighth of the way, so that a moment's noise does not, and it comes down again as it went
    /// up.
    pub(crate) fn observe(&self, measured: f64, modelled: f64) {
        if modelled <= 0.0 {
            return;
        }
        let ratio = (measured / modelled).clamp(0.5, 16.0);
        let slowness = f64::from_bits(self.slowness.load(Relaxed)) * 0.875 + ratio * 0.125;
        self.slowness.store(slowness.to_bits(), Relaxed);
    }

    /// Replaces its expected speeds.
    pub fn set_costs(&self, model: CostModel) {
        // Ops on other threads may be reading the old one, without a lock: it is small, replaced rarely, and
        // never freed.
        self.costs.store(Box::leak(Box::new(model)), Release);
    }

    fn opened(&self) -> Result<&Opened> {
        let opened = self.opened.get_or_init(|| {
            let opened = match self.physical.open(&self.how) {
                // What a device needs before its first tensor may be what other devices keep for later.
                Err(error) if self.budget.relieve() => self.physical.open(&self.how).map_err(|_| error),
                opened => opened,
            };
            let device = opened?;
            let pool = Pool::new(self.budget.clone(), device.alignment(), device.max_block(), self.growth);
            Ok(Opened { device, pool })
        });
        opened.as_ref().map_err(Clone::clone)
    }

    /// Whether it was used yet.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.opened.get(), Some(Ok(_)))
    }

    /// The device behind the seam.
    pub fn device(&self) -> Result<&dyn Device> {
        let device = &*self.opened()?.device;
        match device.lost() {
            None => Ok(device),
            Some(why) => Err(Error::DeviceLost { device: self.id, why }),
        }
    }

    /// Why it is lost, if it was opened and then lost.
    pub(crate) fn lost(&self) -> Option<String> {
        match self.opened.get() {
            Some(Ok(opened)) => opened.device.lost(),
            _ => None,
        }
    }

    /// Whether it was opened and then lost.
    pub(crate) fn is_lost(&self) -> bool {
        // Nothing to ask on the path of small calls of what can't be lost.
        self.profile.capabilities.can_be_lost && self.lost().is_some()
    }

    /// The device behind the seam, without asking whether it is lost: the driver's own answer says so.
    #[inline]
    pub(crate) fn target(&self) -> Result<&dyn Device> {
        Ok(&*self.opened()?.device)
    }

    /// The right to run a lane on the threads that the device owns.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The device behind the seam, to be kept; `None` where it can't be opened.
    pub(crate) fn shared(&self) -> Option<Arc<dyn Device>> {
        self.opened().ok().map(|opened| opened.device.clone())
    }

    /// Seconds of queued work; none before it is opened.
    pub(crate) fn backlog(&self) -> f64 {
        match self.opened.get() {
            Some(Ok(opened)) => opened.device.backlog(),
            _ => 0.0,
        }
    }

    /// Memory for `owner`.
    pub(crate) fn allocate(&self, bytes: usize, owner: &'static str) -> Result<Allocation> {
        let opened = self.opened()?;
        let allocate = || opened.pool.allocate(&*opened.device, bytes, owner);
        let allocated = match allocate() {
            // The host may be full of what other devices keep for later.
            Err(error) if error.is_out_of_memory() && self.budget.make_room(bytes) => allocate(),
            allocated => allocated,
        };
        allocated.map_err(|error| match error {
            Error::OutOfMemory(mut report) => {
                report.device = Some(self.id);
                Error::OutOfMemory(report)
            }
            other => other,
        })
    }

    /// A dense tensor of undefined contents.
    pub(crate) fn tensor(
        self: &Arc<Self>,
        ty: TensorType,
        owner: &'static str,
        reason: Reason,
    ) -> Result<DeviceTensor> {
        let allocation = self.allocate(ty.bytes(), owner)?;
        Ok(DeviceTensor {
            storage: Arc::new(Storage::new(self.clone(), allocation)),
            layout: Layout::dense(ty.shape),
            dtype: ty.dtype,
            reason,
            checks: Checks::new(),
        })
    }

    pub(crate) fn free(&self, allocation: &Allocation) {
        if let Some(Ok(opened)) = self.opened.get() {
            opened.pool.free(allocation);
        }
    }

    /// How many bytes are missing to hold allocations of these sizes beside what is live; 0 where they fit.
    pub(crate) fn missing(&self, sizes: &[usize]) -> usize {
        match self.opened.get() {
            Some(Ok(opened)) => opened.pool.missing(&*opened.device, sizes),
            _ => sizes.iter().sum::<usize>().saturating_sub(self.budget.limit().unwrap_or(usize::MAX)),
        }
    }

    /// Its memory figures.
    pub fn memory_info(&self) -> MemoryInfo {
        match self.opened.get() {
            Some(Ok(opened)) => opened.pool.info(),
            _ => MemoryInfo { limit: self.budget.limit(), ..MemoryInfo::default() },
        }
    }

    /// Bytes in use and bytes held from the system.
    pub(crate) fn held(&self) -> (usize, usize) {
        match self.opened.get() {
            Some(Ok(opened)) => opened.pool.held(),
            _ => (0, 0),
        }
    }

    /// What is live on it, by owner.
    pub fn live(&self) -> Vec<Owner> {
        match self.opened.get() {
            Some(Ok(opened)) => opened.pool.owners(),
            _ => Vec::new(),
        }
    }

    fn watched(&self) -> MutexGuard<'_, Vec<Arc<Check>>> {
        self.watched.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Remembers a launch that may still fail, until the next sync.
    pub(crate) fn watch(&self, check: &Arc<Check>) {
        let mut watched = self.watched();
        // Before it grows: what came out well is of no interest any more.
        if watched.len() >= 256 && watched.len() == watched.capacity() {
            watched.retain(|c| !matches!(c.outcome(), Some(None)));
        }
        watched.push(check.clone());
    }

    /// Waits for queued work, and returns the error of a launch that failed since the last sync, if the
    /// program was not told of it by a read.
    pub fn sync(&self) -> Result<()> {
        let Some(Ok(_)) = self.opened.get() else { return Ok(()) };
        let watched = std::mem::take(&mut *self.watched());
        self.device()?.sync()?;
        let mut failed = watched.iter().filter_map(|c| Some((c, c.outcome()??)));
        match failed.find(|(c, _)| !c.report()) {
            Some((_, data)) => Err(Error::Data(Box::new(data.clone()))),
            None => Ok(()),
        }
    }

    /// Gives memory that holds nothing back to the system.
    pub fn trim(&self) -> Result<()> {
        if let Some(Ok(opened)) = self.opened.get() {
            // Memory may go back only after the work that uses it. What went wrong in it is not what was
            // asked.
            self.device()?.sync()?;
            opened.pool.trim();
            opened.device.trim();
        }
        Ok(())
    }

    /// For tests of what a program does when memory runs out: lets `n` more allocations succeed, then none;
    /// `None` ends that.
    pub fn fail_allocations_after(&self, n: Option<usize>) -> Result<()> {
        self.opened()?.pool.fail_after(n);
        Ok(())
    }

    /// The dtypes for which it has kernels.
    pub fn dtypes(&self) -> &[DType] {
        &self.physical.description().dtypes
    }
}

impl Holder for LogicalDevice {
    fn let_go(&self) {
        if let Some(Ok(opened)) = self.opened.get() {
            opened.pool.give_way();
            opened.device.trim();
        }
    }
}

/// Seconds to copy so many bytes from one device to another: within their hardware, or over the link of each
/// end that is not the host.
pub(crate) fn copy_seconds(from: &LogicalDevice, to: &LogicalDevice, bytes: usize) -> f64 {
    match (from.is_host(), to.is_host()) {
        (true, _) => to.costs().upload.seconds(bytes),
        (_, true) => from.costs().download.seconds(bytes),
        _ if to.is_peer_of(from) => to.costs().peer().seconds(bytes),
        _ => from.costs().download.seconds(bytes) + to.costs().upload.seconds(bytes),
    }
}
