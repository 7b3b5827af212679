//! An allocation beyond a device's memory limit: refused, reported, and nothing else lost.

use anyhow::{Result, bail};
use serde::Serialize;
use situ::{DType, Error, LogicalConfig, config};

const LIMIT: usize = 64 << 20;

#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    pub(crate) device: String,
    pub(crate) limit: usize,
    pub(crate) in_use: usize,
    pub(crate) requested: usize,
    pub(crate) error: String,
    /// The sum of a tensor of ones that was there before, read afterwards.
    pub(crate) survivor_sum: f32,
}

/// Limits the GPU, or the CPU where there is none: no tensor of the demo is alive by now, so it may be
/// changed.
pub(crate) fn run() -> Result<Refusal> {
    let gpus = config::list_physical_devices("GPU")?;
    let name = gpus.first().map_or("CPU:0".to_string(), |gpu| gpu.id.to_string());
    config::set_logical_devices(&name, &[LogicalConfig::limit(LIMIT)])?;

    let _there = situ::device(&name)?;
    let survivor = situ::ones(&[4, 1024, 1024], DType::F32)?;
    let Error::OutOfMemory(report) = (match situ::zeros(&[24, 1024, 1024], DType::F32) {
        Ok(_) => bail!("96 MiB were allocated under a limit of 64 MiB"),
        Err(error) => error,
    }) else {
        bail!("the allocation failed for another reason than memory");
    };
    Ok(Refusal {
        device: name,
        limit: LIMIT,
        in_use: report.in_use,
        requested: report.requested,
        error: report.to_string(),
        survivor_sum: survivor.sum(&[])?.item()?,
    })
}
