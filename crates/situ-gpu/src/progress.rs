//! How much work is queued and not done, in seconds, by the speed this device has shown.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Batches below this much work say more about latency than about speed.
const TELLING: u64 = 1 << 16;

/// What has been submitted, what is done, and how fast it went.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    outstanding: u64,
    last_done: Option<Instant>,
    /// Work per second; `None` until a telling batch has finished.
    rate: Option<f64>,
}

impl Progress {
    pub(crate) fn submitted(&self, work: u64) {
        self.lock().outstanding += work;
    }

    /// A batch submitted at `since` is done.
    pub(crate) fn done(&self, work: u64, since: Instant) {
        let now = Instant::now();
        let mut state = self.lock();
        state.outstanding = state.outstanding.saturating_sub(work);
        // Batches run one after the other: this one began when it was submitted, or when the last one ended.
        let began = state.last_done.map_or(since, |last| last.max(since));
        state.last_done = Some(now);
        let seconds = now.duration_since(began).as_secs_f64();
        if work >= TELLING && seconds > 0.0 {
            let seen = work as f64 / seconds;
            state.rate = Some(state.rate.map_or(seen, |rate| 0.8 * rate + 0.2 * seen));
        }
    }

    /// Whether anything submitted is not known to be done.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().outstanding == 0
    }

    /// Seconds until what is submitted, and `recorded` more, will be done; 0 while the speed is unknown.
    pub(crate) fn backlog(&self, recorded: u64) -> f64 {
        let state = self.lock();
        state.rate.map_or(0.0, |rate| (state.outstanding + recorded) as f64 / rate)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_backlog_is_what_is_queued_at_the_speed_seen() {
        let progress = Progress::default();
        assert!(progress.is_idle());
        progress.submitted(1 << 20);
        assert!(!progress.is_idle());
        assert_eq!(progress.backlog(0), 0.0);
        let since = Instant::now() - Duration::from_millis(100);
        progress.done(1 << 20, since);
        assert_eq!(progress.backlog(0), 0.0);
        progress.submitted(1 << 20);
        let backlog = progress.backlog(1 << 20);
        assert!((0.2..0.4).contains(&backlog), "{backlog}");
    }
}
