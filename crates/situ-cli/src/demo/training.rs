//! A classifier of 365 scenes, trained: wherever situ likes, then on the GPU, then on a GPU with too little
//! memory.
//!
//! 2048 features to 365 classes, softmax cross-entropy, as for Places365. The features are made on the spot:
//! a centre for each class and noise around it, as a network that has seen pictures would give them.

use super::Heard;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use situ::config::Cause;
use situ::data::Dataset;
use situ::function::Explanation;
use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::metrics::SparseAccuracy;
use situ::nn::optimizers::Sgd;
use situ::nn::{Dense, Fit, Progress, Sequential, Trainer};
use situ::place::Answer;
use situ::place::machine::Profile;
use situ::{DeviceId, LogicalConfig, PlacementRule, Reason, Tensor, config, random};
use std::time::Instant;

const FEATURES: usize = 2048;
const CLASSES: usize = 365;
/// Four examples of a class in each batch: enough that what the softmax makes is more than the gradient of
/// the weights.
const BATCH: usize = 4 * CLASSES;
const BATCHES: usize = 2;
/// One result of the softmax.
const SOFTMAX_BYTES: usize = BATCH * CLASSES * size_of::<f32>();

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Nothing: no scopes, and the costs decide.
    Auto,
    /// The layer on the GPU by a scope; what has no scope goes there first.
    Gpu,
    /// The same, with less memory than the softmax needs.
    LittleMemory { limit: usize },
}

impl Scenario {
    pub(crate) fn title(self) -> String {
        match self {
            Scenario::Auto => "A classifier of 365 scenes, trained; no scopes: situ decides".into(),
            Scenario::Gpu => {
                "The same, the layer under /GPU:0; the rest has no scope, and the GPU comes first".into()
            }
            Scenario::LittleMemory { limit } => format!(
                "The same once more, with {} of GPU memory: the softmax does not fit",
                situ::reason::bytes(limit)
            ),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Scenario::Auto => "no scope",
            Scenario::Gpu => "under /GPU:0",
            Scenario::LittleMemory { .. } => "with little memory",
        }
    }
}

/// The examples that every scenario trains on.
#[derive(Debug)]
pub(crate) struct Examples {
    features: Tensor,
    labels: Tensor,
}

impl Examples {
    pub(crate) fn new() -> situ::Result<Examples> {
        random::set_seed(365);
        situ::with_device("/CPU:0", || {
            let centres = random::normal(&[CLASSES, FEATURES])?;
            let labels = random::integers(&[BATCHES * BATCH], 0, CLASSES as i32)?;
            let noise = random::normal(&[BATCHES * BATCH, FEATURES])?;
            Ok(Examples { features: centres.gather(&labels, 0)?.add(&noise)?, labels })
        })
    }

    fn batches(&self) -> situ::Result<Dataset<(Tensor, Tensor)>> {
        let examples = Dataset::from_tensors((self.features.clone(), self.labels.clone()))?;
        Ok(examples.shuffle(BATCHES * BATCH, 1).batch(BATCH).prefetch(1))
    }

    /// One batch: what a step takes.
    fn batch(&self) -> situ::Result<[Tensor; 2]> {
        Ok([self.features.narrow(0, 0, BATCH)?, self.labels.narrow(0, 0, BATCH)?])
    }
}

/// What one scenario's training came to.
#[derive(Debug, Serialize)]
pub(crate) struct Training {
    pub(crate) plan: &'static str,
    /// The memory that the GPU was limited to.
    pub(crate) limit: Option<usize>,
    /// After each epoch.
    pub(crate) losses: Vec<f64>,
    pub(crate) accuracy: f64,
    /// Of one step, as measured over all of them.
    pub(crate) seconds: f64,
    /// What a step copies between devices.
    pub(crate) bytes_moved: u64,
    /// The ops of a step, in the order in which they run.
    pub(crate) ops: Vec<Op>,
    /// What the runtime said meanwhile.
    pub(crate) warnings: Vec<String>,
    /// A limit at which the softmax does not fit, where everything is on the GPU now.
    #[serde(skip)]
    pub(crate) too_little: Option<usize>,
}

/// One op of a step, with those that run in the same kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Op {
    pub(crate) name: String,
    pub(crate) device: String,
    pub(crate) rule: &'static str,
    pub(crate) reason: String,
}

/// Trains as a scenario says.
pub(crate) fn train(
    examples: &Examples,
    scenario: Scenario,
    epochs: usize,
    progress: Progress,
    heard: &Heard,
) -> Result<Training> {
    let limit = match scenario {
        Scenario::LittleMemory { limit } => Some(limit),
        Scenario::Auto | Scenario::Gpu => None,
    };
    if let Some(limit) = limit {
        config::set_logical_devices("GPU:0", &[LogicalConfig::limit(limit)])?;
    }
    config::set_placement_rule(match scenario {
        Scenario::Auto => PlacementRule::Auto,
        Scenario::Gpu | Scenario::LittleMemory { .. } => PlacementRule::PreferGpu,
    })?;
    let result = train_once(examples, scenario, limit, epochs, progress, heard);
    config::set_placement_rule(PlacementRule::Auto)?;
    if limit.is_some() {
        config::set_logical_devices("GPU:0", &[LogicalConfig::default()])?;
    }
    result
}

