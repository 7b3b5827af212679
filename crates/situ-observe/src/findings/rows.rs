//! Steps of optimizers that change every row of a table by a gradient of few rows.

use super::called;
use crate::record::{Finding, FindingKind, OpRef, PlanRecord, Record};
use situ_core::reason::seconds;
use std::collections::BTreeSet;

/// What steps of optimizers are called.
const STEPS: [&str; 4] = ["adam", "sgd", "rmsprop", "adagrad"];

/// A step of a whole table, and what made its gradient from rows.
struct Dense {
    step: usize,
    /// All that works on as much as the table: the step, and what is between the rows and it.
    nodes: BTreeSet<usize>,
    rows: usize,
    looked_up: u64,
}

/// The rows that a gradient is made of, if all it is made of is rows, and the nodes between: through
/// functions of elements.
fn made_of_rows(plan: &PlanRecord, node: usize, shape: &[usize], nodes: &mut BTreeSet<usize>) -> Option<u64> {
    let at = &plan.nodes[node];
    if at.shape != shape {
        return None;
    }
    nodes.insert(node);
    if at.op == "scatter_add" {
        let [base, _, values] = at.inputs[..] else { return None };
        let before = match plan.nodes[base.node].op.as_str() {
            "fill" => {
                nodes.insert(base.node);
                0
            }
            _ => made_of_rows(plan, base.node, shape, nodes)?,
        };
        let row = at.output_bytes / shape[0].max(1) as u64;
        return Some(before + values.bytes / row.max(1));
    }
    // Clipping, and what else is done to each element: one input is of the table's size.
    let large: Vec<usize> =
        at.inputs.iter().map(|i| i.node).filter(|n| plan.nodes[*n].shape == shape).collect();
    match large[..] {
        [only] if at.runs() => made_of_rows(plan, only, shape, nodes),
        _ => None,
    }
}

fn dense(plan: &PlanRecord) -> impl Iterator<Item = Dense> + '_ {
    plan.nodes.iter().enumerate().filter_map(|(step, node)| {
        let gradient = node.inputs.get(1).filter(|_| STEPS.contains(&node.op.as_str()))?;
        let (shape, mut nodes) = (&node.shape, BTreeSet::from([step]));
        let rows = *shape.first()?;
        let looked_up = made_of_rows(plan, gradient.node, shape, &mut nodes)?;
        (2 * looked_up <= rows as u64).then_some(Dense { step, nodes, rows, looked_up })
    })
}

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    for (number, plan, calls) in called(record) {
        for Dense { step, nodes, rows, looked_up } in dense(plan) {
            let measured = record.launches.iter().filter(|launch| {
                matches!(launch.op, OpRef::Node { call, node }
                    if record.calls[call].plan == number && nodes.contains(&node))
                    && launch.is_measured(&record.devices[launch.device])
            });
            let took: f64 = measured.map(|launch| launch.end - launch.start).sum::<f64>() / calls as f64;
            let gain_seconds = took * (1.0 - looked_up as f64 / rows as f64);
            let saves = match gain_seconds {
                gain if gain > 0.0 => format!(", which takes {} a call more than they do", seconds(gain)),
                _ => String::new(),
            };
            let node = &plan.nodes[step];
            let advice = match node.op.as_str() {
                "adam" => {
                    "Adam { lazy: true, .. } changes the rows of the batch alone, where there is no weight \
                     decay; its steps are other ones, for rows that were not looked up wait"
                }
                _ => {
                    "momentum, a mean of squares and weight decay are of every row; Sgd and Adagrad without \
                     them, and Adam { lazy: true, .. }, change the rows of the batch alone"
                }
            };
            let text = format!(
                "{} ({}) changes all {rows} rows of a table for {looked_up} that were looked up{saves}: {advice}.",
                node.full_name(),
                node.source,
            );
            let (plan, nodes) = (Some(number), nodes.into_iter().collect());
            let finding = Finding::new(FindingKind::Rows, text);
            found.push(Finding { gain_seconds, calls, plan, nodes, ..finding });
        }
    }
}
