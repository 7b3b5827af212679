//! At most 64 MiB of the GPU for this process, and what happens to tensors that do not fit.
//!
//! Where there is no GPU the CPU is limited instead: a limit is situ's own to keep, on any device.

use situ::prelude::*;

const MIB: usize = 1 << 20;

/// What came of it.
pub(crate) struct Outcome {
    /// The device that was limited.
    pub(crate) limited: DeviceId,
    /// Bytes it held at most.
    pub(crate) peak: usize,
    /// What a tensor beyond the limit gave.
    pub(crate) refused: Error,
}

pub(crate) fn program() -> Result<Outcome> {
    let gpus = config::list_physical_devices("GPU")?;
    let limited = gpus.first().map_or(DeviceId::CPU0, |gpu| gpu.id);
    // Allowed whenever no tensor is on the device, not only before its first use.
    config::set_logical_devices(limited, &[LogicalConfig::limit(64 * MIB)])?;

    // Memory is taken as it is needed: this holds 16 MiB.
    let here = limited.to_string();
    let kept = situ::with_device(here.as_str(), || situ::ones(&[4, MIB], DType::F32))?;
    // 16 MiB more would fit, 64 MiB more do not. An op under a scope fails, with a report of who holds what;
    // one without a scope would go to the next device instead.
    let refused = match situ::with_device(here.as_str(), || situ::ones(&[16, MIB], DType::F32)) {
        Ok(tensor) => unreachable!("{} bytes under a limit of 64 MiB", tensor.tensor_type().bytes()),
        Err(error) => error,
    };
    // What was there before is as it was.
    assert_eq!(kept.sum(&[])?.item::<f32>()?, (4 * MIB) as f32);
    Ok(Outcome { limited, peak: config::memory_info(limited)?.peak, refused })
}

pub(crate) fn main() -> Result<()> {
    let Outcome { limited, peak, refused } = program()?;
    println!("{refused}");
    println!("{limited} held {peak} bytes at most");
    Ok(())
}
