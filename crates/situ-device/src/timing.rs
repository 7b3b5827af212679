//! How long launches take, by the device's own clock.

use std::sync::OnceLock;

/// The time of one launch. Whoever launches hands it over with the call, and the device fills it in: at once, or, where work is
/// queued, by the next read or sync. A device that can't tell leaves it empty.
#[derive(Debug, Default)]
pub struct Timing {
    seconds: OnceLock<f64>,
}

impl Timing {
    /// Fills in the time; only the first counts.
    pub fn set(&self, seconds: f64) {
        let _ = self.seconds.set(seconds);
    }

    /// The time, once it is known.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds.get().copied()
    }
}
