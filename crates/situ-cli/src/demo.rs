//! `situ demo`: what situ does, in a few seconds, on any machine.
//!
//! A Places365-sized classifier head under three placements, a dtype that the GPU has no kernel for, an allocation
//! beyond a memory limit, and the ledger of all of it. Nothing shown is written down beforehand: every device, reason,
//! byte and time is what the runtime says while it runs.

mod fallback;
mod limit;
mod places;
mod trace;

use crate::devices::DeviceList;
use crate::screen::Screen;
use anyhow::Result;
use comfy_table::Cell;
use fallback::Fallback;
use limit::Refusal;
use places::Pass;
use serde::Serialize;
use situ::config;
use situ::reason::{bytes, seconds};
use std::sync::{Arc, Mutex};
use trace::Step;

/// Everything shown.
#[derive(Debug, Serialize)]
struct Demo {
    devices: DeviceList,
    passes: Vec<Pass>,
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

pub(crate) fn run(screen: &mut Screen, json: bool) -> Result<()> {
    let heard = Heard::listen();
    let mut say = |part: &dyn Fn(&mut Screen) -> Result<()>| if json { Ok(()) } else { part(screen) };

    let devices = DeviceList::gather()?;
    say(&|screen| {
        screen.line("1. The devices of this machine")?;
        devices.show_physical(screen)
    })?;

    let mut passes = Vec::new();
    let inputs = places::Inputs::new()?;
    for (number, plan) in (2..).zip(places::Plan::ALL) {
        let pass = places::run(&inputs, plan, &heard)?;
        say(&|screen| {
            screen.heading(&format!("{number}. {}", plan.title()))?;
            show_pass(screen, &pass)
        })?;
        passes.push(pass);
    }
    drop(inputs);
    places::check_agreement(&passes)?;
    say(&|screen| show_comparison(screen, &passes, &devices))?;

    let fallback = fallback::run(&heard)?;
    say(&|screen| {
        screen.heading("5. A dtype that the GPU has no kernel for")?;
        screen.table(&STEPS, fallback.steps.iter().map(row).collect())?;
        warnings(screen, &fallback.warnings)?;
        screen.line(&format!("With fallback forbidden, the error is: {}", fallback.forbidden))
    })?;

    let refusal = limit::run()?;
    say(&|screen| {
        screen.heading("6. An allocation beyond a memory limit")?;
        show_refusal(screen, &refusal)
    })?;

    let ledger: Vec<Line> = config::ledger().entries.iter().map(Line::new).collect();
    say(&|screen| {
        screen.heading("7. The ledger: every copy and every fallback of this demo")?;
        show_ledger(screen, &ledger)
    })?;
    if json {
        screen.json(&Demo { devices, passes, fallback, refusal, ledger })?;
    }
    Ok(())
}

const STEPS: [&str; 4] = ["step", "result", "ran on", "because"];

fn row(step: &Step) -> Vec<Cell> {
    [&step.what, &step.result, &step.device, &step.reason].into_iter().map(Cell::new).collect()
}

fn warnings(screen: &mut Screen, warnings: &[String]) -> Result<()> {
    warnings.iter().try_for_each(|text| screen.line(&format!("situ warned: {text}")))
}

fn show_pass(screen: &mut Screen, pass: &Pass) -> Result<()> {
    screen.table(&STEPS, pass.steps.iter().map(row).collect())?;
    warnings(screen, &pass.warnings)
}

fn show_comparison(screen: &mut Screen, passes: &[Pass], devices: &DeviceList) -> Result<()> {
    let rows = passes.iter().map(|pass| {
        vec![
            Cell::new(pass.plan),
            Cell::new(format!("{:.6}", pass.loss)),
            Cell::new(bytes(pass.bytes_moved as usize)),
            Cell::new(seconds(pass.seconds)),
        ]
    });
    screen.line(&format!(
        "\nThe losses agree to {:.0e} of their value. Times: shortest of {} runs after the first.",
        places::disagreement(passes),
        places::ROUNDS
    ))?;
    screen.table(&["placement", "loss", "moved in one run", "time of one run"], rows.collect())?;
    match devices.software() {
        Some(name) => screen.line(&format!("{name} is a software driver: its times say nothing about GPUs.")),
        None => Ok(()),
    }
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
            line: format!("{}:{}", entry.location.file(), entry.location.line()),
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
