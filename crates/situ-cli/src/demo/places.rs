//! The head of a Places365 classifier: 2048 features to 365 classes, softmax cross-entropy, batch of 32.

use super::Heard;
use super::trace::{Step, Trace};
use anyhow::{Result, ensure};
use serde::Serialize;
use situ::config::Cause;
use situ::{Tensor, config, random};
use std::time::Instant;

const BATCH: usize = 32;
const FEATURES: usize = 2048;
const CLASSES: usize = 365;

/// Runs of a pass after the first, which compiles kernels; the shortest counts.
pub(crate) const ROUNDS: usize = 5;

/// What scopes the head runs under.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    /// Input work on the CPU, all else on the GPU.
    Gpu,
    /// The same, with the softmax put back on the CPU.
    SoftmaxOnCpu,
    /// No scopes.
    Auto,
}

impl Plan {
    pub(crate) const ALL: [Plan; 3] = [Plan::Gpu, Plan::SoftmaxOnCpu, Plan::Auto];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Plan::Gpu => "A Places365 head: input work under /CPU:0, the rest under /GPU:0",
            Plan::SoftmaxOnCpu => "The same, with a /CPU:0 scope around the softmax",
            Plan::Auto => "The same, with no scope at all: situ decides",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Plan::Gpu => "under /GPU:0",
            Plan::SoftmaxOnCpu => "softmax under /CPU:0",
            Plan::Auto => "no scope",
        }
    }
}

/// What the head works on, made on the CPU.
#[derive(Debug)]
pub(crate) struct Inputs {
    pixels: Tensor,
    labels: Tensor,
    weights: Tensor,
    bias: Tensor,
}

impl Inputs {
    pub(crate) fn new() -> situ::Result<Inputs> {
        random::set_seed(365);
        situ::with_device("/CPU:0", || {
            Ok(Inputs {
                pixels: random::uniform(&[BATCH, FEATURES], 0.0, 255.0)?,
                labels: random::integers(&[BATCH], 0, CLASSES as i32)?,
                weights: (&random::normal(&[FEATURES, CLASSES])? * 0.02)?,
                bias: random::normal(&[CLASSES])?,
            })
        })
    }
}

/// One plan, run.
#[derive(Debug, Serialize)]
pub(crate) struct Pass {
    pub(crate) plan: &'static str,
    pub(crate) steps: Vec<Step>,
    pub(crate) warnings: Vec<String>,
    pub(crate) loss: f32,
    /// Bytes copied between devices in one run, with reading the loss.
    pub(crate) bytes_moved: u64,
    /// The shortest of several runs.
    pub(crate) seconds: f64,
}

pub(crate) fn run(inputs: &Inputs, plan: Plan, heard: &Heard) -> Result<Pass> {
    let (weights, bias) = parameters(inputs, plan)?;
    let mut trace = Trace::default();
    let loss = head(inputs, &weights, &bias, plan, &mut trace)?.item::<f32>()?;
    let warnings = heard.take();
    let moved_before = bytes_moved();
    let mut shortest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        head(inputs, &weights, &bias, plan, &mut Trace::default())?.item::<f32>()?;
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    let bytes_moved = (bytes_moved() - moved_before) / ROUNDS as u64;
    Ok(Pass { plan: plan.name(), steps: trace.0, warnings, loss, bytes_moved, seconds: shortest })
}

/// Weights stay where they are used from run to run: on the GPU, if there is one and the plan asks for it.
fn parameters(inputs: &Inputs, plan: Plan) -> situ::Result<(Tensor, Tensor)> {
    let there = match plan {
        Plan::Auto => None,
        Plan::Gpu | Plan::SoftmaxOnCpu => {
            config::list_logical_devices("GPU:0")?.first().map(|d| d.id().to_string())
        }
    };
    match there {
        Some(gpu) => Ok((inputs.weights.to_device(&gpu)?, inputs.bias.to_device(&gpu)?)),
        None => Ok((inputs.weights.clone(), inputs.bias.clone())),
    }
}

/// The program itself; scopes are all that the plans differ in.
fn head(
    inputs: &Inputs,
    weights: &Tensor,
    bias: &Tensor,
    plan: Plan,
    trace: &mut Trace,
) -> situ::Result<Tensor> {
    let (outer, input_work, softmax) = match plan {
        Plan::Gpu => ("/GPU:0", "/CPU:0", "/GPU:0"),
        Plan::SoftmaxOnCpu => ("/GPU:0", "/CPU:0", "/CPU:0"),
        Plan::Auto => ("", "", ""),
    };
    let _outer = situ::device(outer)?;
    let features = situ::with_device(input_work, || trace.step("scale the input", &inputs.pixels / 255.0))?;
    let products = trace.step("dense: matmul", features.matmul(weights))?;
    let logits = trace.step("dense: bias", products.bias_add(bias))?;
    situ::with_device(softmax, || {
        let losses =
            trace.step("softmax cross-entropy", logits.sparse_softmax_cross_entropy(&inputs.labels))?;
        trace.step("mean", losses.mean(&[]))
    })
}

/// Bytes between devices so far, whatever moved them.
fn bytes_moved() -> u64 {
    config::ledger().entries.iter().filter(|e| e.cause != Cause::Fallback).map(|e| e.bytes).sum()
}

/// How far the losses are apart, relative to the first.
pub(crate) fn disagreement(passes: &[Pass]) -> f32 {
    let Some(first) = passes.first() else { return 0.0 };
    let difference = |pass: &Pass| (pass.loss - first.loss).abs() / first.loss.abs();
    passes.iter().map(difference).fold(0.0, f32::max)
}

/// Wherever it ran, it must be the same number, but for the order of additions.
pub(crate) fn check_agreement(passes: &[Pass]) -> Result<()> {
    let losses: Vec<String> = passes.iter().map(|pass| format!("{} {}", pass.loss, pass.plan)).collect();
    ensure!(disagreement(passes) <= 1e-4, "the loss is {}: run `situ doctor`", losses.join(", "));
    Ok(())
}
