//! Places cost-graph files by every algorithm and prints a table: `place_table [--seconds S | --moves N]
//! graph.json ..`.

use situ_place::{Answer, Budget, Problem, algorithms, check};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut budget = Budget::seconds(0.1);
    let mut only: Option<String> = None;
    let mut out: Option<String> = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => budget = Budget::seconds(args.next().ok_or("--seconds needs a number")?.parse()?),
            "--moves" => budget = Budget::moves(args.next().ok_or("--moves needs a number")?.parse()?),
            "--seed" => budget = budget.seed(args.next().ok_or("--seed needs a number")?.parse()?),
            "--algorithm" => only = args.next(),
            "--out" => out = args.next(),
            path => table(path, &budget, only.as_deref(), out.as_deref())?,
        }
    }
    Ok(())
}

/// Seconds that this thread has really run, where the system tells: other people's work does not count.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

fn table(
    path: &str,
    budget: &Budget,
    only: Option<&str>,
    out: Option<&str>,
) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(path)?;
    let problem = Problem::from_json(&text)?;
    println!("{path}: {} nodes, {} devices", problem.node_count(), problem.device_count());
    let file = problem.to_file();
    for name in algorithms::names().filter(|name| only.is_none_or(|only| only == *name)) {
        let begun = (Instant::now(), cpu_seconds());
        match situ_place::place(name, &problem, budget) {
            Ok(placement) => {
                let (took, ran) = (begun.0.elapsed().as_secs_f64(), cpu_seconds() - begun.1);
                let answer = Answer::new(&problem, &placement);
                let verdict =
                    check(&file, &answer).map_or_else(|e| format!("WRONG: {e}"), |()| String::new());
                if let Some(out) = out {
                    std::fs::write(out, answer.to_json()?)?;
                }
                println!(
                    "  {name:12} {:14.6} bound {:12.6} gap {:6.2}% {:8.1} ms ({:8.1} of CPU) {:9} moves {verdict}",
                    placement.makespan,
                    placement.lower_bound,
                    placement.gap() * 100.0,
                    took * 1e3,
                    ran * 1e3,
                    placement.moves,
                );
            }
            Err(error) => println!("  {name:12} {error}"),
        }
    }
    Ok(())
}
