//! Something that does one thing at a time: a link, several links that share a channel, a slot of a device.

/// Busy spans, in order, without overlap.
#[derive(Clone, Default)]
pub(crate) struct Busy {
    spans: Vec<(f64, f64)>,
}

impl Busy {
    /// The first start at or after `ready` with room for `seconds`, and the place of that span in the list.
    pub(crate) fn fit(&self, ready: f64, seconds: f64) -> (f64, usize) {
        let mut at = self.spans.partition_point(|b| b.1 <= ready);
        let mut start = ready;
        while at < self.spans.len() && self.spans[at].0 < start + seconds {
            start = start.max(self.spans[at].1);
            at += 1;
        }
        (start, at)
    }

    /// Takes the first span of that length at or after `ready`; returns its start. No time needs no span.
    pub(crate) fn claim(&mut self, ready: f64, seconds: f64) -> f64 {
        if seconds <= 0.0 {
            return ready;
        }
        let (start, at) = self.fit(ready, seconds);
        self.spans.insert(at, (start, start + seconds));
        start
    }

    /// What [`claim`](Busy::claim) would return.
    pub(crate) fn peek(&self, ready: f64, seconds: f64) -> f64 {
        if seconds <= 0.0 { ready } else { self.fit(ready, seconds).0 }
    }

    /// Takes a span that [`fit`](Busy::fit) found.
    pub(crate) fn insert(&mut self, at: usize, start: f64, finish: f64) {
        self.spans.insert(at, (start, finish));
    }

    /// When the span before this place in the list ends.
    pub(crate) fn end_before(&self, at: usize) -> f64 {
        if at == 0 { 0.0 } else { self.spans[at - 1].1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_takes_the_first_gap_that_is_long_enough() {
        let mut busy = Busy::default();
        assert_eq!(busy.claim(2.0, 1.0), 2.0);
        assert_eq!(busy.claim(5.0, 1.0), 5.0);
        assert_eq!(busy.claim(0.0, 3.0), 6.0);
        assert_eq!(busy.claim(0.0, 2.0), 0.0);
        assert_eq!(busy.claim(1.0, 2.0), 3.0);
        assert_eq!(busy.claim(1.0, 0.0), 1.0);
    }
}
