//! What a device is to the runtime.

use crate::{Block, Call, Capabilities, Check, KernelId, Lack, Region};
use situ_core::{Budget, DType, DeviceId, DeviceKind, Layout, Result, TensorType};
use situ_ir::Op;
use std::fmt::Debug;
use std::sync::Arc;

/// The sort of hardware, by which default costs and limits are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceClass {
    /// Cores of the host.
    Cpu,
    /// A GPU with memory of its own.
    DiscreteGpu,
    /// A GPU that shares the host's memory.
    IntegratedGpu,
    /// A GPU of a virtual machine.
    VirtualGpu,
    /// A driver that runs shaders on the host's cores: honest results, no honest speed.
    SoftwareGpu,
}

impl DeviceClass {
    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            DeviceClass::Cpu => "cpu",
            DeviceClass::DiscreteGpu => "discrete gpu",
            DeviceClass::IntegratedGpu => "integrated gpu",
            DeviceClass::VirtualGpu => "virtual gpu",
            DeviceClass::SoftwareGpu => "software gpu",
        }
    }
}

/// What is known of a device.
#[derive(Clone, Debug)]
pub struct Description {
    /// The type that its name has: CPU or GPU.
    pub kind: DeviceKind,
    /// What may be asked of it.
    pub capabilities: Capabilities,
    /// The sort of hardware.
    pub class: DeviceClass,
    /// The hardware's name.
    pub hardware: String,
    /// The driver and its version, for GPUs.
    pub driver: Option<String>,
    /// Its memory; `None` where nobody tells.
    pub memory: Option<usize>,
    /// The cores it may use, for CPUs.
    pub cores: Vec<usize>,
    /// Instruction sets or GPU features worth showing.
    pub features: Vec<String>,
    /// The dtypes for which it has any kernel.
    pub dtypes: Vec<DType>,
}

/// How a logical device is opened on a physical one.
#[derive(Clone, Debug)]
pub struct Open {
    /// The name it will have, for messages.
    pub id: DeviceId,
    /// The cores it owns alone; `None`: any, and work runs on the calling thread too. CPUs only.
    pub cores: Option<Vec<usize>>,
    /// Threads used within one op; `None`: one per core. CPUs only.
    pub threads: Option<usize>,
    /// The device's limit: staging memory is claimed on it. (Blocks are claimed by the runtime.)
    pub budget: Arc<Budget>,
}

/// A copy to the host that was asked for and is on its way.
pub trait PendingDownload: Send + Debug {
    /// Waits for the bytes and writes them to `into`, which is as long as was asked for.
    fn finish(self: Box<Self>, into: &mut [u8]) -> Result<()>;
}

/// A device that the machine has.
///
/// A device crate gives those it finds; a runtime is made of them, and opens logical devices on them. One may
/// stand before another:
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::{Budget, DeviceId, Result};
/// use situ_device::{Description, Device, Open, Physical};
/// use std::sync::Arc;
///
/// /// A device that owns up to a part of its memory.
/// #[derive(Debug)]
/// struct Modest(Arc<dyn Physical>, Description);
///
/// impl Modest {
///     fn new(inner: Arc<dyn Physical>, memory: usize) -> Modest {
///         let description = Description { memory: Some(memory), ..inner.description().clone() };
///         Modest(inner, description)
///     }
/// }
///
/// impl Physical for Modest {
///     fn description(&self) -> &Description {
///         &self.1
///     }
///     fn open(&self, how: &Open) -> Result<Arc<dyn Device>> {
///         self.0.open(how)
///     }
/// }
///
/// let cpu = Modest::new(situ_cpu::physical(), 1 << 30);
/// assert_eq!(cpu.description().memory, Some(1 << 30));
/// let how = Open { id: DeviceId::CPU0, cores: None, threads: Some(1), budget: Budget::new(None) };
/// assert!(cpu.open(&how)?.alignment().is_power_of_two());
/// # Ok(()) }
/// ```
pub trait Physical: Send + Sync + Debug {
    /// What is known of it.
    fn description(&self) -> &Description;

    /// How many of its cores may work at once, where the system allows fewer than there are.
    fn threads(&self) -> Option<usize> {
        None
    }

    /// Opens a logical device on it.
    fn open(&self, how: &Open) -> Result<Arc<dyn Device>>;
}

