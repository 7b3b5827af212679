//! `situ demo`: what situ does, in less than a minute, on any machine.
//!
//! A Places365-sized classifier trained under three placements, where each of its ops ran and why, a dtype
//! that the GPU has no kernel for, an allocation beyond a memory limit, and the ledger of all of it. Nothing
//! shown is written down beforehand: every device, reason, byte and time is what the runtime says while it
//! runs.

mod elsewhere;
mod fallback;
mod limit;
mod training;

use crate::args;
use crate::devices::DeviceList;
use crate::screen::Screen;
use anyhow::Result;
use comfy_table::Cell;
use elsewhere::Elsewhere;
use fallback::Fallback;
use limit::Refusal;
use serde::Serialize;
use situ::config;
use situ::nn::Progress;
use situ::reason::{bytes, seconds};
use std::sync::{Arc, Mutex};
use training::{Examples, Op, Scenario, Training};

/// What the demo shows, as JSON has it.
#[derive(Debug, Serialize)]
struct Demo {
    devices: DeviceList,
    trainings: Vec<Training>,
    /// Where there is no GPU, the plan for a machine that has one.
    elsewhere: Option<Elsewhere>,
    fallback: Fallback,
    refusal: Refusal,
    ledger: Vec<Line>,
}

/// One line of the ledger.
#[derive(Debug, Serialize)]
struct Line {
    cause: &'static str,
    from: String,
    to: String,
    count: u64,
    bytes: u64,
    seconds: f64,
    op: &'static str,
    line: String,
}

/// What the runtime said to a person since it was last asked.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    /// Listens in place of standard error.
    fn listen() -> Heard {
        let heard = Heard::default();
        let kept = heard.clone();
        config::set_listener(move |notice| {
            kept.0.lock().unwrap_or_else(|p| p.into_inner()).push(notice.text.clone());
        });
        heard
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|p| p.into_inner()))
    }
}

/// The parts of the demo, numbered; nothing where JSON is wanted.
struct Stage<'a> {
    screen: &'a mut Screen,
    silent: bool,
    part: usize,
}

impl Stage<'_> {
    fn part(&mut self, title: &str) -> Result<()> {
        self.part += 1;
        let title = format!("{}. {title}", self.part);
        self.show(|screen| screen.heading(&title))
    }

    fn show(&mut self, show: impl FnOnce(&mut Screen) -> Result<()>) -> Result<()> {
        if self.silent { Ok(()) } else { show(self.screen) }
    }
}

pub(crate) fn run(screen: &mut Screen, args: &args::Demo) -> Result<()> {
    let json = args.output.json;
    let heard = Heard::listen();
    let mut stage = Stage { screen, silent: json, part: 0 };

    stage.part("The devices of this machine")?;
    let devices = DeviceList::gather()?;
    stage.show(|screen| devices.show_physical(screen))?;

    let examples = Examples::new()?;
    let trainings = train(&mut stage, &examples, args.epochs.into(), devices.has_gpu(), &heard)?;
    training::check_agreement(&trainings)?;
    let elsewhere = if devices.has_gpu() { None } else { Some(elsewhere::run(&examples)?) };
    match &elsewhere {
        Some(elsewhere) => {
            stage.part(&format!("The plan of the same step for {}", elsewhere.machine))?;
            stage.show(|screen| show_elsewhere(screen, elsewhere))?;
        }
        None => {
            stage.part("What the placements made of it")?;
            stage.show(|screen| show_comparison(screen, &trainings, &devices))?;
        }
    }
    drop(examples);

    stage.part("A dtype that the GPU has no kernel for")?;
    let fallback = fallback::run(&heard)?;
    stage.show(|screen| show_fallback(screen, &fallback))?;

    stage.part("An allocation beyond a memory limit")?;
    let refusal = limit::run()?;
    stage.show(|screen| show_refusal(screen, &refusal))?;

    stage.part("The ledger: every copy and every fallback of this demo")?;
    let ledger: Vec<Line> = config::ledger().entries.iter().map(Line::new).collect();
    stage.show(|screen| show_ledger(screen, &ledger))?;
    if json {
        screen.json(&Demo { devices, trainings, elsewhere, fallback, refusal, ledger })?;
    }
    Ok(())
}

/// The trainings that this machine allows: one without a GPU, three with one.
fn train(
    stage: &mut Stage<'_>,
    examples: &Examples,
    epochs: usize,
    has_gpu: bool,
    heard: &Heard,
) -> Result<Vec<Training>> {
    let progress = if stage.silent { Progress::Silent } else { Progress::Auto };
    let mut trainings: Vec<Training> = Vec::new();
    let mut next = Some(Scenario::Auto);
    while let Some(scenario) = next {
        stage.part(&scenario.title())?;
        let training = training::train(examples, scenario, epochs, progress, heard)?;
        next = match scenario {
            Scenario::Auto => has_gpu.then_some(Scenario::Gpu),
            Scenario::Gpu => training.too_little.map(|limit| Scenario::LittleMemory { limit }),
            Scenario::LittleMemory { .. } => None,
        };
        let before = trainings.last().filter(|_| matches!(scenario, Scenario::LittleMemory { .. }));
        stage.show(|screen| show_training(screen, &training, before))?;
        trainings.push(training);
    }
    Ok(trainings)
}

