//! The runtime: the machine's devices, the configuration, and the doors to everything that runs.

use crate::config::{Config, Table, host_limit};
use crate::costs::calibrate::{self, Checked, Progress};
use crate::costs::store::{self, Calibration, Ignored};
use crate::journal::Journal;
use crate::ledger::LedgerReport;
use crate::logical::LogicalDevice;
use crate::notice::{Listener, Notices, Topic};
use crate::recording::{Entry, Options, Recording};
use crate::storage::DeviceTensor;
use crate::transfer;
use situ_core::{Budget, Caller, DeviceKind, Error, Request, Result, TensorType};
use situ_device::Physical;
use situ_ir::Op;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard};

/// What a configuration change replaces as a whole.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) table: Table,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) physical: Vec<Arc<dyn Physical>>,
    pub(crate) host: Arc<Budget>,
    pub(crate) host_memory: Option<usize>,
    /// Where calibrations of devices are kept, if they are used.
    pub(crate) calibrations: Option<PathBuf>,
    /// Held for reading while an op is dispatched, so that a change waits for no call and no call sees half a
    /// change.
    pub(crate) state: RwLock<State>,
    /// Counts changes of the configuration: what was compiled before one is compiled anew.
    pub(crate) epoch: AtomicU64,
    pub(crate) journal: Journal,
    pub(crate) notices: Notices,
}

impl Inner {
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }
}

/// A set of devices and what is configured about them. Cheap to clone; clones are the same runtime.
///
/// One process-wide runtime is made at first use ([`Runtime::global`]); tests build their own.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::{DType, DeviceKind, Shape};
/// use situ_runtime::{LogicalConfig, Request, Runtime, discover};
/// use situ_ir::ops::{Unary, UnaryKind};
/// use situ_core::Caller;
///
/// // A runtime of the machine's CPU alone, seen by programs as two devices.
/// let cpu = discover().into_iter().filter(|d| d.description().kind == DeviceKind::Cpu).collect();
/// let runtime = Runtime::builder().devices(cpu).build()?;
/// let whole = runtime.list_physical_devices(None)[0].id;
/// runtime.set_logical_devices(whole, &[LogicalConfig::limit(64 << 20), LogicalConfig::limit(64 << 20)])?;
/// assert_eq!(runtime.list_logical_devices(None).len(), 2);
///
/// // One eager op: what it is, what it reads, where it is wanted, and the line to name in errors.
/// let there = Request { spec: "/CPU:1".parse()?, ..Request::default() };
/// let bytes: Vec<u8> = [1.0f32, 2.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
/// let ty = situ_core::TensorType::new(DType::F32, Shape::new(&[2])?);
/// let x = runtime.constant(&bytes, ty, &there, Caller::here())?;
/// let y = runtime.eager(&Unary::new(UnaryKind::Square).into(), &[&x], &there, Caller::here())?;
/// assert_eq!(y.device().to_string(), "CPU:1");
/// let mut squared = [0; 8];
/// runtime.read(&y, &mut squared, Caller::here())?;
/// assert_eq!(squared[4..], 4.0f32.to_ne_bytes());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

static GLOBAL: OnceLock<Runtime> = OnceLock::new();

/// The runtime that a tensor belongs to. Dereferences to it.
#[derive(Debug)]
pub enum Owner {
    /// The one of the process, which lives as long as it does.
    Process(&'static Runtime),
    /// One that was built, kept alive by this.
    Other(Runtime),
}

impl std::ops::Deref for Owner {
    type Target = Runtime;
    fn deref(&self) -> &Runtime {
        match self {
            Owner::Process(runtime) => runtime,
            Owner::Other(runtime) => runtime,
        }
    }
}

/// Makes a runtime.
#[derive(Debug, Default)]
pub struct Builder {
    physical: Option<Vec<Arc<dyn Physical>>>,
    calibrations: Option<PathBuf>,
}

impl Builder {
    /// These physical devices instead of those found on the machine. The first CPU among them is `CPU:0`.
    pub fn devices(mut self, physical: Vec<Arc<dyn Physical>>) -> Builder {
        self.physical = Some(physical);
        self
    }

    /// Uses calibrations kept in this folder. The machine's own devices use those of `situ calibrate` without
    /// being told.
    pub fn calibrations(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.calibrations = Some(folder.into());
        self
    }

