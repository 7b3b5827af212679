//! Conditions and loops in functions: what the same closures do eagerly, on any device.

mod constants;
mod draws;
mod many;
mod scopes;

use situ_core::Result;
use situ_runtime::Runtime;
use situ_tensor::{Tensor, tensor, with_device, with_runtime};
use situ_testkit::machines::{cpu, cpu_and, shared_cpu_and_gpu};
use situ_testkit::simulated::SimulatedGpu;

/// Runs a test with all that has no scope on the CPU, on a simulated GPU, and on the machine's GPU if it has
/// one.
fn everywhere(test: impl Fn() -> Result<()>) -> Result<()> {
    let on = |runtime: &Runtime, device: &str| with_runtime(runtime, || with_device(device, &test));
    on(&cpu(), "/CPU:0")?;
    on(&cpu_and(&[&SimulatedGpu::new()]), "/GPU:0")?;
    shared_cpu_and_gpu().map_or(Ok(()), |runtime| on(runtime, "/GPU:0"))
}

/// Whether the sum of a tensor is above zero.
fn is_up(x: &Tensor) -> Result<Tensor> {
    x.sum(&[])?.greater(&tensor(0.0f32)?)
}

/// The only one of a list.
fn only(mut list: Vec<Tensor>) -> Tensor {
    assert_eq!(list.len(), 1);
    list.remove(0)
}
