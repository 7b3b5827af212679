//! The CPU behind the seam.

use crate::cache;
use crate::exec::Exec;
use crate::kernels::{self, CpuKernel};
use crate::level::Level;
use crate::limits::Limits;
use crate::memory;
use crate::threads::Threads;
use situ_core::{DeviceId, DeviceKind, Error, Layout, Result, TensorType};
use situ_device::{
    Block, Call, Capabilities, Check, Description, Device, DeviceClass, KernelId, Lack, Open, Physical,
    Region, Registry,
};
use situ_ir::Op;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The machine's CPU, at the best level of instructions it has.
pub fn physical() -> Arc<dyn Physical> {
    physical_at(Level::detect())
}

/// The machine's CPU restricted to a level of instructions: for tests, and for comparing levels. A level that
/// the processor does not have is lowered to the best it has.
pub fn physical_at(level: Level) -> Arc<dyn Physical> {
    let level = level.min(Level::detect());
    let cores = cores();
    let groups = Limits::read(Path::new("/"));
    let threads = groups.cpus.filter(|&cpus| cpus < cores.len());
    let mut features = vec![level.name().to_string()];
    features.push(format!("{} MiB last-level cache", cache::last_level_bytes() >> 20));
    Arc::new(CpuPhysical {
        level,
        threads,
        description: Description {
            kind: DeviceKind::Cpu,
            capabilities: Capabilities::HOST,
            class: DeviceClass::Cpu,
            hardware: model_name(),
            driver: None,
            memory: memory_bytes(&groups),
            cores,
            features,
            dtypes: registry().dtypes(),
        },
    })
}

/// The kernels, made once.
fn registry() -> &'static Registry<CpuKernel> {
    static REGISTRY: OnceLock<Registry<CpuKernel>> = OnceLock::new();
    REGISTRY.get_or_init(kernels::registry)
}

#[derive(Debug)]
struct CpuPhysical {
    level: Level,
    /// How many threads its control groups have time for, where that is fewer than it has cores.
    threads: Option<usize>,
    description: Description,
}

impl Physical for CpuPhysical {
    fn description(&self) -> &Description {
        &self.description
    }

    fn threads(&self) -> Option<usize> {
        self.threads
    }

    fn open(&self, how: &Open) -> Result<Arc<dyn Device>> {
        let available = self.threads.unwrap_or(self.description.cores.len()).max(1);
        let threads = match (&how.cores, how.threads) {
            (Some(cores), wanted) => {
                let used = &cores[..wanted.unwrap_or(cores.len()).clamp(1, cores.len())];
                Threads::new(used.len(), Some(used))
            }
            (None, wanted) => Threads::new(wanted.unwrap_or(available), None),
        };
        let threads = threads.map_err(|error| {
            Error::config(
                format!("open {}", how.id),
                format!("its threads could not be started: {error}"),
                "use fewer",
            )
        })?;
        let mut description = self.description.clone();
        if let Some(cores) = &how.cores {
            description.cores = cores.clone();
        }
        Ok(Arc::new(CpuDevice {
            id: how.id,
            level: self.level,
            description,
            threads,
            streaming_bytes: cache::last_level_bytes(),
            registry: registry(),
        }))
    }
}

/// A logical CPU: its threads and the kernels.
#[derive(Debug)]
struct CpuDevice {
    id: DeviceId,
    level: Level,
    description: Description,
    threads: Threads,
    streaming_bytes: usize,
    registry: &'static Registry<CpuKernel>,
}

impl CpuDevice {
    fn get(&self, kernel: KernelId) -> Option<&CpuKernel> {
        self.registry.get(kernel)
    }
}

impl Device for CpuDevice {
    fn description(&self) -> &Description {
        &self.description
    }

    fn kernel(
        &self,
        op: &Op,
        inputs: &[TensorType],
        outputs: &[TensorType],
    ) -> std::result::Result<KernelId, Lack> {
        self.registry.find(op, inputs, outputs)
    }

