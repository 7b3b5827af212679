//! Errors that depend on data and are known only when queued work has run.
//!
//! A launch that may fail so returns a [`Check`]. Every tensor that depends on it carries it; the device
//! settles it at the next read or sync, and a read of such a tensor then returns the error instead of data.

use situ_core::Location;
use situ_core::error::{Data, Fault};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The outcome, sooner or later, of one launch.
#[derive(Debug)]
pub struct Check {
    op: &'static str,
    location: Option<Location>,
    outcome: OnceLock<Option<Data>>,
    reported: AtomicBool,
}

impl Check {
    /// A check that is still open.
    pub fn open(op: &'static str, location: Option<Location>) -> Arc<Check> {
        Arc::new(Check { op, location, outcome: OnceLock::new(), reported: AtomicBool::new(false) })
    }

    /// Settles it: all was well, or this was wrong with the value at this row. Only the first call counts.
    pub fn settle(&self, fault: Option<(Fault, usize)>) {
        let data = fault.map(|(fault, row)| Data::new(self.op, fault, row, self.location));
        let _ = self.outcome.set(data);
    }

    /// `None` while it is open, then whether and how it failed.
    pub fn outcome(&self) -> Option<Option<&Data>> {
        self.outcome.get().map(Option::as_ref)
    }

    /// Notes that the program was told of the failure; says whether it had been told before.
    pub fn report(&self) -> bool {
        self.reported.swap(true, Relaxed)
    }
}
