//! Places for buffers in a device's arena, so that buffers share memory when they are never alive together.
//!
//! A buffer is alive over a stretch of one lane's steps. Two buffers may overlap in memory only if one's stretch ends before
//! the other's begins in the same lane; a buffer that several lanes touch is alive all the time. Predicted times play no part.

/// A buffer to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lived {
    pub(crate) bytes: usize,
    /// First and last step, and the lane; `None`: alive from the first step of the plan to its last.
    pub(crate) alive: Option<(usize, usize, usize)>,
}

impl Lived {
    fn overlaps(&self, other: &Lived) -> bool {
        match (self.alive, other.alive) {
            (Some((lane, first, last)), Some((other_lane, other_first, other_last))) => {
                lane != other_lane || (first <= other_last && other_first <= last)
            }
            _ => true,
        }
    }
}

/// An offset for each buffer, and the bytes of the arena. The largest buffers are placed first, each at the lowest offset
/// where it fits between those it overlaps with. The arena is made of chunks of `chunk` bytes (the largest block a device
/// gives), and no buffer lies across two of them.
pub(crate) fn pack(buffers: &[Lived], alignment: usize, chunk: usize) -> (Vec<usize>, usize) {
    let within = |at: usize, bytes: usize| match at % chunk + bytes <= chunk {
        true => at,
        false => at.next_multiple_of(chunk),
    };
    let size = |b: &Lived| b.bytes.max(1).next_multiple_of(alignment);
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(size(&buffers[i])), i));
    let mut offsets = vec![0; buffers.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut total = 0;
    for index in order {
        let bytes = size(&buffers[index]);
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|&&p| buffers[p].overlaps(&buffers[index]))
            .map(|&p| (offsets[p], offsets[p] + size(&buffers[p])))
            .collect();
        taken.sort_unstable();
        let mut at = 0;
        for (start, end) in taken {
            if start >= at + bytes {
                break;
            }
            at = within(at.max(end), bytes);
        }
        offsets[index] = at;
        total = total.max(at + bytes);
        placed.push(index);
    }
    (offsets, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lived(bytes: usize, lane: usize, first: usize, last: usize) -> Lived {
        Lived { bytes, alive: Some((lane, first, last)) }
    }

    #[test]
    fn a_chain_needs_two_buffers_however_long_it_is() {
        let chain: Vec<Lived> = (0..100).map(|i| lived(64, 0, i, i + 1)).collect();
        assert_eq!(pack(&chain, 64, 1 << 20).1, 128);
    }

    #[test]
    fn buffers_of_different_lanes_and_shared_ones_never_share_memory() {
        let buffers = [lived(64, 0, 0, 1), lived(64, 1, 5, 6), Lived { bytes: 64, alive: None }];
        let (offsets, total) = pack(&buffers, 64, 1 << 20);
        assert_eq!(total, 192);
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 64, 128]);
    }

    #[test]
    fn no_two_buffers_that_live_together_overlap_in_random_plans() {
        let mut seed = 7u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..200 {
            let buffers: Vec<Lived> = (0..next(30))
                .map(|_| {
                    let first = next(20) as usize;
                    let alive = (next(5) > 0).then(|| (next(2) as usize, first, first + next(8) as usize));
                    Lived { bytes: 1 + next(500) as usize, alive }
                })
                .collect();
            let (offsets, total) = pack(&buffers, 64, 512);
            for (i, a) in buffers.iter().enumerate() {
                assert!(offsets[i].is_multiple_of(64) && offsets[i] + a.bytes <= total);
                assert!(offsets[i] % 512 + a.bytes <= 512, "{a:?} lies across two chunks");
                for (j, b) in buffers.iter().enumerate().skip(i + 1) {
                    let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                    assert!(apart || !a.overlaps(b), "{a:?} and {b:?}");
                }
            }
        }
    }
}