    fn accepts(&self, kernel: KernelId, op: &Op, input: usize, layout: &Layout) -> bool {
        layout.is_dense() || self.get(kernel).is_some_and(|k| !k.in_f32 && (k.accepts)(op, input, layout))
    }

    fn in_place(&self, kernel: KernelId, _: &Op, _: usize) -> bool {
        self.get(kernel).is_some_and(|k| k.in_place)
    }

    fn workspace(&self, kernel: KernelId, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
        self.get(kernel).map_or(0, |k| match k.in_f32 {
            true => kernels::half::workspace(k, op, inputs, outputs),
            false => (k.workspace)(op, inputs, outputs),
        })
    }

    fn allocate(&self, bytes: usize) -> std::result::Result<Block, String> {
        memory::allocate(bytes)
    }

    fn max_block(&self) -> usize {
        isize::MAX as usize
    }

    fn alignment(&self) -> usize {
        64
    }

    fn launch(&self, call: &Call<'_>) -> Result<Option<Arc<Check>>> {
        let fail = |why: String| Error::Kernel { op: call.op.name(), device: self.id, why };
        let kernel =
            self.get(call.kernel).ok_or_else(|| fail(format!("there is no kernel {:?}", call.kernel)))?;
        let exec = Exec { level: self.level, threads: &self.threads, streaming_bytes: self.streaming_bytes };
        let clock = call.timing.map(|timing| (timing, Instant::now()));
        // A panic in a kernel is our fault; it must not take the program down with it.
        match catch_unwind(AssertUnwindSafe(|| match kernel.in_f32 {
            true => kernels::half::run(kernel, &exec, call),
            false => (kernel.run)(&exec, call),
        })) {
            Ok(done) => {
                if let Some((timing, start)) = clock {
                    timing.set(start.elapsed().as_secs_f64());
                }
                done.map(|()| None)
            }
            Err(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
                Err(fail(format!("the kernel panicked: {text}")))
            }
        }
    }

    fn within(&self, work: &(dyn Fn() + Sync)) {
        self.threads.lead(work);
    }

    fn upload(&self, to: Region<'_>, bytes: &[u8]) -> Result<()> {
        let start = self.host(&to, bytes.len())?;
        // SAFETY: the region is at least as long, and no one else writes to it while the runtime uploads to
        // it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        Ok(())
    }

    fn download(&self, from: Region<'_>, into: &mut [u8]) -> Result<()> {
        let start = self.host(&from, into.len())?;
        // SAFETY: the region is at least as long, and what wrote to it has ended: work here is done when
        // launch returns.
        unsafe { std::ptr::copy_nonoverlapping(start, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

impl CpuDevice {
    fn host(&self, region: &Region<'_>, bytes: usize) -> Result<*mut u8> {
        match region.host() {
            Some(start) if region.bytes >= bytes => Ok(start.as_ptr()),
            _ => Err(Error::Kernel {
                op: "copy",
                device: self.id,
                why: format!("{bytes} bytes do not fit a region of {} on the host", region.bytes),
            }),
        }
    }
}

/// The cores this process may run on.
fn cores() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: an all-zero set is valid, and the call writes at most its size.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0).then_some(set)
        };
        if let Some(set) = set {
            // SAFETY: the index is below the size of the set.
            let has = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
            let list: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(has).collect();
            if !list.is_empty() {
                return list;
            }
        }
    }
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

fn model_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|l| l.starts_with("model name"));
    let name = line.and_then(|l| l.split_once(':')).map(|(_, name)| name.trim().to_string());
    name.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

/// Memory of the machine, or of the control groups that hold the process if that is less.
fn memory_bytes(groups: &Limits) -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|l| l.starts_with("MemTotal:"))?;
    let total = line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10;
    Some(total.min(groups.memory.unwrap_or(usize::MAX)))
}
