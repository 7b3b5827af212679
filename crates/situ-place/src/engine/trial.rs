//! What a trial has changed, so that it can be undone or kept.

pub(super) struct Trial {
    /// Groups that moved, with the devices they came from.
    pub moved: Vec<(u32, u16)>,
    /// Shifts of the order, from place to place.
    pub shifts: Vec<(u32, u32)>,
    /// The first place to time again, and the last one touched.
    pub first: usize,
    pub last: usize,
    /// Times replaced by the run, by place, from `first` to before `stop`.
    pub old: Vec<(f64, f64)>,
    pub stop: usize,
    pub latest: f64,
    pub makespan: f64,
    /// Tails under the trial's devices, of the nodes up to the last one moved.
    pub tail: Vec<f64>,
    pub stale: Vec<bool>,
}

impl Trial {
    pub(super) fn new(count: usize) -> Trial {
        Trial {
            moved: Vec::new(),
            shifts: Vec::new(),
            first: usize::MAX,
            last: 0,
            old: vec![(0.0, 0.0); count],
            stop: 0,
            latest: 0.0,
            makespan: 0.0,
            tail: vec![0.0; count],
            stale: vec![false; count],
        }
    }

    pub(super) fn reset(&mut self) {
        self.moved.clear();
        self.shifts.clear();
        self.first = usize::MAX;
        self.last = 0;
        self.stop = 0;
    }

    pub(super) fn touch(&mut self, place: usize) {
        self.first = self.first.min(place);
        self.last = self.last.max(place);
    }
}
