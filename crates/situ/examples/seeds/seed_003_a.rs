//! Which GPUs there are, and memory that grows with need.

use situ::prelude::*;

/// How many physical and logical GPUs there are, once each grows with need.
pub(crate) fn program() -> Result<(usize, usize)> {
    let gpus = config::list_physical_devices("GPU")?;
    for gpu in &gpus {
        config::set_memory_growth(gpu, true)?;
    }
    let logical_gpus = config::list_logical_devices("GPU")?;
    Ok((gpus.len(), logical_gpus.len()))
}

pub(crate) fn main() -> Result<()> {
    match program() {
        Ok((0, _)) => println!("No GPUs detected. Proceeding with CPU only."),
        Ok((physical, logical)) => println!("{physical} physical GPUs, {logical} logical GPUs"),
        // Unlike TensorFlow's, this may be changed at any time at which no tensor is on the device.
        Err(error) => println!("{error}"),
    }
    Ok(())
}
