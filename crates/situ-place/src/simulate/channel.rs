//! A link, or several that share one channel: one copy at a time, each in the first gap that is long enough.

#[derive(Clone, Default)]
pub(crate) struct Channel {
    /// Busy spans, in order, without overlap.
    busy: Vec<(f64, f64)>,
}

impl Channel {
    /// Takes the first span of that length at or after `ready`; returns its start.
    pub(crate) fn claim(&mut self, ready: f64, seconds: f64) -> f64 {
        if seconds <= 0.0 {
            return ready;
        }
        let mut at = self.busy.partition_point(|b| b.1 <= ready);
        let mut start = ready;
        while at < self.busy.len() && self.busy[at].0 < start + seconds {
            start = start.max(self.busy[at].1);
            at += 1;
        }
        self.busy.insert(at, (start, start + seconds));
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_the_first_gap_that_is_long_enough() {
        let mut channel = Channel::default();
        assert_eq!(channel.claim(2.0, 1.0), 2.0);
        assert_eq!(channel.claim(5.0, 1.0), 5.0);
        assert_eq!(channel.claim(0.0, 3.0), 6.0);
        assert_eq!(channel.claim(0.0, 2.0), 0.0);
        assert_eq!(channel.claim(1.0, 2.0), 3.0);
        assert_eq!(channel.claim(1.0, 0.0), 1.0);
    }
}
