//! Which streams of random numbers the ops of a call draw from.
//!
//! A random op has a stream from when it was traced. The first call of a trace draws from that very stream,
//! call k from the one 2³² · k further; in a loop, the stream of a trip is a hash of that and of the trips of
//! all loops around it. So no two draws of a program share a stream, but by a chance of about 2⁻⁶³ for each
//! pair, and the same calls in the same order draw the same numbers on any device.

/// What a random op's own stream is changed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Draw {
    /// The number of the call among those of its trace that drew anything.
    call: u64,
    /// A hash of the trips that the loops around have made; 0 outside of loops.
    trips: u64,
}

impl Draw {
    /// Outside of loops.
    pub(crate) fn of_call(call: u64) -> Draw {
        Draw { call, trips: 0 }
    }

    /// In a trip of a loop, from 0 on.
    pub(crate) fn of_trip(self, trip: u64) -> Draw {
        // Never 0, which says that there is no loop.
        Draw { trips: mixed(self.trips ^ mixed(trip + 1)) | 1, ..self }
    }

    /// The stream to draw from in place of an op's own.
    #[inline]
    pub(crate) fn stream(self, own: u64) -> u64 {
        let of_call = own.wrapping_add(self.call << 32);
        if self.trips == 0 { of_call } else { mixed(of_call ^ self.trips) }
    }
}

/// A number from which every bit of another has its influence on every bit: the finalizer of SplitMix64, a
/// bijection.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn streams_of_ops_calls_and_trips_are_all_different() {
        let mut seen = HashSet::new();
        for call in (0..20).map(Draw::of_call) {
            for own in 0..10 {
                assert!(seen.insert(call.stream(own)), "outside of loops");
            }
            for outer in (0..20).map(|trip| call.of_trip(trip)) {
                for own in 10..13 {
                    assert!(seen.insert(outer.stream(own)), "in a loop");
                }
                for inner in (0..20).map(|trip| outer.of_trip(trip)) {
                    for own in 13..16 {
                        assert!(seen.insert(inner.stream(own)), "in a loop in a loop");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_call_draws_from_the_streams_of_the_trace() {
        assert_eq!(Draw::of_call(0).stream(7), 7);
    }
}
