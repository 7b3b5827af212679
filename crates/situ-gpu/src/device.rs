//! The GPU behind the device seam.

use crate::adapters::{Adapter, AdapterKind, find_adapters};
use crate::clock::Stopwatch;
use crate::context::Context;
use crate::fault::Fault;
use crate::kernels::{self, Kernel, Run, block_of};
use crate::memory::{ALIGNMENT, Held};
use crate::stream::{FIXED_BYTES, PendingRead, Stream};
use situ_core::{DeviceId, DeviceKind, Error, Layout, Result, TensorType};
use situ_device::{
    Arg, Block, Call, Capabilities, Check, Description, Device, DeviceClass, KernelId, Lack, Open,
    PendingDownload, Physical, Region, Registry, Sizes,
};
use situ_ir::Op;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// The same kernels on every GPU; they are compiled when first used.
static KERNELS: LazyLock<Registry<Kernel>> = LazyLock::new(kernels::registry);

/// Every GPU of this machine, best first; empty where there is none.
pub fn physical() -> Vec<Arc<dyn Physical>> {
    find_adapters()
        .into_iter()
        .map(|adapter| Arc::new(PhysicalGpu::new(adapter)) as Arc<dyn Physical>)
        .collect()
}

/// A GPU that the machine has.
#[derive(Debug)]
pub(crate) struct PhysicalGpu {
    adapter: Adapter,
    description: Description,
    /// What its logical devices share: one device of the driver's, so that they see each other's memory.
    shared: Mutex<Weak<Context>>,
}

impl PhysicalGpu {
    pub(crate) fn new(adapter: Adapter) -> PhysicalGpu {
        let class = match adapter.kind {
            AdapterKind::Discrete => DeviceClass::DiscreteGpu,
            AdapterKind::Integrated => DeviceClass::IntegratedGpu,
            AdapterKind::Virtual => DeviceClass::VirtualGpu,
            AdapterKind::Software => DeviceClass::SoftwareGpu,
        };
        let mut features = vec![format!("tensors up to {} MiB", adapter.max_binding_bytes >> 20)];
        if adapter.features.contains(wgpu::Features::SHADER_INT64) {
            features.push("64-bit integers".into());
        }
        let description = Description {
            kind: DeviceKind::Gpu,
            capabilities: Capabilities { peers: true, ..Capabilities::QUEUE },
            class,
            hardware: adapter.name.clone(),
            driver: Some(adapter.driver.clone()),
            memory: adapter.memory.map(|bytes| bytes as usize),
            cores: Vec::new(),
            features,
            dtypes: KERNELS.dtypes(),
        };
        PhysicalGpu { adapter, description, shared: Mutex::default() }
    }

    /// The driver's device that logical ones share while any of them lives; another one once it is lost.
    fn context(&self) -> std::result::Result<Arc<Context>, Fault> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = shared.upgrade().filter(|context| context.check().is_ok()) {
            return Ok(context);
        }
        let context = Arc::new(Context::open(&self.adapter)?);
        *shared = Arc::downgrade(&context);
        Ok(context)
    }
}

impl Physical for PhysicalGpu {
    fn description(&self) -> &Description {
        &self.description
    }

    fn open(&self, how: &Open) -> Result<Arc<dyn Device>> {
        let asked = || format!("opening {} on {}", how.id, self.adapter.name);
        let context = self.context().map_err(|fault| match fault {
            Fault::Lost(why) => Error::DeviceLost { device: how.id, why },
            other => Error::config(asked(), other.to_string(), "check the driver with `situ doctor`"),
        })?;
        let stream = Stream::new(context, &how.budget).map_err(|fault| match fault {
            Fault::OutOfMemory { .. } => Error::config(
                asked(),
                format!("its memory limit leaves less than the {FIXED_BYTES} bytes that its queue needs"),
                "raise the limit",
            ),
            other => Error::config(asked(), other.to_string(), "check the driver with `situ doctor`"),
        })?;
        Ok(Arc::new(Gpu { id: how.id, description: self.description.clone(), stream: Arc::new(stream) }))
    }
}

/// A logical GPU.
struct Gpu {
    id: DeviceId,
    description: Description,
    stream: Arc<Stream>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("id", &self.id).field("hardware", &self.description.hardware).finish()
    }
}

fn error_of(device: DeviceId, op: &'static str, fault: Fault) -> Error {
    match fault {
        Fault::Lost(why) => Error::DeviceLost { device, why },
        other => Error::Kernel { op, device, why: other.to_string() },
    }
}

/// Bytes that are on their way to the host.
struct GpuDownload {
    read: PendingRead,
    id: DeviceId,
}

impl fmt::Debug for GpuDownload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuDownload").field("from", &self.id).finish_non_exhaustive()
    }
}

impl PendingDownload for GpuDownload {
    fn finish(self: Box<Self>, into: &mut [u8]) -> Result<()> {
        self.read.finish(into).map_err(|fault| error_of(self.id, "download", fault))
    }
}

impl Gpu {
    fn error(&self, op: &'static str, fault: Fault) -> Error {
        error_of(self.id, op, fault)
    }

