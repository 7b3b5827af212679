//! Where each step of a pass ran, and why.

use serde::Serialize;
use situ::{Result, Tensor};

/// One op of a pass.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) what: String,
    /// dtype and shape of its result.
    pub(crate) result: String,
    pub(crate) device: String,
    pub(crate) rule: &'static str,
    pub(crate) reason: String,
}

/// The steps of one pass, in order.
#[derive(Debug, Default)]
pub(crate) struct Trace(pub(crate) Vec<Step>);

impl Trace {
    /// Writes a step down and hands its tensor on.
    pub(crate) fn step(&mut self, what: &str, tensor: Result<Tensor>) -> Result<Tensor> {
        let tensor = tensor?;
        let reason = tensor.reason();
        self.0.push(Step {
            what: what.to_string(),
            result: tensor.tensor_type().to_string(),
            device: tensor.device().to_string(),
            rule: reason.rule(),
            reason: reason.to_string(),
        });
        Ok(tensor)
    }
}
