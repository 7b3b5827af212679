//! Records of real programs, on the CPU, on simulated devices and, where there is one, on a GPU.

mod budgets;
mod findings;
mod front;
mod recording;
mod traces;

use situ_core::Result;
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, name_scope, random, with_device, with_runtime};
use situ_testkit::machines::cpu_and;
use situ_testkit::simulated::SimulatedGpu;

/// A CPU and a simulated GPU.
fn machine() -> Runtime {
    cpu_and(&[&SimulatedGpu::new()])
}

/// Two layers: a product on the GPU, and what follows on the CPU.
fn two_layers() -> Function {
    Function::new(|x| {
        let y = {
            let _layer = name_scope("dense");
            with_device("/GPU:0", || x.matmul(x))?
        };
        let _layer = name_scope("head");
        with_device("/CPU:0", || y.tanh()?.sum(&[]))
    })
    .named("two layers")
}

/// A square matrix on the CPU.
fn square(side: usize) -> Result<Tensor> {
    with_device("/CPU:0", || random::normal(&[side, side]))
}

/// Runs a test on a machine.
fn on<T>(runtime: &Runtime, body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_runtime(runtime, body)
}
