//! The loss of a Places365 classifier, without a word about devices.
//!
//! Under TensorFlow's rule (a GPU with a kernel comes first) it runs on the GPU if there is one. By default,
//! situ asks where it would be done soonest: 32 × 365 logits made on the CPU are not worth the trip.

use situ::prelude::*;

/// Logits and labels as a final dense layer and a data set would give them, and the loss.
pub(crate) fn program() -> Result<Tensor> {
    let logits = random::normal(&[32, 365])?; // batch of 32, 365 classes
    let labels = random::integers(&[32], 0, 365)?;

    let cross_entropy_loss = logits.sparse_softmax_cross_entropy(&labels)?;
    cross_entropy_loss.mean(&[])
}

pub(crate) fn main() -> Result<()> {
    config::set_placement_rule(PlacementRule::PreferGpu)?;
    let loss = program()?;
    println!("TensorFlow's rule: loss {loss} is on {}: {}", loss.device(), loss.reason());

    config::set_placement_rule(PlacementRule::Auto)?;
    let loss = program()?;
    println!("situ's own rule:   loss {loss} is on {}: {}", loss.device(), loss.reason());
    Ok(())
}