fn warnings(screen: &mut Screen, warnings: &[String]) -> Result<()> {
    warnings.iter().try_for_each(|text| screen.line(&format!("situ warned: {text}")))
}

/// All ops of a step, or those that are elsewhere than in the training before.
fn show_training(screen: &mut Screen, training: &Training, before: Option<&Training>) -> Result<()> {
    let there = |op: &Op| {
        before.is_some_and(|b| b.ops.iter().any(|old| old.name == op.name && old.device == op.device))
    };
    let moved: Vec<&Op> = training.ops.iter().filter(|op| !there(op)).collect();
    if before.is_some() {
        screen.line(&format!(
            "{} of {} kernels run elsewhere than before:",
            moved.len(),
            training.ops.len()
        ))?;
    }
    let row = |op: &&Op| [&op.name, &op.device, &op.reason].into_iter().map(Cell::new).collect();
    screen.table(&["op", "ran on", "because"], moved.iter().map(row).collect())?;
    warnings(screen, &training.warnings)
}

fn show_elsewhere(screen: &mut Screen, elsewhere: &Elsewhere) -> Result<()> {
    let figures = if elsewhere.measured { "measured" } else { "published or estimated" };
    screen.line(&format!(
        "There is no GPU here. By {figures} figures of that machine a step would take {}:",
        seconds(elsewhere.seconds)
    ))?;
    let rows = elsewhere.ops.iter().map(|op| op.iter().map(Cell::new).collect());
    screen.table(&["op", "would run on", "because"], rows.collect())
}

fn show_comparison(screen: &mut Screen, trainings: &[Training], devices: &DeviceList) -> Result<()> {
    let rows = trainings.iter().map(|training| {
        let loss = training.losses.last().copied().unwrap_or(f64::NAN);
        let limit = training.limit.map_or("-".to_string(), bytes);
        let cells = [
            training.plan.to_string(),
            format!("{loss:.5}"),
            format!("{:.1}%", 100.0 * training.accuracy),
            limit,
            bytes(training.bytes_moved as usize),
            seconds(training.seconds),
        ];
        cells.into_iter().map(Cell::new).collect()
    });
    let header = ["placement", "loss", "accuracy", "GPU memory", "moved in a step", "time of a step"];
    screen.table(&header, rows.collect())?;
    let apart = training::disagreement(trainings);
    let agree =
        if apart == 0.0 { "are the same".into() } else { format!("agree to {apart:.0e} of their value") };
    screen.line(&format!("The losses {agree}."))?;
    match devices.software() {
        Some(name) => screen.line(&format!("{name} is a software driver: its times say nothing about GPUs.")),
        None => Ok(()),
    }
}

fn show_fallback(screen: &mut Screen, fallback: &Fallback) -> Result<()> {
    screen.line(&format!("f64 matmul under /GPU:0 ran on {}: {}", fallback.device, fallback.reason))?;
    warnings(screen, &fallback.warnings)?;
    screen.line(&format!("With fallback forbidden, the error is: {}", fallback.forbidden))
}

fn show_refusal(screen: &mut Screen, refusal: &Refusal) -> Result<()> {
    screen.line(&format!(
        "{} limited to {}, holding {}. Asked for {} more:",
        refusal.device,
        bytes(refusal.limit),
        bytes(refusal.in_use),
        bytes(refusal.requested)
    ))?;
    for part in refusal.error.split("; ") {
        screen.line(&format!("  {part}"))?;
    }
    screen.line(&format!("Afterwards the tensor made before it still sums to {}.", refusal.survivor_sum))
}

impl Line {
    fn new(entry: &config::Entry) -> Line {
        Line {
            cause: entry.cause.name(),
            from: entry.from.to_string(),
            to: entry.to.to_string(),
            count: entry.count,
            bytes: entry.bytes,
            seconds: entry.seconds,
            op: entry.op,
            line: entry.location.to_string(),
        }
    }
}

fn show_ledger(screen: &mut Screen, ledger: &[Line]) -> Result<()> {
    if ledger.is_empty() {
        return screen.line("Nothing was copied between devices, and nothing fell back.");
    }
    let rows = ledger.iter().map(|l| {
        let bytes = if l.bytes == 0 { "-".to_string() } else { bytes(l.bytes as usize) };
        let cells = [
            l.cause.to_string(),
            format!("{} → {}", l.from, l.to),
            format!("{}×", l.count),
            bytes,
            seconds(l.seconds),
            l.op.to_string(),
            l.line.clone(),
        ];
        cells.into_iter().map(Cell::new).collect()
    });
    screen.table(&["cause", "devices", "count", "bytes", "time", "op", "line"], rows.collect())?;
    screen.line("A copy from a GPU waits for the work before it: its time has both in it.")
}
