//! How long it takes to place again after 1% of the costs changed: `replace_figures [--moves N] graph.json ..`.

use situ_place::{Budget, Problem, place};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut moves = 0;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--moves" {
            moves = args.next().ok_or("--moves needs a number")?.parse()?;
            continue;
        }
        let mut problem = Problem::from_json(&std::fs::read_to_string(&arg)?)?;
        let first = place("auto", &problem, &Budget::seconds(1.0))?;
        println!("{arg}: {} nodes, placed in {:.1} ms", problem.node_count(), first.seconds * 1e3);
        let mut times = Vec::new();
        let mut last = first;
        for round in 0..20 {
            for node in (round..problem.node_count()).step_by(100) {
                for device in 0..problem.device_count() {
                    if let Some(cost) = problem.cost(node, device) {
                        problem.set_cost(node, device, cost * if round % 2 == 0 { 1.3 } else { 0.8 });
                    }
                }
            }
            let before = situ_place::simulate(&problem, &last.schedule())?.makespan;
            let begun = Instant::now();
            let again = place("auto", &problem, &Budget::moves(moves).starting_from(&last))?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            if again.makespan > before {
                return Err(format!("{} is worse than {before}", again.makespan).into());
            }
            last = again;
        }
        times.sort_by(f64::total_cmp);
        println!("  again: {:.2} ms at the least, {:.2} ms in the middle", times[0], times[times.len() / 2]);
    }
    Ok(())
}