    /// The runtime; an error if there is no CPU among the devices.
    pub fn build(self) -> Result<Runtime> {
        let own = self.physical.is_none();
        let calibrations = self.calibrations.or_else(|| store::folder().filter(|_| own));
        let mut physical = self.physical.unwrap_or_else(discover);
        physical.sort_by_key(|p| p.description().kind);
        let Some(cpu) = physical.iter().find(|p| p.description().capabilities.host_addressable) else {
            return Err(Error::config("build a runtime", "there is no CPU among its devices", "add one"));
        };
        let host_memory = cpu.description().memory;
        let host = Budget::new(host_memory.map(host_limit));
        let config = Config::new(physical.len());
        let inner = Arc::new_cyclic(|weak| {
            let table = Table::build(&physical, &config, &host, host_memory, calibrations.as_deref(), weak);
            Inner {
                state: RwLock::new(State { config, table }),
                physical,
                host,
                host_memory,
                calibrations,
                epoch: AtomicU64::new(0),
                journal: Journal::default(),
                notices: Notices::default(),
            }
        });
        inner.say_ignored(&inner.state().table.devices);
        Ok(Runtime { inner })
    }
}

impl Inner {
    /// Says which calibrations of these devices are not used, each once.
    pub(crate) fn say_ignored(&self, devices: &[Arc<LogicalDevice>]) {
        let mut said: Vec<&Ignored> = Vec::new();
        for ignored in devices.iter().filter_map(|d| d.ignored_calibration()) {
            if !said.contains(&ignored) {
                self.notices.say(Topic::Costs, ignored.to_string());
                said.push(ignored);
            }
        }
    }
}

/// What the machine has, of the kinds that this build is [for](built_for): its CPU, then its GPUs.
///
/// Here, and not with who makes the runtime, because [`Runtime::global`] is made at the first op of a
/// program, in which nobody has registered anything.
pub fn discover() -> Vec<Arc<dyn Physical>> {
    std::iter::once(situ_cpu::physical()).chain(gpus()).collect()
}

#[cfg(feature = "gpu")]
fn gpus() -> Vec<Arc<dyn Physical>> {
    situ_gpu::physical()
}

#[cfg(not(feature = "gpu"))]
fn gpus() -> Vec<Arc<dyn Physical>> {
    Vec::new()
}

/// Whether this build has the crate that finds and drives devices of this kind. For GPUs that is the cargo
/// feature `gpu`.
pub fn built_for(kind: DeviceKind) -> bool {
    match kind {
        DeviceKind::Cpu => true,
        DeviceKind::Gpu => cfg!(feature = "gpu"),
    }
}

impl Runtime {
    /// The process's runtime, made at first use from what the machine has.
    pub fn global() -> &'static Runtime {
        GLOBAL.get_or_init(|| {
            Builder::default()
                .build()
                .unwrap_or_else(|_| unreachable!("the machine's devices begin with its CPU"))
        })
    }

    /// A runtime of one's own.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The runtime a tensor belongs to; an error if it was dropped.
    pub fn of(tensor: &DeviceTensor) -> Result<Owner> {
        let weak = &tensor.logical_device().runtime;
        // Nearly every tensor belongs to the process's runtime, which is never dropped: no counting then.
        if let Some(global) = GLOBAL.get()
            && std::ptr::eq(weak.as_ptr(), Arc::as_ptr(&global.inner))
        {
            return Ok(Owner::Process(global));
        }
        weak.upgrade().map(|inner| Owner::Other(Runtime { inner })).ok_or_else(|| {
            Error::config(
                format!("an op on a tensor of {}", tensor.device()),
                "its runtime was dropped",
                "keep the runtime for as long as its tensors are used",
            )
        })
    }

    /// Whether a tensor belongs to this runtime.
    pub fn owns(&self, tensor: &DeviceTensor) -> bool {
        std::ptr::eq(tensor.logical_device().runtime.as_ptr(), Arc::as_ptr(&self.inner))
    }

    /// Tells the program's listener, or standard error.
    pub fn say(&self, text: String) {
        self.inner.notices.say(crate::notice::Topic::Function, text);
    }

    /// Says something of a placement, where people asked to be told of them.
    pub fn log_placement(&self, text: impl FnOnce() -> String) {
        if self.inner.state().config.log_placement {
            self.inner.notices.say(crate::notice::Topic::Placement, text());
        }
    }

    /// Runs one op now, on the device that the request and the rules give.
    pub fn eager(
        &self,
        op: &Op,
        inputs: &[&DeviceTensor],
        request: &Request,
        caller: Caller,
    ) -> Result<DeviceTensor> {
        self.inner.eager(op, inputs, request, caller)
    }