fn train_once(
    examples: &Examples,
    scenario: Scenario,
    limit: Option<usize>,
    epochs: usize,
    progress: Progress,
    heard: &Heard,
) -> Result<Training> {
    let mut trainer = trainer(scenario, examples)?;
    let held = match scenario {
        Scenario::Gpu => {
            config::trim()?;
            Some(config::memory_info("GPU:0")?.reserved)
        }
        Scenario::Auto | Scenario::LittleMemory { .. } => None,
    };
    let (start, before) = (Instant::now(), bytes_moved());
    let fit = Fit { epochs, progress, ..Fit::default() };
    let history = trainer.fit(&examples.batches()?, fit)?;
    let steps = (epochs * BATCHES) as u64;
    let (seconds, moved) = (start.elapsed().as_secs_f64() / steps as f64, bytes_moved() - before);
    let [features, labels] = examples.batch()?;
    let explanation = trainer.training()?.step_function().explain(&[&features, &labels])?;
    let losses = history.series("loss");
    ensure!(losses.iter().all(|loss| loss.is_finite()), "the loss is not a number: run `situ doctor`");
    Ok(Training {
        plan: scenario.name(),
        limit,
        accuracy: history.last("accuracy").context("an epoch has an accuracy")?,
        losses,
        seconds,
        bytes_moved: moved / steps,
        ops: ops(&explanation),
        warnings: heard.take(),
        too_little: held.and_then(|held| too_little(held, &explanation)),
    })
}

fn trainer(scenario: Scenario, examples: &Examples) -> Result<Trainer<Sequential>> {
    let layer = || Dense::new(CLASSES).named("classifier");
    let model = match scenario {
        Scenario::Auto => Sequential::new().add(layer()),
        Scenario::Gpu | Scenario::LittleMemory { .. } => {
            situ::with_device("/GPU:0", || Ok(Sequential::new().add(layer())))?
        }
    };
    let loss = SparseCategoricalCrossEntropy::from_logits();
    let mut trainer = model.compile(Sgd::new(1.0), loss, [SparseAccuracy::new()])?;
    trainer.build(examples.batch()?[0].shape())?;
    Ok(trainer)
}

/// Where the ops of a step would run on another machine: their names by their numbers, and the plan.
pub(crate) fn plan_for(examples: &Examples, profile: &Profile) -> Result<(Vec<(i64, String)>, Answer)> {
    let trainer = trainer(Scenario::Auto, examples)?;
    let step = trainer.training()?.step_function();
    let [features, labels] = examples.batch()?;
    let graph = step.cost_graph(&[&features, &labels])?;
    let answer = step.plan_for(profile, &[&features, &labels])?;
    // What has no cost does nothing: inputs, weights, constants.
    let works = graph.nodes.iter().filter(|node| node.cost.values().any(|seconds| *seconds > 0.0));
    Ok((works.map(|node| (node.id, node.name.clone())).collect(), answer))
}

/// What the weights hold and what a step takes beside them, less half a result of the softmax.
fn too_little(held: usize, step: &Explanation) -> Option<usize> {
    let gpu = step.memory.iter().find(|memory| memory.device == DeviceId::gpu(0))?;
    Some(held + gpu.reserved - SOFTMAX_BYTES / 2)
}

/// The ops of a step, those in one kernel as one. Views do nothing, and are left out.
fn ops(explanation: &Explanation) -> Vec<Op> {
    let mut ops: Vec<Op> = Vec::new();
    let mut last = None;
    for op in &explanation.ops {
        let place = &op.place;
        if matches!(place.reason, Reason::View) {
            continue;
        }
        match ops.last_mut() {
            Some(kernel) if last == Some((place.inside, place.node)) => {
                kernel.name = format!("{} + {}", kernel.name, place.full_name());
            }
            _ => ops.push(Op {
                name: place.full_name(),
                device: place.device.to_string(),
                rule: place.reason.rule().name(),
                reason: place.reason.to_string(),
            }),
        }
        last = Some((place.inside, place.node));
    }
    ops
}

/// Bytes between devices so far, whatever moved them.
fn bytes_moved() -> u64 {
    config::ledger().entries.iter().filter(|e| e.cause != Cause::Fallback).map(|e| e.bytes).sum()
}

/// How far the losses of the last epochs are apart, relative to the first.
pub(crate) fn disagreement(trainings: &[Training]) -> f64 {
    let last = |training: &Training| training.losses.last().copied().unwrap_or(f64::NAN);
    let Some(first) = trainings.first().map(last) else { return 0.0 };
    trainings.iter().map(|training| (last(training) - first).abs() / first.abs()).fold(0.0, f64::max)
}

/// Wherever it ran, it must be the same training, but for the order of additions.
pub(crate) fn check_agreement(trainings: &[Training]) -> Result<()> {
    let losses: Vec<String> = trainings.iter().map(|t| format!("{:?} {}", t.losses, t.plan)).collect();
    ensure!(disagreement(trainings) <= 1e-3, "the losses are {}: run `situ doctor`", losses.join(", "));
    Ok(())
}
