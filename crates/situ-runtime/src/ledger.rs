//! The ledger: every copy and every fallback, by device pair and source line.
//!
//! Promises: no copy between devices and no fallback is missing; reading it disturbs nothing. A copy takes
//! microseconds at least, so the lock and the hash here are not what costs.

use situ_core::{DeviceId, reason::seconds};
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::Mutex;

/// Why something was booked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Cause {
    /// An op needed an input on another device.
    Implicit,
    /// The program asked for the copy.
    Explicit,
    /// Host data became a tensor.
    Upload,
    /// A tensor was read by the program.
    Read,
    /// An op did not run where it was asked to: no bytes, but the time that it is expected to cost.
    Fallback,
}

impl Cause {
    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Implicit => "implicit copy",
            Cause::Explicit => "copy",
            Cause::Upload => "upload",
            Cause::Read => "read",
            Cause::Fallback => "fallback",
        }
    }
}

/// What happened at one line of the program, between two devices, for one cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Why.
    pub cause: Cause,
    /// From where; for a fallback, the device that was asked for.
    pub from: DeviceId,
    /// To where; for a fallback, the device that ran it.
    pub to: DeviceId,
    /// The op that needed it.
    pub op: &'static str,
    /// The line of the program.
    pub location: &'static Location<'static>,
    /// How often.
    pub count: u64,
    /// Bytes together.
    pub bytes: u64,
    /// Seconds together: of copies as measured, of fallbacks as modelled.
    pub seconds: f64,
}

type Key = (Cause, DeviceId, DeviceId, &'static str, &'static Location<'static>);

/// The books.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Mutex<HashMap<Key, (u64, u64, f64)>>,
}

impl Ledger {
    pub(crate) fn book(
        &self,
        cause: Cause,
        from: DeviceId,
        to: DeviceId,
        op: &'static str,
        location: &'static Location<'static>,
        bytes: usize,
        seconds: f64,
    ) {
        let mut entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let sums = entries.entry((cause, from, to, op, location)).or_default();
        sums.0 += 1;
        sums.1 += bytes as u64;
        sums.2 += seconds;
    }

    pub(crate) fn report(&self) -> LedgerReport {
        let entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut list: Vec<Entry> = entries
            .iter()
            .map(|(&(cause, from, to, op, location), &(count, bytes, seconds))| Entry {
                cause,
                from,
                to,
                op,
                location,
                count,
                bytes,
                seconds,
            })
            .collect();
        list.sort_by(|a, b| {
            (b.bytes, b.count).cmp(&(a.bytes, a.count)).then_with(|| {
                (a.cause, a.from, a.to, a.op, a.location.file(), a.location.line()).cmp(&(
                    b.cause,
                    b.from,
                    b.to,
                    b.op,
                    b.location.file(),
                    b.location.line(),
                ))
            })
        });
        LedgerReport { entries: list }
    }

    pub(crate) fn clear(&self) {
        self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    }
}

/// A copy of the books, the most bytes first.
#[derive(Clone, Debug, Default)]
pub struct LedgerReport {
    /// The entries.
    pub entries: Vec<Entry>,
}

impl LedgerReport {
    /// Bytes moved from one device to another, for any cause.
    pub fn bytes(&self, from: DeviceId, to: DeviceId) -> u64 {
        self.entries.iter().filter(|e| e.from == from && e.to == to).map(|e| e.bytes).sum()
    }

    /// How often something was booked for that cause.
    pub fn count(&self, cause: Cause) -> u64 {
        self.entries.iter().filter(|e| e.cause == cause).map(|e| e.count).sum()
    }
}

impl fmt::Display for LedgerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() {
            return f.write_str("nothing was copied, nothing fell back\n");
        }
        for e in &self.entries {
            writeln!(
                f,
                "{:>13}  {} -> {}  {:>6}×  {:>10}  {:>9}  {} at {}:{}",
                e.cause.name(),
                e.from,
                e.to,
                e.count,
                situ_core::reason::bytes(e.bytes as usize),
                seconds(e.seconds),
                e.op,
                e.location.file(),
                e.location.line()
            )?;
        }
        Ok(())
    }
}
