//! How long it takes to place again after 1% of the costs changed:
//! `replace_figures [--moves N] graph.json ..`.

use situ_place::{Budget, Problem, place};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut moves, mut rounds) = (0, 20);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--rounds" {
            rounds = args.next().ok_or("--rounds needs a number")?.parse()?;
            continue;
        }
        if arg == "--moves" {
            moves = args.next().ok_or("--moves needs a number")?.parse()?;
            continue;
        }
        let mut problem = Problem::from_json(&std::fs::read_to_string(&arg)?)?;
        let first = place("auto", &problem, &Budget::seconds(1.0))?;
        println!("{arg}: {} nodes, placed in {:.1} ms", problem.node_count(), first.seconds * 1e3);
        let (mut times, mut ran) = (Vec::new(), Vec::new());
        let mut gain = 0.0;
        let mut last = first;
        for round in 0..rounds {
            for node in (round..problem.node_count()).step_by(100) {
                for device in 0..problem.device_count() {
                    if let Some(cost) = problem.cost(node, device) {
                        problem.set_cost(node, device, cost * if round % 2 == 0 { 1.3 } else { 0.8 });
                    }
                }
            }
            let before = situ_place::simulate(&problem, &last.schedule())?.makespan;
            let begun = (Instant::now(), cpu_seconds());
            let again = place("auto", &problem, &Budget::moves(moves).starting_from(&last))?;
            times.push(begun.0.elapsed().as_secs_f64() * 1e3);
            ran.push((cpu_seconds() - begun.1) * 1e3);
            if again.makespan > before {
                return Err(format!("{} is worse than {before}", again.makespan).into());
            }
            gain += 1.0 - again.makespan / before;
            last = again;
        }
        let most = times.iter().copied().fold(0.0, f64::max);
        println!(
            "  again: {:.2} ms in the middle, {most:.2} at most; of CPU {:.2}; {:.3}% shorter each time",
            middle(&mut times),
            middle(&mut ran),
            gain / ran.len() as f64 * 100.0
        );
    }
    Ok(())
}

fn middle(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Seconds that this thread has really run, where the system tells: other people's work does not count.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}
