//! Functions that are compiled again and again for other shapes.

use crate::record::{Finding, FindingKind, Record, Retrace};
use situ_core::reason::seconds;

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    let mut functions: Vec<(&str, Vec<&Retrace>)> = Vec::new();
    for retrace in &record.retraces {
        match functions.iter_mut().find(|(name, _)| *name == retrace.function) {
            Some((_, list)) => list.push(retrace),
            None => functions.push((&retrace.function, vec![retrace])),
        }
    }
    for (function, list) in functions {
        let together: f64 = list.iter().map(|r| r.seconds).sum();
        let last = list[list.len() - 1];
        let text = format!(
            "{function} was compiled anew {}, {} together: {}. Pad to one shape, call it through `Function::bucketed`, or leave out the last, smaller batch.",
            if list.len() == 1 { "once".to_string() } else { format!("{} times", list.len()) },
            seconds(together),
            last.cause,
        );
        let (gain_seconds, calls) = (together / list.len() as f64, list.len() as u64);
        found.push(Finding { gain_seconds, calls, ..Finding::new(FindingKind::Retraces, text) });
    }
}
