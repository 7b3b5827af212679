//! An answer for people: what it comes to, each device, each node if its reasons were asked for.

use crate::screen::Screen;
use anyhow::Result;
use comfy_table::Cell;
use situ::place::{Answer, Placement, Problem, Transfer};
use situ::reason::{bytes, seconds};

pub(super) fn answer(
    screen: &mut Screen,
    problem: &Problem,
    placement: &Placement,
    answer: &Answer,
) -> Result<()> {
    screen.line(&format!(
        "{} nodes done in {}, {}; by {} in {:.1} ms, {} moves",
        problem.node_count(),
        seconds(placement.makespan),
        certainty(placement),
        placement.algorithm,
        placement.seconds * 1e3,
        placement.moves
    ))?;
    screen.heading("Devices")?;
    let rows = (0..problem.device_count()).map(|d| device(problem, placement, d)).collect();
    screen.table(&["device", "nodes", "busy", "copied in", "peak memory", "limit"], rows)?;
    if answer.nodes.iter().any(|node| node.delta.is_some()) {
        screen.heading("Nodes")?;
        let rows = answer.nodes.iter().enumerate().map(|(i, node)| {
            let elsewhere = node.delta.iter().flatten().map(|(d, s)| format!("{d} {}", change(*s)));
            let elsewhere = elsewhere.collect::<Vec<_>>().join(", ");
            let name = match problem.node_name(i) {
                "" => node.id.to_string(),
                name => format!("{} {name}", node.id),
            };
            let texts = [name, node.device.clone(), seconds(node.start), node.reason.text.clone(), elsewhere];
            texts.map(Cell::new).to_vec()
        });
        let rows = rows.collect();
        screen.table(&["node", "device", "start", "why", "elsewhere"], rows)?;
    }
    Ok(())
}

fn certainty(placement: &Placement) -> String {
    match placement.gap() {
        0.0 => "which is the best possible".to_owned(),
        gap if gap.is_finite() => format!("at most {:.2}% above the best", gap * 100.0),
        _ => "no bound known".to_owned(),
    }
}

fn change(delta: f64) -> String {
    let sign = if delta < 0.0 { "-" } else { "+" };
    format!("{sign}{}", seconds(delta.abs()))
}

fn device(problem: &Problem, placement: &Placement, d: usize) -> Vec<Cell> {
    let device = problem.device(d);
    let nodes: Vec<usize> = (0..problem.node_count()).filter(|&n| placement.devices[n] == d).collect();
    let busy: f64 = nodes.iter().filter_map(|&n| problem.cost(n, d)).fold(0.0, |sum, cost| sum + cost);
    let capacity = placement.makespan * f64::from(device.slots);
    let share = if capacity > 0.0 { busy / capacity * 100.0 } else { 0.0 };
    let copied = copied(placement.transfers.iter().filter(|t| t.to == d));
    let limit = device.memory.map_or("none".to_owned(), |m| bytes(m as usize).to_string());
    let texts = [
        device.name.clone(),
        nodes.len().to_string(),
        format!("{share:.0}%"),
        copied,
        bytes(placement.peak_memory[d] as usize).to_string(),
        limit,
    ];
    texts.map(Cell::new).to_vec()
}

/// How many copies and how large they are; of those that the graph gives a price and no size, how long they
/// take together.
fn copied<'a>(copies: impl Iterator<Item = &'a Transfer>) -> String {
    let (mut count, mut moved, mut lasted) = (0, 0.0, 0.0);
    for copy in copies {
        count += 1;
        moved += copy.bytes;
        lasted += copy.finish - copy.start;
    }
    match count {
        0 => String::new(),
        _ if moved > 0.0 => format!("{count} × {}", bytes((moved / f64::from(count)) as usize)),
        _ => format!("{count}, {}", seconds(lasted)),
    }
}
