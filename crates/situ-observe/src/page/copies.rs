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
    source: &'a str,
    count: u64,
    bytes: u64,
    ns: i64,
    /// Its first copy: what a click on the line shows.
    first: usize,
}

/// The ledger of a record: by bytes, since a copy's time has the work before it in it.
pub(super) fn ledger(record: &Record) -> Vec<Line<'_>> {
    let mut lines: HashMap<_, Line<'_>> = HashMap::new();
    for (n, copy) in record.copies.iter().enumerate() {
        let key = (copy.from, copy.to, copy.cause, copy.name.as_str(), copy.source.as_str());
        let line = lines.entry(key).or_insert_with(|| Line {
            from: copy.from,
            to: copy.to,
            cause: copy.cause,
            name: &copy.name,
            source: &copy.source,
            count: 0,
            bytes: 0,
            ns: 0,
            first: n,
        });
        line.count += 1;
        line.bytes += copy.bytes;
        line.ns += nanoseconds(copy.end - copy.start);
    }
    let mut lines: Vec<Line<'_>> = lines.into_values().collect();
    lines.sort_by_key(|line| (std::cmp::Reverse(line.bytes), line.first));
    lines
}
