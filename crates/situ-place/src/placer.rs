//! The seam between those who ask for a placement and the algorithms, and what an algorithm may spend.

use crate::error::PlaceError;
use crate::placement::{Placement, Schedule};
use crate::problem::Problem;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A placement algorithm: a pure function of the problem and the budget, unless the budget is in seconds.
pub trait Placer: Send + Sync {
    /// Its name, as in `--algorithm`.
    fn name(&self) -> &'static str;

    /// Places every node, or says what makes that impossible.
    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError>;
}

/// What a search may spend, and where its random numbers begin. Algorithms that build one answer and stop
/// heed the seconds and the flag alone.
#[derive(Clone, Debug)]
pub struct Budget {
    /// How many moves may be tried.
    pub moves: u64,
    /// How long it may take, in seconds. An answer under such a limit is not repeatable.
    pub seconds: Option<f64>,
    /// The seed of every random choice.
    pub seed: u64,
    /// How many threads may work on it. The answer to a budget in moves does not depend on it.
    pub threads: usize,
    pub(crate) start: Option<Arc<Schedule>>,
    /// Whether quick algorithms are asked beside the start.
    pub(crate) is_far: bool,
    pub(crate) stop: Option<Arc<AtomicBool>>,
    pub(crate) watch: Option<Watch>,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The best makespan so far, in seconds.
    pub makespan: f64,
    /// A bound that no placement beats.
    pub lower_bound: f64,
    /// Moves tried so far.
    pub moves: u64,
    /// Seconds since the search began.
    pub seconds: f64,
}

/// Who is told of the progress.
#[derive(Clone)]
pub(crate) struct Watch(pub Arc<dyn Fn(&Progress) + Send + Sync>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::moves(10_000)
    }
}

impl Budget {
    /// A repeatable budget.
    pub fn moves(moves: u64) -> Budget {
        Budget {
            moves,
            seconds: None,
            seed: 0,
            threads: 1,
            start: None,
            is_far: false,
            stop: None,
            watch: None,
        }
    }

    /// A budget of wall time.
    pub fn seconds(seconds: f64) -> Budget {
        Budget { seconds: Some(seconds), ..Budget::moves(u64::MAX) }
    }

    /// With another seed.
    pub fn seed(self, seed: u64) -> Budget {
        Budget { seed, ..self }
    }

    /// With this many threads, at least one.
    pub fn threads(self, threads: usize) -> Budget {
        Budget { threads: threads.max(1), ..self }
    }

    /// Ends early, with the best answer so far, once the flag is set.
    pub fn stop_when(self, stop: Arc<AtomicBool>) -> Budget {
        Budget { stop: Some(stop), ..self }
    }

    /// Tells of the progress, now and then, from the thread that asked for the placement.
    pub fn watch(self, watch: impl Fn(&Progress) + Send + Sync + 'static) -> Budget {
        Budget { watch: Some(Watch(Arc::new(watch))), ..self }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Begins from an earlier placement of the same nodes: for costs that changed a little.
    pub fn starting_from(self, placement: &Placement) -> Budget {
        Budget { start: Some(Arc::new(placement.schedule())), ..self }
    }

    /// Begins from an earlier placement of the same nodes, for costs that may have changed by much: the
    /// answer is never worse than keeping that placement, than everything on one device, or than list
    /// scheduling.
    pub fn starting_near(self, placement: &Placement) -> Budget {
        Budget { is_far: true, ..self.starting_from(placement) }
    }
}

/// What is much of the time, and what is put aside then, as shares of it.
const MUCH: f64 = 0.05;
const SPARE: f64 = 0.2;

/// A clock that is read only where the budget is in seconds, so that other runs do not depend on time.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    begun: Instant,
    seconds: Option<f64>,
}

impl Deadline {
    pub(crate) fn new(budget: &Budget) -> Deadline {
        Deadline { begun: Instant::now(), seconds: budget.seconds }
    }

    pub(crate) fn passed(&self) -> bool {
        self.seconds.is_some_and(|s| self.begun.elapsed().as_secs_f64() >= s)
    }

    /// Where the first step took much of the time, so may others take longer than they should: a little is
    /// put aside.
    pub(crate) fn with_spare(self, one: f64) -> Deadline {
        let spare = self.seconds.filter(|s| one > s * MUCH).map_or(0.0, |s| s * SPARE);
        self.sooner(spare)
    }

    /// A deadline after a share of the time that is left.
    pub(crate) fn share(self, share: f64) -> Deadline {
        let elapsed = self.elapsed();
        Deadline { seconds: self.seconds.map(|s| elapsed + share * (s - elapsed).max(0.0)), ..self }
    }

    /// The sooner of this deadline and one in so many seconds.
    pub(crate) fn within(self, seconds: f64) -> Deadline {
        let end = self.elapsed() + seconds;
        Deadline { seconds: self.seconds.map(|s| s.min(end)), ..self }
    }

    /// The seconds that are left, if they are counted.
    pub(crate) fn left(&self) -> Option<f64> {
        self.seconds.map(|s| (s - self.elapsed()).max(0.0))
    }

    /// A deadline so many seconds before this one.
    pub(crate) fn sooner(self, seconds: f64) -> Deadline {
        Deadline { seconds: self.seconds.map(|s| s - seconds), ..self }
    }

    pub(crate) fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}
