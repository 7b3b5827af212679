//! The same loss with its softmax put on the CPU by a scope, whatever comes first elsewhere.

use situ::prelude::*;

/// The logits, where the rule puts them, and the loss, which a scope puts on the CPU.
pub(crate) fn program() -> Result<(Tensor, Tensor)> {
    let logits = random::normal(&[32, 365])?;
    let labels = random::integers(&[32], 0, 365)?;

    let loss_cpu = situ::with_device("/CPU:0", || {
        let cross_entropy_loss_cpu = logits.sparse_softmax_cross_entropy(&labels)?;
        cross_entropy_loss_cpu.mean(&[])
    })?;
    Ok((logits, loss_cpu))
}

pub(crate) fn main() -> Result<()> {
    // TensorFlow's rule, so that the logits are on a GPU if there is one.
    config::set_placement_rule(PlacementRule::PreferGpu)?;
    let (logits, loss_cpu) = program()?;
    println!("logits on {}: {}", logits.device(), logits.reason());
    println!("loss_cpu on {}: {}", loss_cpu.device(), loss_cpu.reason());
    println!("copied for it:\n{}", config::ledger());
    Ok(())
}
