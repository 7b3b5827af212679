//! The same step on a machine that is not here: what situ would do with a GPU.

use super::training::{self, Examples};
use anyhow::{Context, Result};
use serde::Serialize;
use situ::place::machine::{Profile, shipped};

/// A computer with one GPU; its profile says where its figures are from.
const MACHINE: &str = "rtx4090";

/// A plan for it.
#[derive(Debug, Serialize)]
pub(crate) struct Elsewhere {
    pub(crate) machine: String,
    /// Whether its figures were measured.
    pub(crate) measured: bool,
    /// Seconds of a step, as planned.
    pub(crate) seconds: f64,
    /// The op, its device, and why.
    pub(crate) ops: Vec<[String; 3]>,
}

pub(crate) fn run(examples: &Examples) -> Result<Elsewhere> {
    let profile = Profile::from_toml(shipped(MACHINE).context(MACHINE)?)?;
    let (names, answer) = training::plan_for(examples, &profile)?;
    let ops = answer.nodes.into_iter().filter_map(|node| {
        let name = names.iter().find(|(id, _)| *id == node.id)?.1.clone();
        Some([name, node.device, node.reason.text])
    });
    Ok(Elsewhere {
        machine: profile.name,
        measured: profile.measured,
        seconds: answer.makespan,
        ops: ops.collect(),
    })
}
