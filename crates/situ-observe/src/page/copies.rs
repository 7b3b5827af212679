//! The copy ledger: copies of the same bytes for the same reason as one line, the worst first.

use super::numbers::nanoseconds;
use crate::record::{CopyCause, Record};
use serde::Serialize;
use std::collections::HashMap;

/// One line of the ledger.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    from: usize,
    to: usize,
    cause: CopyCause,
    name: &'a str,
    /// The op whose result it is, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    source: &'a str,
    count: u64,
    bytes: u64,
    ns: i64,
    /// Of these, how many it only waited for the work before it.
    waited: i64,
    /// Its first copy: what a click on the line shows.
    first: usize,
}

/// The ledger of a record: by bytes, since a copy's time may have the work before it in it.
pub(super) fn ledger<'a>(record: &'a Record, waits: &[f64]) -> Vec<Line<'a>> {
    let mut lines: HashMap<_, Line<'_>> = HashMap::new();
    for (n, copy) in record.copies.iter().enumerate() {
        // Copies of one plan are told apart by what they carry; others by who needs them.
        let planned = copy.call.zip(copy.planned).map(|(call, planned)| (record.calls[call].plan, planned));
        let key = (copy.from, copy.to, copy.cause, copy.name.as_str(), copy.source.as_str(), planned);
        let line = lines.entry(key).or_insert_with(|| Line {
            from: copy.from,
            to: copy.to,
            cause: copy.cause,
            name: &copy.name,
            of: planned.and_then(|(plan, planned)| {
                let plan = &record.plans[plan];
                Some(plan.nodes[plan.copies[planned].producer?].full_name())
            }),
            source: &copy.source,
            count: 0,
            bytes: 0,
            ns: 0,
            waited: 0,
            first: n,
        });
        line.count += 1;
        line.bytes += copy.bytes;
        line.ns += nanoseconds(copy.end - copy.start);
        line.waited += nanoseconds(waits[n]);
    }
    let mut lines: Vec<Line<'_>> = lines.into_values().collect();
    lines.sort_by_key(|line| (std::cmp::Reverse(line.bytes), line.first));
    lines
}