    /// Runs one op now; gives all its outputs.
    pub fn eager_all(
        &self,
        op: &Op,
        inputs: &[&DeviceTensor],
        request: &Request,
        caller: Caller,
    ) -> Result<Vec<DeviceTensor>> {
        let mut more = crate::eager::More::new();
        let first = self.inner.eager_all(op, inputs, request, caller, &mut more)?;
        Ok(std::iter::once(first).chain(more).collect())
    }

    /// A tensor of host bytes, row-major.
    pub fn constant(
        &self,
        bytes: &[u8],
        ty: TensorType,
        request: &Request,
        caller: Caller,
    ) -> Result<DeviceTensor> {
        if bytes.len() != ty.bytes() {
            return Err(Error::argument(
                "constant",
                format!("{ty} has {} bytes, was given {}", ty.bytes(), bytes.len()),
                "give exactly the elements of the shape",
            ));
        }
        self.inner.constant(bytes, ty, request, caller)
    }

    /// A tensor on the CPU that the request names, or the first one, whose bytes `write` writes in place: all
    /// of them, for their contents are undefined before. A request for another kind of device is an error.
    pub fn written(
        &self,
        ty: TensorType,
        request: &Request,
        caller: Caller,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<DeviceTensor> {
        self.inner.written(ty, request, caller, write)
    }

    /// A copy on the device that the request names.
    pub fn to_device(
        &self,
        tensor: &DeviceTensor,
        request: &Request,
        caller: Caller,
    ) -> Result<DeviceTensor> {
        self.inner.to_device(tensor, request, caller)
    }

    /// The tensor, or a copy of it, on the device that the request gives to new data: fallback policies
    /// apply.
    pub fn place(&self, tensor: &DeviceTensor, request: &Request, caller: Caller) -> Result<DeviceTensor> {
        self.inner.place(tensor, request, caller)
    }

    /// Reads a tensor's elements, row-major; waits for queued work, and returns its errors.
    pub fn read(&self, tensor: &DeviceTensor, into: &mut [u8], caller: Caller) -> Result<()> {
        if into.len() != tensor.tensor_type().bytes() {
            return Err(Error::argument(
                "read",
                "the buffer has not the tensor's size",
                "size it by the tensor's type",
            ));
        }
        transfer::read(&self.inner.journal, tensor, into, caller)
    }

    /// The tensor itself if it is dense from the start of its memory, else a dense copy on its device.
    pub fn dense(&self, tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
        transfer::whole(tensor, caller)
    }

    /// [`dense`](Runtime::dense), for what is kept for long: a view of a small part of its memory is copied
    /// too, so that the rest of it can go.
    pub fn compact(&self, tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
        transfer::compact(tensor, caller)
    }

    /// Measures a device and uses what was found from now on; kept for later runs in the folder of
    /// calibrations, whose file is given back, where there is one. Never called by the runtime itself: it
    /// takes seconds.
    pub fn calibrate(
        &self,
        device: &LogicalDevice,
        progress: &mut Progress<'_>,
    ) -> Result<(Calibration, Option<PathBuf>)> {
        let (model, samples) = calibrate::calibrate(self, device, progress)?;
        let calibration = Calibration::new(device.profile(), model.clone(), samples);
        let folder = self.inner.calibrations.as_deref();
        let file = folder.map(|f| store::save(f, device.profile(), &calibration)).transpose()?;
        device.set_costs(model);
        // What was placed by the old costs is placed anew.
        self.inner.epoch.fetch_add(1, Ordering::AcqRel);
        Ok((calibration, file))
    }

    /// What a device's costs say of ops that they were not fitted to, beside what those take.
    pub fn check_costs(&self, device: &LogicalDevice, progress: &mut Progress<'_>) -> Result<Vec<Checked>> {
        calibrate::check(self, device, progress)
    }

    /// Begins to record what programs do on this runtime: calls of functions, eager ops, copies, memory.
    pub fn record(&self, options: Options) -> Recording {
        Recording::begin(self, options)
    }

    /// Adds what `what` gives to every recording; it is not asked where there is none.
    pub fn note(&self, what: impl FnOnce() -> Entry) {
        if self.inner.journal.recordings.is_on() {
            self.inner.journal.recordings.take(what());
        }
    }

    /// Every copy and fallback so far.
    pub fn ledger(&self) -> LedgerReport {
        self.inner.journal.ledger.report()
    }

    /// Empties the ledger.
    pub fn clear_ledger(&self) {
        self.inner.journal.ledger.clear();
    }

    /// Takes notices (fallbacks, copies, placements) over from standard error; `None` gives them back.
    pub fn set_listener(&self, listener: Option<Listener>) {
        self.inner.notices.set_listener(listener);
    }
}
