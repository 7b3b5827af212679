//! Where copies and fallbacks are reported to: the ledger always, and recordings while there are any.
//!
//! Promises: what is in the ledger and what is in a recording come from the same call, so that neither misses
//! what the other has. Where nobody records, that costs a look at one flag.

use crate::ledger::{Cause, Ledger, PlanCopies, PlannedCopy, Route};
use crate::recording::Recordings;
use situ_core::{DeviceId, Location, Reason};

/// The ledger of a runtime, and those who record what it does.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) ledger: Ledger,
    pub(crate) recordings: Recordings,
}

impl Journal {
    /// A copy that was made outside of a plan.
    pub(crate) fn copied(
        &self,
        cause: Cause,
        (from, to, route): (DeviceId, DeviceId, Route),
        op: &'static str,
        location: Location,
        bytes: usize,
        seconds: f64,
    ) {
        if self.recordings.is_on() {
            self.recordings.copied(cause, (from, to, route), op, location, bytes, seconds);
        }
        self.ledger.book(cause, (from, to, route), op, location, bytes, seconds);
    }

    /// A run of a copy of a plan that no step of a recording stands for. The plan has booked it.
    #[cold]
    pub(crate) fn copied_by_plan(&self, copies: &PlanCopies, number: usize, seconds: f64) {
        if let Some(&PlannedCopy { from, to, route, op, location, bytes }) = copies.get(number) {
            self.recordings.copied(Cause::Implicit, (from, to, route), op, location, bytes, seconds);
        }
    }

    /// A fallback of which nothing else tells a recording: of data, and of ops inside of conditions and
    /// loops.
    pub(crate) fn fell_back(
        &self,
        wanted: DeviceId,
        ran: DeviceId,
        op: &'static str,
        reason: Reason,
        location: Location,
    ) {
        if self.recordings.is_on() {
            self.recordings.fell_back(wanted, ran, op, reason, location);
        }
        self.ledger.book_fallback(wanted, ran, op, location, 0.0);
    }
}
