//! One sum on the CPU, one on the GPU.

use situ::prelude::*;

/// The two sums.
pub(crate) fn program() -> Result<(Tensor, Tensor)> {
    let cpu_result = situ::with_device("/CPU:0", || {
        let cpu_op = situ::tensor([1, 2, 3])?;
        cpu_op.sum(&[])
    })?;
    let gpu_result = situ::with_device("/GPU:0", || {
        let gpu_op = situ::tensor([4, 5, 6])?;
        gpu_op.sum(&[])
    })?;
    Ok((cpu_result, gpu_result))
}

pub(crate) fn main() -> Result<()> {
    let (cpu_result, gpu_result) = program()?;
    println!("CPU result: {cpu_result} on {}: {}", cpu_result.device(), cpu_result.reason());
    println!("GPU result: {gpu_result} on {}: {}", gpu_result.device(), gpu_result.reason());
    Ok(())
}
