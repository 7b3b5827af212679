//! `situ place --compare`: what every algorithm reaches.

use super::{budget, watch};
use crate::args::Place;
use crate::screen::Screen;
use anyhow::Result;
use comfy_table::Cell;
use serde::Serialize;
use situ::place::{Problem, algorithms, place};
use situ::reason::seconds;

/// One algorithm's result.
#[derive(Debug, Serialize)]
struct Entry {
    algorithm: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    makespan: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<f64>,
    seconds: f64,
    moves: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Comparison {
    lower_bound: f64,
    algorithms: Vec<Entry>,
}

pub(super) fn run(screen: &mut Screen, problem: &Problem, args: &Place) -> Result<()> {
    let watching = watch::start();
    let budget = watching.over(budget(args));
    let mut lower_bound = 0.0f64;
    let mut entries = Vec::new();
    for algorithm in algorithms::names() {
        let begun = std::time::Instant::now();
        let result = place(algorithm, problem, &budget);
        watching.end();
        let seconds = begun.elapsed().as_secs_f64();
        entries.push(match result {
            Ok(placement) => {
                // Each finds its own bound; the largest holds for all.
                lower_bound = lower_bound.max(placement.lower_bound);
                let makespan = Some(placement.makespan);
                Entry { algorithm, makespan, gap: None, seconds, moves: placement.moves, error: None }
            }
            Err(error) => {
                let error = Some(error.to_string());
                Entry { algorithm, makespan: None, gap: None, seconds, moves: 0, error }
            }
        });
    }
    for entry in &mut entries {
        entry.gap = entry.makespan.map(|m| if m <= lower_bound { 0.0 } else { m / lower_bound - 1.0 });
    }
    let comparison = Comparison { lower_bound, algorithms: entries };
    if args.json { screen.json(&comparison) } else { show(screen, problem, &comparison) }
}

fn show(screen: &mut Screen, problem: &Problem, comparison: &Comparison) -> Result<()> {
    screen.line(&format!(
        "{} nodes on {} devices; no placement is done before {}",
        problem.node_count(),
        problem.device_count(),
        seconds(comparison.lower_bound)
    ))?;
    screen.heading("Algorithms")?;
    let rows = comparison.algorithms.iter().map(|entry| {
        let (makespan, gap) = match (entry.makespan, entry.gap, &entry.error) {
            (Some(makespan), Some(gap), _) => (seconds(makespan), format!("{:.2}%", gap * 100.0)),
            (_, _, Some(error)) => (error.clone(), String::new()),
            _ => (String::new(), String::new()),
        };
        let took = format!("{:.1} ms", entry.seconds * 1e3);
        [entry.algorithm.to_owned(), makespan, gap, took, entry.moves.to_string()].map(Cell::new).to_vec()
    });
    let rows = rows.collect();
    screen.table(&["algorithm", "makespan", "above the bound", "time", "moves"], rows)
}
