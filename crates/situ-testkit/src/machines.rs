//! Runtimes to test on.

use crate::simulated::SimulatedGpu;
use situ_core::{DeviceId, DeviceKind};
use situ_device::Physical;
use situ_runtime::{Runtime, built_for, discover};
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

/// A runtime of the machine's CPU and its first real GPU; `None`, said in so many words, where there is none
/// to be had.
pub fn cpu_and_gpu() -> Option<Runtime> {
    let Some(gpu) = discover().into_iter().find(|d| d.description().kind == DeviceKind::Gpu) else {
        say_skipped();
        return None;
    };
    Some(runtime(vec![situ_cpu::physical(), gpu]))
}

/// What a test says that finds no GPU to run on.
pub fn say_skipped() {
    let why = if built_for(DeviceKind::Gpu) { "no GPU adapter" } else { "built without the feature `gpu`" };
    println!("skipped: {why}");
}

/// [`cpu_and_gpu`], made once for all tests of a process: compiling shaders is what costs.
pub fn shared_cpu_and_gpu() -> Option<&'static Runtime> {
    static SHARED: OnceLock<Option<Runtime>> = OnceLock::new();
    let shared = SHARED.get_or_init(cpu_and_gpu).as_ref();
    if shared.is_none() {
        say_skipped();
    }
    shared
}

/// `CPU:0`.
pub const CPU: DeviceId = DeviceId::cpu(0);
/// `GPU:0`.
pub const GPU: DeviceId = DeviceId::gpu(0);
