//! How long launches take, by the device's own clock.

use std::sync::OnceLock;

/// The time of one launch. Whoever launches hands it over with the call, and the device fills it in: at once,
/// or, where work is queued, by the next read or sync. A device that can't tell leaves it empty.
#[derive(Debug, Default)]
pub struct Timing {
    seconds: OnceLock<f64>,
    span: OnceLock<(f64, f64)>,
    with_others: bool,
    pass: OnceLock<TimedPass>,
}

/// Launches that a device ran as one and timed as one, in seconds of the device's own clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimedPass {
    /// The same for all launches of the pass, and for no others of the process.
    pub number: u64,
    /// When the first of them began.
    pub start: f64,
    /// When the last of them was over.
    pub end: f64,
}

impl Timing {
    /// One that does not ask for the time of the launch alone: a device for which that is dear may tell that
    /// of the [`TimedPass`] which the launch is part of.
    pub fn with_others() -> Timing {
        Timing { with_others: true, ..Timing::default() }
    }

    /// Whether the time of the pass will do.
    pub fn is_with_others(&self) -> bool {
        self.with_others
    }

    /// Fills in the pass; only the first counts.
    pub fn set_pass(&self, pass: TimedPass) {
        let _ = self.pass.set(pass);
    }

    /// The pass that it was part of, if the device timed that.
    pub fn pass(&self) -> Option<TimedPass> {
        self.pass.get().copied()
    }

    /// Fills in the time; only the first counts.
    pub fn set(&self, seconds: f64) {
        let _ = self.seconds.set(seconds);
    }

    /// Fills in when it began and ended, in seconds of a clock that is the device's own: only differences
    /// mean anything, between launches of one device. Called before [`set`](Timing::set), by devices that can
    /// tell.
    pub fn set_span(&self, start: f64, end: f64) {
        let _ = self.span.set((start, end));
    }

    /// When it began and ended by the device's clock, if the device could tell.
    pub fn span(&self) -> Option<(f64, f64)> {
        self.span.get().copied()
    }

    /// The time, once it is known.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds.get().copied()
    }
}
