//! Something that does one thing at a time: a link, several links that share a channel, a slot of a device.

/// Busy spans, in order, without overlap.
#[derive(Clone, Default)]
pub(crate) struct Busy {
    spans: Vec<(f64, f64)>,
}

impl Busy {
    /// The first start at or after `ready` with room for `seconds`, and the place of that span in the list.
    pub(crate) fn fit(&self, ready: f64, seconds: f64) -> (f64, usize) {
        let mut at = point_from_end(&self.spans, |b| b.1 <= ready);
        let mut start = ready;
        while at < self.spans.len() && self.spans[at].0 < start + seconds {
            start = start.max(self.spans[at].1);
            at += 1;
        }
        (start, at)
    }

    /// Takes the first span of that length at or after `ready`; returns its start. No time needs no span. For
    /// `useless` see [`insert`](Busy::insert).
    pub(crate) fn claim(&mut self, ready: f64, seconds: f64, useless: f64) -> f64 {
        if seconds <= 0.0 {
            return ready;
        }
        let (start, at) = self.fit(ready, seconds);
        self.insert(at, start, start + seconds, useless);
        start
    }

    /// What [`claim`](Busy::claim) would return.
    pub(crate) fn peek(&self, ready: f64, seconds: f64) -> f64 {
        if seconds <= 0.0 { ready } else { self.fit(ready, seconds).0 }
    }

    /// Takes a span that [`fit`](Busy::fit) found. Gaps up to `useless` seconds, which nothing will fit into,
    /// are closed: a long busy stretch is then one span, however many things it is made of.
    pub(crate) fn insert(&mut self, at: usize, start: f64, finish: f64, useless: f64) {
        let joins_before = at > 0 && start - self.spans[at - 1].1 <= useless;
        let joins_after = at < self.spans.len() && self.spans[at].0 - finish <= useless;
        match (joins_before, joins_after) {
            (true, true) => {
                self.spans[at - 1].1 = self.spans[at].1;
                self.spans.remove(at);
            }
            (true, false) => self.spans[at - 1].1 = finish,
            (false, true) => self.spans[at].0 = start,
            (false, false) => self.spans.insert(at, (start, finish)),
        }
    }

    /// When the last span ends.
    pub(crate) fn end(&self) -> f64 {
        self.spans.last().map_or(0.0, |s| s.1)
    }

    /// When the span before this place in the list ends.
    pub(crate) fn end_before(&self, at: usize) -> f64 {
        if at == 0 { 0.0 } else { self.spans[at - 1].1 }
    }
}

/// As `partition_point`, for a point that is mostly near the end.
#[inline]
pub(crate) fn point_from_end<T>(items: &[T], before: impl Fn(&T) -> bool) -> usize {
    let (mut high, mut step) = (items.len(), 1);
    while high > 0 {
        let low = high.saturating_sub(step);
        if before(&items[low]) {
            return low + 1 + items[low + 1..high].partition_point(before);
        }
        high = low;
        step *= 4;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_the_same_from_either_end() {
        for count in 0..40 {
            let items: Vec<usize> = (0..count).collect();
            for point in 0..=count {
                assert_eq!(point_from_end(&items, |&i| i < point), point);
            }
        }
    }

    #[test]
    fn a_span_takes_the_first_gap_that_is_long_enough() {
        let mut busy = Busy::default();
        assert_eq!(busy.claim(2.0, 1.0, 0.0), 2.0);
        assert_eq!(busy.claim(5.0, 1.0, 0.0), 5.0);
        assert_eq!(busy.claim(0.0, 3.0, 0.0), 6.0);
        assert_eq!(busy.claim(0.0, 2.0, 0.0), 0.0);
        assert_eq!(busy.claim(1.0, 2.0, 0.0), 3.0);
        assert_eq!(busy.claim(1.0, 0.0, 0.0), 1.0);
    }
}
