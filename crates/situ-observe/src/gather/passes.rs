//! Passes: what a device timed as one, and the part of it that each launch is given.

use crate::record::{Launch, PassRecord};
use std::collections::HashMap;

/// What a launch counts for at least, in seconds, where nothing or next to nothing was expected of it: every
/// launch is to be seen.
const LEAST: f64 = 1e-7;

#[derive(Default)]
pub(super) struct Passes {
    known: HashMap<u64, usize>,
    list: Vec<PassRecord>,
    /// By pass: launches in their order, and what was expected of each.
    members: Vec<Vec<(usize, f64)>>,
}

impl Passes {
    /// The position of a pass, by the number that its device gave it.
    pub(super) fn position(&mut self, number: u64, device: usize, start: f64, end: f64) -> usize {
        *self.known.entry(number).or_insert_with(|| {
            self.list.push(PassRecord { device, start, end, launches: 0, predicted: 0.0 });
            self.members.push(Vec::new());
            self.list.len() - 1
        })
    }

    /// A launch, by its position, is part of a pass.
    pub(super) fn join(&mut self, pass: usize, launch: usize, predicted: f64) {
        self.members[pass].push((launch, predicted));
        self.list[pass].launches += 1;
        self.list[pass].predicted += predicted;
    }

    /// Gives each launch of a pass a part of its time, by what was expected of it, one after the other.
    pub(super) fn share_out(self, launches: &mut [Launch]) -> Vec<PassRecord> {
        for (pass, mut members) in self.list.iter().zip(self.members) {
            members.sort_by(|a, b| launches[a.0].queued.total_cmp(&launches[b.0].queued));
            let share = |predicted: f64| predicted.max(LEAST);
            let whole: f64 = members.iter().map(|(_, predicted)| share(*predicted)).sum();
            let mut at = pass.start;
            for (launch, predicted) in members {
                let launch = &mut launches[launch];
                launch.start = at;
                at += (pass.end - pass.start) * share(predicted) / whole;
                launch.end = at;
            }
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Clock, OpRef};

    #[test]
    fn a_pass_is_shared_out_by_what_was_expected_in_the_order_of_the_launches() {
        let launch = |queued: f64| Launch {
            op: OpRef::Eager { eager: 0 },
            device: 1,
            lane: 0,
            queued,
            launched: queued,
            start: 0.0,
            end: 0.0,
            clock: Clock::Pass,
            pass: Some(0),
        };
        let mut launches = vec![launch(2.0), launch(1.0)];
        let mut passes = Passes::default();
        for (n, predicted) in [(0, 3.0), (1, 1.0)] {
            let at = passes.position(77, 1, 10.0, 12.0);
            passes.join(at, n, predicted);
        }
        let list = passes.share_out(&mut launches);
        assert_eq!(list, [PassRecord { device: 1, start: 10.0, end: 12.0, launches: 2, predicted: 4.0 }]);
        assert_eq!([launches[1].start, launches[1].end], [10.0, 10.5]);
        assert_eq!([launches[0].start, launches[0].end], [10.5, 12.0]);
    }
}