/// A logical device: memory, kernels and a queue.
///
/// What a runtime does with one for `x.square()`:
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::{Budget, DType, DeviceId, Layout, Shape, TensorType};
/// use situ_device::{Arg, Call, Open, Region};
/// use situ_ir::Op;
/// use situ_ir::ops::{Unary, UnaryKind};
///
/// let how = Open { id: DeviceId::CPU0, cores: None, threads: Some(1), budget: Budget::new(None) };
/// let device = situ_cpu::physical().open(&how)?;
///
/// // The kernel is chosen once for an op and its types; it may be launched any number of times.
/// let shape = Shape::new(&[4])?;
/// let (op, inputs) = (Op::from(Unary::new(UnaryKind::Square)), [TensorType::new(DType::F32, shape)]);
/// let kernel = device.kernel(&op, &inputs, &op.infer(&inputs)?).expect("every CPU can square");
///
/// // Tensors are regions of blocks.
/// let block = device.allocate(4096).expect("4 KiB are to be had");
/// let x = Region { block: &block, offset: 0, bytes: 16 };
/// let y = Region { offset: device.alignment(), ..x };
/// let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
/// device.upload(x, &bytes)?;
///
/// let layout = Layout::dense(shape);
/// let arg = |region| Arg { region, dtype: DType::F32, layout: &layout };
/// device.launch(&Call {
///     kernel,
///     op: &op,
///     inputs: &[arg(x)],
///     outputs: &[arg(y)],
///     workspace: None,
///     caller: None,
///     timing: None,
/// })?;
///
/// let mut result = [0; 16];
/// device.download(y, &mut result)?; // waits for what was launched
/// assert_eq!(result[12..], 16.0f32.to_ne_bytes());
/// # Ok(()) }
/// ```
pub trait Device: Send + Sync + Debug {
    /// What is known of it.
    fn description(&self) -> &Description;

    /// The kernel for this op on these types, or why there is none. Where there is one, a launch of it has
    /// room: no input, output or workspace is larger than [`Device::max_block`], nor than what the kernel can
    /// count.
    fn kernel(
        &self,
        op: &Op,
        inputs: &[TensorType],
        outputs: &[TensorType],
    ) -> std::result::Result<KernelId, Lack>;

    /// Whether the kernel reads input number `input` in this layout; if not, it is made dense first.
    fn accepts(&self, kernel: KernelId, op: &Op, input: usize, layout: &Layout) -> bool;

    /// Whether the kernel may write its result over input number `input`, where that is dense, has the
    /// result's shape and elements of the same size, and is read by nobody else.
    fn in_place(&self, kernel: KernelId, op: &Op, input: usize) -> bool {
        let _ = (kernel, op, input);
        false
    }

    /// Bytes of scratch memory the kernel wants for these types.
    fn workspace(&self, kernel: KernelId, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
        let _ = (kernel, op, inputs, outputs);
        0
    }

    /// A block of at least `bytes` bytes, or why there is none. Contents are undefined.
    fn allocate(&self, bytes: usize) -> std::result::Result<Block, String>;

    /// The largest block it can give; a tensor lies within one block.
    fn max_block(&self) -> usize;

    /// Regions start at multiples of this.
    fn alignment(&self) -> usize;

    /// Runs a kernel, or queues it behind what was launched before. A `Check` is returned where it may still
    /// turn out that a value was wrong.
    fn launch(&self, call: &Call<'_>) -> Result<Option<Arc<Check>>>;

    /// Runs `work` where launches on this device cost no hand-off between threads: on a thread of its own, if
    /// it has any. Returns when it is done; a panic in it is raised again here.
    fn within(&self, work: &(dyn Fn() + Sync)) {
        work();
    }

    /// Copies host bytes into a region, in launch order; `bytes` may be reused as soon as this returns.
    fn upload(&self, to: Region<'_>, bytes: &[u8]) -> Result<()>;

    /// Copies the first `into.len()` bytes of a region to the host, after all that was launched before;
    /// settles open checks.
    fn download(&self, from: Region<'_>, into: &mut [u8]) -> Result<()>;

    /// Asks for the first `bytes` bytes of a region as they are after all that was launched before, and for
    /// nothing that is launched later: whoever finishes the copy waits for no more than it needs. `None`
    /// where that can't be, for want of memory or because open checks must be settled first:
    /// [`Device::download`] can.
    fn begin_download(&self, from: Region<'_>, bytes: usize) -> Result<Option<Box<dyn PendingDownload>>> {
        let _ = (from, bytes);
        Ok(None)
    }

    /// Copies the first `bytes` bytes of a region of another logical device on the same physical one into a
    /// region of this one, without the host: after all that was launched on either before, and before all
    /// that is launched on either later. It may return before it is done. `false` where that can't be, and
    /// nothing was done: then the bytes go through the host.
    fn copy_from_peer(&self, to: Region<'_>, from: Region<'_>, bytes: usize) -> Result<bool> {
        let _ = (to, from, bytes);
        Ok(false)
    }

    /// Waits until all that was launched has run; settles open checks.
    fn sync(&self) -> Result<()>;

    /// Bytes held for staging copies now.
    fn staging(&self) -> usize {
        0
    }

    /// Gives cached staging memory back.
    fn trim(&self) {}

    /// An estimate of the seconds of work that is queued and not done.
    fn backlog(&self) -> f64 {
        0.0
    }

    /// Why the device is lost, once it is.
    fn lost(&self) -> Option<String> {
        None
    }
}
