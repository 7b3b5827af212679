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
    /// Tails under the trial's devices, each with the number of the trial that it is of: what has an older
    /// one is as kept.
    pub tails: Vec<(f64, u32)>,
    pub number: u32,
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
            tails: vec![(0.0, 0); count],
            number: 0,
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

    /// The tail of a node is to be found anew. Until it is, it is not asked for: readers come first.
    #[inline]
    pub(super) fn mark(&mut self, node: u32) {
        self.tails[node as usize].1 = self.number;
    }

    pub(super) fn touch(&mut self, place: usize) {
        self.first = self.first.min(place);
        self.last = self.last.max(place);
    }
}
