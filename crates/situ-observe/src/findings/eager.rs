//! Ops that run one by one, where a function would run them as a whole.

use crate::record::{Finding, FindingKind, Launch, OpRef, Record};
use situ_core::reason::seconds;

/// Launches below which nothing is said.
const MANY: usize = 50;
/// The share of the time between launches from which something is said.
const BETWEEN: f64 = 0.2;
/// A gap longer than this is no gap between ops: the program did something else.
const LONGEST_GAP: f64 = 1e-3;

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    let eager: Vec<&Launch> =
        record.launches.iter().filter(|launch| matches!(launch.op, OpRef::Eager { .. })).collect();
    if eager.len() < MANY {
        return;
    }
    let mut queued: Vec<(f64, f64)> = eager.iter().map(|l| (l.queued, l.launched)).collect();
    queued.sort_by(|a, b| a.0.total_cmp(&b.0));
    let gaps =
        queued.windows(2).map(|pair| pair[1].0 - pair[0].1).filter(|gap| (0.0..LONGEST_GAP).contains(gap));
    let (gap, ran) = (gaps.sum::<f64>(), queued.iter().map(|(start, end)| end - start).sum::<f64>());
    if gap < BETWEEN * (gap + ran) {
        return;
    }
    let text = format!(
        "{} ops ran one by one, and {} went by between them ({:.0}% of their time): put them into a Function, which runs them as a whole, \
         joined where they can be. That saves at most this.",
        eager.len(),
        seconds(gap),
        gap / (gap + ran) * 100.0,
    );
    let eager = (0..record.eager.len()).collect();
    found.push(Finding { gain_seconds: gap, eager, ..Finding::new(FindingKind::Eager, text) });
}
