//! An allocation that fails is an error like any other: caught, with a report, and nothing else is lost.

use situ::prelude::*;

const MIB: usize = 1 << 20;

/// What the program found out.
pub(crate) struct Outcome {
    /// The error of the tensor that fits nowhere.
    pub(crate) too_large: Error,
    /// A tensor made before it, which is still good.
    pub(crate) survivor: Tensor,
    /// A tensor that the GPU has no room for, and the CPU has.
    pub(crate) elsewhere: Tensor,
}

pub(crate) fn program() -> Result<Outcome> {
    // The limits are situ's own to keep, so this needs no machine with little memory: 256 MiB for the CPU, 64
    // MiB for each GPU.
    config::set_logical_devices("CPU:0", &[LogicalConfig::limit(256 * MIB)])?;
    for gpu in config::list_physical_devices("GPU")? {
        config::set_logical_devices(&gpu, &[LogicalConfig::limit(64 * MIB)])?;
    }
    config::set_placement_rule(PlacementRule::PreferGpu)?;
    let survivor = random::normal(&[1024, 1024])?;

    // 4 GiB fit no device.
    let too_large = match random::normal(&[1024, 1024, 1024]) {
        Ok(tensor) => unreachable!("{} bytes under a limit of 256 MiB", tensor.tensor_type().bytes()),
        Err(error) => error,
    };
    // 80 MiB do not fit the GPU; an op without a scope then goes to the next device.
    let elsewhere = random::normal(&[20, 1024, 1024])?;
    Ok(Outcome { too_large, survivor, elsewhere })
}

pub(crate) fn main() -> Result<()> {
    let Outcome { too_large, survivor, elsewhere } = program()?;
    println!("Tensor allocation failed: {too_large}");
    println!("still good: {} on {}, mean {}", survivor.shape(), survivor.device(), survivor.mean(&[])?);
    println!("{} is on {}: {}", elsewhere.shape(), elsewhere.device(), elsewhere.reason());
    Ok(())
}
