//! Runtimes to test on.

use crate::simulated::SimulatedGpu;
use situ_core::DeviceId;
use situ_device::Physical;
use situ_runtime::Runtime;
use std::sync::{Arc, OnceLock};

/// A runtime of these devices.
pub fn runtime(devices: Vec<Arc<dyn Physical>>) -> Runtime {
    Runtime::builder().devices(devices).build().expect("a runtime of test devices")
}

/// A runtime of the machine's CPU alone.
pub fn cpu() -> Runtime {
    runtime(vec![situ_cpu::physical()])
}

/// A runtime of the machine's CPU and simulated GPUs.
pub fn cpu_and(gpus: &[&SimulatedGpu]) -> Runtime {
    let mut devices = vec![situ_cpu::physical()];
    devices.extend(gpus.iter().map(|g| g.physical()));
    runtime(devices)
}

/// A runtime of the machine's CPU and its first real GPU; `None`, said in so many words, where there is no adapter.
pub fn cpu_and_gpu() -> Option<Runtime> {
    let mut gpus = situ_gpu::physical();
    if gpus.is_empty() {
        println!("skipped: no GPU adapter");
        return None;
    }
    gpus.truncate(1);
    let mut devices = vec![situ_cpu::physical()];
    devices.extend(gpus);
    Some(runtime(devices))
}

/// [`cpu_and_gpu`], made once for all tests of a process: compiling shaders is what costs.
pub fn shared_cpu_and_gpu() -> Option<&'static Runtime> {
    static SHARED: OnceLock<Option<Runtime>> = OnceLock::new();
    let shared = SHARED.get_or_init(cpu_and_gpu).as_ref();
    if shared.is_none() {
        println!("skipped: no GPU adapter");
    }
    shared
}

/// `CPU:0`.
pub const CPU: DeviceId = DeviceId::cpu(0);
/// `GPU:0`.
pub const GPU: DeviceId = DeviceId::gpu(0);
