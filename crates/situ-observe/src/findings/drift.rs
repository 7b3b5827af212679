//! Predictions that are far from what was measured.

use super::called;
use crate::record::{Finding, FindingKind, Record};
use situ_core::reason::seconds;

/// Calls that must have been seen.
const ENOUGH: usize = 5;
/// How many times longer, or shorter, than predicted is worth a word.
const FAR: f64 = 2.0;

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    let lengths = record.call_lengths();
    for (number, plan, calls) in called(record) {
        let of_plan = (0..record.calls.len()).filter(|&call| record.calls[call].plan == number);
        let mut took: Vec<f64> = of_plan.map(|call| lengths[call]).collect();
        took.sort_by(f64::total_cmp);
        let median = took[took.len() / 2];
        let ratio = median / plan.predicted;
        if took.len() < ENOUGH || !ratio.is_finite() || (1.0 / FAR..=FAR).contains(&ratio) {
            continue;
        }
        let mut used: Vec<usize> = plan.nodes.iter().filter(|n| n.runs()).map(|n| n.device).collect();
        used.sort_unstable();
        used.dedup();
        let table =
            used.iter().filter(|d| !record.devices[**d].calibrated).map(|d| record.devices[*d].name.as_str());
        let table: Vec<&str> = table.collect();
        let remedy = if table.is_empty() {
            "The devices are calibrated: something else may be using them.".to_string()
        } else {
            format!("The costs of {} are from the built-in table: run `situ calibrate`.", table.join(" and "))
        };
        let text = format!(
            "A call of {} takes {}, {} was expected. {remedy}",
            plan.function,
            seconds(median),
            seconds(plan.predicted)
        );
        let (kind, plan) = (FindingKind::Drift, Some(number));
        found.push(Finding {
            kind,
            text,
            gain_seconds: 0.0,
            calls,
            plan,
            nodes: Vec::new(),
            eager: Vec::new(),
        });
    }
}
