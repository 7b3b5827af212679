//! The ledger: every copy and every fallback, by device pair and source line.
//!
//! Promises: no copy between devices and no fallback is missing; reading it disturbs nothing. An eager copy
//! takes microseconds at least, so the lock and the hash here are not what costs; a plan knows its copies
//! beforehand, and books each by a counter of its own.

use situ_core::{DeviceId, Location, reason::seconds};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

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

/// Which way the bytes of a copy went.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Route {
    /// Between the host and a device, or within the host.
    #[default]
    Link,
    /// From one device to another without the host. Its time is what it took to hand it over: the devices do
    /// it in their turn.
    Peer,
    /// From one device to another by way of the host's memory.
    ThroughHost,
}

impl Route {
    /// What is said of it behind the devices' names; nothing where it goes without saying.
    pub fn phrase(self) -> &'static str {
        match self {
            Route::Link => "",
            Route::Peer => " directly",
            Route::ThroughHost => " through the host",
        }
    }
}

/// What happened at one line of the program, between two devices, for one cause.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Why it was copied, or that it fell back.
    pub cause: Cause,
    /// From where; for a fallback, the device that was asked for.
    pub from: DeviceId,
    /// To where; for a fallback, the device that ran it.
    pub to: DeviceId,
    /// Which way the bytes went.
    pub route: Route,
    /// The op that needed it.
    pub op: &'static str,
    /// The line of the program.
    pub location: Location,
    /// How often it happened.
    pub count: u64,
    /// Bytes of all times together.
    pub bytes: u64,
    /// Seconds together: of copies as measured, of fallbacks as modelled.
    pub seconds: f64,
}

type Key = (Cause, DeviceId, DeviceId, Route, &'static str, Location);

/// One copy of a plan.
#[derive(Debug)]
pub(crate) struct PlannedCopy {
    pub(crate) from: DeviceId,
    pub(crate) to: DeviceId,
    pub(crate) route: Route,
    pub(crate) op: &'static str,
    pub(crate) location: Location,
    pub(crate) bytes: usize,
}

/// The copies of one plan, and how often each was made.
#[derive(Debug)]
pub(crate) struct PlanCopies {
    copies: Vec<(PlannedCopy, AtomicU64, AtomicU64)>,
}

impl PlanCopies {
    /// Books one run of a copy.
    pub(crate) fn note(&self, copy: usize, seconds: f64) {
        if let Some((_, count, nanoseconds)) = self.copies.get(copy) {
            count.fetch_add(1, Relaxed);
            nanoseconds.fetch_add((seconds * 1e9) as u64, Relaxed);
        }
    }

    /// One of them, by its number in the plan.
    pub(crate) fn get(&self, number: usize) -> Option<&PlannedCopy> {
        self.copies.get(number).map(|(copy, ..)| copy)
    }

    /// Books time of a copy that is yet to be noted as run.
    pub(crate) fn note_ahead(&self, copy: usize, seconds: f64) {
        if let Some((.., nanoseconds)) = self.copies.get(copy) {
            nanoseconds.fetch_add((seconds * 1e9) as u64, Relaxed);
        }
    }
}

/// Plans beyond which those that are no more are looked for, each time their number has doubled.
const MANY_PLANS: usize = 64;

type Sums = HashMap<Key, (u64, u64, f64)>;

/// All copies and fallbacks so far: of eager ops in sums, of plans in counters of their own.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Mutex<Sums>,
    plans: Mutex<Vec<Arc<PlanCopies>>>,
}

impl Ledger {
    fn entries(&self) -> MutexGuard<'_, Sums> {
        self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn plans(&self) -> MutexGuard<'_, Vec<Arc<PlanCopies>>> {
        self.plans.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Opens the book of a plan.
    pub(crate) fn open(&self, copies: Vec<PlannedCopy>) -> Arc<PlanCopies> {
        let counted = |copy| (copy, AtomicU64::new(0), AtomicU64::new(0));
        let book = Arc::new(PlanCopies { copies: copies.into_iter().map(counted).collect() });
        if !book.copies.is_empty() {
            let mut plans = self.plans();
            plans.push(book.clone());
            let many = plans.len() >= MANY_PLANS && plans.len().is_power_of_two();
            drop(plans);
            // Where functions are compiled again and again, what plans that are no more have counted must not
            // pile up.
            if many {
                self.settle();
            }
        }
        book
    }

    /// Carries what plans have counted over to the entries, and forgets plans that are no more.
    fn settle(&self) {
        let mut entries = self.entries();
        let mut plans = self.plans();
        for book in plans.iter() {
            for (copy, count, nanoseconds) in &book.copies {
                let times = count.swap(0, Relaxed);
                if times > 0 {
                    let key = (Cause::Implicit, copy.from, copy.to, copy.route, copy.op, copy.location);
                    let sums = entries.entry(key).or_default();
                    sums.0 += times;
                    sums.1 += times * copy.bytes as u64;
                    sums.2 += nanoseconds.swap(0, Relaxed) as f64 * 1e-9;
                }
            }
        }
        plans.retain(|book| Arc::strong_count(book) > 1);
    }

    /// Books a fallback of an op, whose own entry in a recording, or whose plan there, says it.
    pub(crate) fn book_fallback(
        &self,
        wanted: DeviceId,
        ran: DeviceId,
        op: &'static str,
        location: Location,
        seconds: f64,
    ) {
        let mut entries = self.entries();
        let sums = entries.entry((Cause::Fallback, wanted, ran, Route::Link, op, location)).or_default();
        sums.0 += 1;
        sums.2 += seconds;
    }

    /// Books a copy.
    pub(crate) fn book(
        &self,
        cause: Cause,
        (from, to, route): (DeviceId, DeviceId, Route),
        op: &'static str,
        location: Location,
        bytes: usize,
        seconds: f64,
    ) {
        let mut entries = self.entries();
        let sums = entries.entry((cause, from, to, route, op, location)).or_default();
        sums.0 += 1;
        sums.1 += bytes as u64;
        sums.2 += seconds;
    }

    pub(crate) fn report(&self) -> LedgerReport {
        self.settle();
        let entries = self.entries();
        let mut list: Vec<Entry> = entries
            .iter()
            .map(|(&(cause, from, to, route, op, location), &(count, bytes, seconds))| Entry {
                cause,
                from,
                to,
                route,
                op,
                location,
                count,
                bytes,
                seconds,
            })
            .collect();
        list.sort_by(|a, b| {
            (b.bytes, b.count).cmp(&(a.bytes, a.count)).then_with(|| {
                (a.cause, a.from, a.to, a.op, a.location).cmp(&(b.cause, b.from, b.to, b.op, b.location))
            })
        });
        LedgerReport { entries: list }
    }

    pub(crate) fn clear(&self) {
        self.settle();
        self.entries().clear();
    }
}

/// A copy of the books, the most bytes first.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LedgerReport {
    /// The entries, the most bytes first.
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
                "{:>13}  {} -> {}{}  {:>6}×  {:>10}  {:>9}  {} at {}",
                e.cause.name(),
                e.from,
                e.to,
                e.route.phrase(),
                e.count,
                situ_core::reason::bytes(e.bytes as usize),
                seconds(e.seconds),
                e.op,
                e.location
            )?;
        }
        Ok(())
    }
}
