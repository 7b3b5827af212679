//! A product of f64 matrices: GPUs have no f64 kernel here, so it runs on the CPU, and says so.

use situ::prelude::*;
use std::time::{Duration, Instant};

/// The product where the rule puts it, and the product asked for on the GPU by name.
pub(crate) fn program() -> Result<(Tensor, Tensor)> {
    let a = situ::tensor([[1.0f64, 2.0], [3.0, 4.0]])?;
    let b = situ::tensor([[5.0f64, 6.0], [7.0, 8.0]])?;
    let c = a.matmul(&b)?;
    let asked_for = situ::with_device("/GPU:0", || a.matmul(&b))?;
    Ok((c, asked_for))
}

/// The shortest of many reads.
fn time_of_a_read(tensor: &Tensor) -> Result<Duration> {
    let mut shortest = Duration::MAX;
    for _ in 0..1000 {
        let start = Instant::now();
        tensor.to_vec::<f64>()?;
        shortest = shortest.min(start.elapsed());
    }
    Ok(shortest)
}

pub(crate) fn main() -> Result<()> {
    println!("GPUs: {}", config::list_physical_devices("GPU")?.len());
    config::set_placement_rule(PlacementRule::PreferGpu)?;
    let (c, asked_for) = program()?;
    println!("unscoped:     on {}: {}", c.device(), c.reason());
    println!("under /GPU:0: on {}: {}", asked_for.device(), asked_for.reason());
    println!("a read of it takes {:?}", time_of_a_read(&c)?);
    Ok(())
}
