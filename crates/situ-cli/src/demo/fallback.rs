//! A product of f64 matrices asked for on the GPU, which has no kernel for it (or is not there).

use super::Heard;
use anyhow::{Result, bail};
use serde::Serialize;
use situ::{Policy, Tensor};

#[derive(Debug, Serialize)]
pub(crate) struct Fallback {
    /// Where it ran instead.
    pub(crate) device: String,
    pub(crate) reason: String,
    pub(crate) warnings: Vec<String>,
    /// The error of the same op where fallback is forbidden.
    pub(crate) forbidden: String,
}

pub(crate) fn run(heard: &Heard) -> Result<Fallback> {
    let a = situ::tensor([[1.0f64, 2.0], [3.0, 4.0]])?;
    let product = product_on_gpu(&a)?;
    let warnings = heard.take();
    let strict = situ::fallback_policy(Policy::Forbid);
    let forbidden = match product_on_gpu(&a) {
        Ok(product) => bail!("a fallback to {} in spite of the policy", product.device()),
        Err(error) => error.to_string(),
    };
    drop(strict);
    let (device, reason) = (product.device().to_string(), product.reason().to_string());
    Ok(Fallback { device, reason, warnings, forbidden })
}

fn product_on_gpu(a: &Tensor) -> situ::Result<Tensor> {
    situ::with_device("/GPU:0", || a.matmul(a))
}