    fn kernel_of(&self, id: KernelId, op: &Op) -> Result<&'static Kernel> {
        KERNELS.get(id).ok_or_else(|| Error::Kernel {
            op: op.name(),
            device: self.id,
            why: format!("there is no kernel number {}", id.0),
        })
    }

    fn queue(&self, call: &Call<'_>, watch: Option<&Arc<Stopwatch>>) -> Result<Option<Arc<Check>>> {
        let op = call.op;
        let kernel = self.kernel_of(call.kernel, op)?;
        let empty = call.outputs.iter().all(|out| out.layout.shape().elements() == 0);
        // Indices are looked at even where there is nothing to move.
        if empty && !op.looks_at_data_for_nothing() {
            return Ok(None);
        }
        let types = |args: &[Arg<'_>]| args.iter().map(Arg::tensor_type).collect::<Vec<_>>();
        let work = op.work(&types(call.inputs), &types(call.outputs));
        let work = (work.flops + work.bytes / 4.0) as u64;
        let run = Run { stream: &self.stream, call, work, watch };
        let launched =
            if kernel.widened { kernels::launch_widened(kernel, &run) } else { (kernel.launch)(&run) };
        launched.map_err(|fault| self.error(op.name(), fault))
    }
}

impl Device for Gpu {
    fn description(&self) -> &Description {
        &self.description
    }

    fn kernel(
        &self,
        op: &Op,
        inputs: &[TensorType],
        outputs: &[TensorType],
    ) -> std::result::Result<KernelId, Lack> {
        let kernel = KERNELS.find(op, inputs, outputs)?;
        let context = self.stream.context();
        if !context.int64 && KERNELS.get(kernel).is_some_and(|k| (k.int64)(op, inputs, outputs)) {
            return Err(Lack::Kernel);
        }
        let borders = context.borders();
        let sizes = Sizes { bytes: borders.block, elements: borders.elements };
        sizes.hold(inputs, outputs, self.workspace(kernel, op, inputs, outputs))?;
        Ok(kernel)
    }

    fn accepts(&self, kernel: KernelId, op: &Op, input: usize, layout: &Layout) -> bool {
        KERNELS.get(kernel).is_none_or(|k| (k.accepts)(op, input, layout))
    }

    fn workspace(&self, kernel: KernelId, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
        let borders = self.stream.context().borders();
        KERNELS.get(kernel).map_or(0, |k| kernels::workspace(k, borders, op, inputs, outputs))
    }

    fn allocate(&self, bytes: usize) -> std::result::Result<Block, String> {
        let block = self.stream.context().allocate(bytes as u64).map_err(|fault| fault.to_string())?;
        let size = block.bytes() as usize;
        Ok(Block::on_device(size, Box::new(Held { block, stream: self.stream.clone() })))
    }

    fn max_block(&self) -> usize {
        self.stream.context().max_block_bytes() as usize
    }

    fn alignment(&self) -> usize {
        ALIGNMENT as usize
    }

    fn launch(&self, call: &Call<'_>) -> Result<Option<Arc<Check>>> {
        let watch = call.timing.and_then(|timing| self.stream.stopwatch(timing));
        let launched = self.queue(call, watch.as_ref());
        if let (Some(watch), Err(_)) = (&watch, &launched) {
            watch.spoil();
        }
        launched
    }

    fn upload(&self, to: Region<'_>, bytes: &[u8]) -> Result<()> {
        block_of(to, &self.stream)
            .and_then(|block| self.stream.upload(block, to.offset as u64, bytes))
            .map_err(|fault| self.error("upload", fault))
    }

    fn download(&self, from: Region<'_>, into: &mut [u8]) -> Result<()> {
        block_of(from, &self.stream)
            .and_then(|block| self.stream.read(block, from.offset as u64, into))
            .map_err(|fault| self.error("download", fault))
    }

    fn begin_download(&self, from: Region<'_>, bytes: usize) -> Result<Option<Box<dyn PendingDownload>>> {
        let read = block_of(from, &self.stream)
            .and_then(|block| self.stream.begin_read(block, from.offset as u64, bytes as u64))
            .map_err(|fault| self.error("download", fault))?;
        Ok(read.map(|read| Box::new(GpuDownload { read, id: self.id }) as Box<dyn PendingDownload>))
    }

    fn copy_from_peer(&self, to: Region<'_>, from: Region<'_>, bytes: usize) -> Result<bool> {
        let Some(source) = from.block.native::<Held>() else { return Ok(false) };
        // A device of the driver's sees its own buffers alone, and copies whole words.
        let is_seen = Arc::ptr_eq(source.stream.context(), self.stream.context());
        if !is_seen || !from.offset.is_multiple_of(4) {
            return Ok(false);
        }
        let at = from.offset as u64;
        block_of(to, &self.stream)
            .and_then(|block| {
                let to = (block, to.offset as u64);
                self.stream.copy_from(&source.stream, (&source.block, at), to, bytes as u64)
            })
            .map_err(|fault| self.error("copy", fault))?;
        Ok(true)
    }

    fn sync(&self) -> Result<()> {
        self.stream.sync().map_err(|fault| self.error("sync", fault))
    }

    fn staging(&self) -> usize {
        self.stream.own_bytes() as usize
    }

    fn trim(&self) {
        self.stream.trim();
    }

    fn backlog(&self) -> f64 {
        self.stream.backlog()
    }

    fn lost(&self) -> Option<String> {
        self.stream.context().loss()
    }
}
