//! How long launches take, by the device's own clock.

use std::sync::OnceLock;

/// The time of one launch. Whoever launches hands it over with the call, and the device fills it in: at once, or, where work is
/// queued, by the next read or sync. A device that can't tell leaves it empty.
#[derive(Debug, Default)]
pub struct Timing {
    seconds: OnceLock<f64>,
    span: OnceLock<(f64, f64)>,
}

impl Timing {
    /// Fills in the time; only the first counts.
    pub fn set(&self, seconds: f64) {
        let _ = self.seconds.set(seconds);
    }

    /// Fills in when it began and ended, in seconds of a clock that is the device's own: only differences mean anything, between
    /// launches of one device. Called before [`set`](Timing::set), by devices that can tell.
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
