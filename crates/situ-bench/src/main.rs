//! `situ-bench THREADS`: situ at one thread count, as a worker of `bench/run.py`; the protocol is described
//! in `bench/worker.py`. Everything runs on `CPU:0` (one case splits it in two); eagerly, but for the cases
//! of functions.

mod batches;
mod cases;
mod convolutions;
mod embeddings;
mod functions;
mod training;

use cases::Call;
use situ::{Error, Result, config, device};
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// Short cases are timed in batches this long, so that reading the clock costs nothing.
const BATCH: Duration = Duration::from_micros(20);

/// A prepared case, warmed up.
struct Case {
    name: String,
    call: Call,
    /// Calls that one reading of the clock covers.
    batch: u32,
}

impl Case {
    fn new(name: &str) -> Result<Case> {
        let mut case = Case { name: name.to_string(), call: cases::prepare(name)?, batch: 1 };
        for _ in 0..3 {
            case.time()?;
        }
        let quickest =
            (0..3).map(|_| case.time()).collect::<Result<Vec<_>>>()?.into_iter().fold(f64::MAX, f64::min);
        case.batch = ((BATCH.as_nanos() as f64 / quickest.max(1.0)).round() as u32).max(1);
        Ok(case)
    }

    /// Nanoseconds a call, over one batch.
    fn time(&self) -> Result<f64> {
        let start = Instant::now();
        for _ in 0..self.batch {
            black_box((self.call)()?);
        }
        Ok(start.elapsed().as_nanos() as f64 / f64::from(self.batch))
    }

    fn run(&self, milliseconds: u64) -> Result<serde_json::Value> {
        let length = Duration::from_millis(milliseconds);
        let start = Instant::now();
        // The other systems have had the caches since our last round.
        let first = self.time()?;
        let mut samples = Vec::new();
        if first * f64::from(self.batch) * 4.0 > length.as_nanos() as f64 {
            samples.push(first);
        }
        while samples.is_empty() || start.elapsed() < length {
            samples.push(self.time()?);
        }
        samples.sort_by(f64::total_cmp);
        let middle = samples.len() / 2;
        let median = if samples.len() % 2 == 1 {
            samples[middle]
        } else {
            (samples[middle - 1] + samples[middle]) / 2.0
        };
        Ok(serde_json::json!({
            "iterations": samples.len() * self.batch as usize,
            "min_ns": samples[0],
            "median_ns": median,
        }))
    }
}

fn answer(line: &str, current: &mut Option<Case>) -> Result<serde_json::Value> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bad = || Error::argument("bench", format!("not understood: {line}"), "see bench/worker.py");
    match words.as_slice() {
        ["info"] => {
            // A CPU names its instruction set first.
            let cpus = config::list_physical_devices("CPU")?;
            let level = cpus.first().and_then(|cpu| cpu.description.features.first());
            Ok(serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "level": level }))
        }
        ["list"] => {
            let others = cases::NAMES.iter().map(|name| name.to_string());
            Ok(serde_json::json!(others.chain(convolutions::names()).collect::<Vec<_>>()))
        }
        ["run", name, milliseconds] => {
            if current.as_ref().is_none_or(|case| case.name != *name) {
                // The old case's memory goes before the new one's is taken.
                *current = None;
                *current = Some(Case::new(name)?);
            }
            let milliseconds = milliseconds.parse().map_err(|_| bad())?;
            current.as_ref().ok_or_else(bad)?.run(milliseconds)
        }
        _ => Err(bad()),
    }
}

fn main() -> Result<()> {
    let threads = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let threads: usize = threads.ok_or_else(|| {
        Error::argument("situ-bench", "was given no number of threads", "run it as: situ-bench 2")
    })?;
    config::set_intra_op_threads(Some(threads))?;
    let _cpu = device("/CPU:0")?;
    let mut current = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let reply =
            answer(&line, &mut current).unwrap_or_else(|e| serde_json::json!({ "error": e.to_string() }));
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{reply}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    Ok(())
}
