//! Places for buffers in a device's arena, so that buffers share memory when they are never alive together.
//!
//! Two buffers may overlap in memory only if every step that touches one is over before the first step that
//! touches the other begins, by the order of a lane or by what the lanes wait for. Predicted times play no
//! part.

use super::plan::LaneIndex;
use smallvec::SmallVec;

/// How far each lane is known to be when a step begins: the number of its steps that are over.
pub(crate) type Known = SmallVec<[usize; 4]>;

/// A buffer's life, from the step that writes it to the last step of each lane that touches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// The lane and the step that touch it first.
    pub(crate) first: (LaneIndex, usize),
    /// How far the lanes are known to be then.
    pub(crate) known: Known,
    /// For each lane that touches it, the last step that does.
    pub(crate) last: SmallVec<[(LaneIndex, usize); 2]>,
}

impl Life {
    /// A step that touches it.
    pub(crate) fn touch(&mut self, lane: LaneIndex, step: usize) {
        match self.last.iter_mut().find(|(l, _)| *l == lane) {
            Some((_, last)) => *last = step,
            None => self.last.push((lane, step)),
        }
    }

    /// Whether this one is over for certain when the other begins.
    fn is_over_before(&self, other: &Life) -> bool {
        self.last.iter().all(|&(lane, last)| match lane == other.first.0 {
            true => last < other.first.1,
            false => other.known.get(lane).is_some_and(|&over| over > last),
        })
    }
}

/// A buffer to place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArenaBuffer {
    pub(crate) bytes: usize,
    /// `None`: alive from the first step of the plan to its last.
    pub(crate) life: Option<Life>,
}

impl ArenaBuffer {
    fn overlaps(&self, other: &ArenaBuffer) -> bool {
        match (&self.life, &other.life) {
            (Some(a), Some(b)) => !a.is_over_before(b) && !b.is_over_before(a),
            _ => true,
        }
    }
}

/// An offset for each buffer, and the bytes of the arena. The largest buffers are placed first, each at the
/// lowest offset where it fits between those it overlaps with. The arena is made of chunks of `chunk` bytes
/// (the largest block a device gives), and no buffer lies across two of them; one that is larger than a chunk
/// has no place, and its number is the error.
pub(crate) fn pack(
    buffers: &[ArenaBuffer],
    alignment: usize,
    chunk: usize,
) -> Result<(Vec<usize>, usize), usize> {
    let size = |b: &ArenaBuffer| b.bytes.max(1).next_multiple_of(alignment);
    if let Some(over) = buffers.iter().position(|b| b.bytes > chunk || size(b) > chunk) {
        return Err(over);
    }
    let within = |at: usize, bytes: usize| match at % chunk + bytes <= chunk {
        true => at,
        false => at.next_multiple_of(chunk),
    };
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
    Ok((offsets, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lived(bytes: usize, lane: usize, first: usize, last: usize) -> ArenaBuffer {
        let known = SmallVec::from_slice(&[0, 0]);
        let last = SmallVec::from_slice(&[(lane, last)]);
        ArenaBuffer { bytes, life: Some(Life { first: (lane, first), known, last }) }
    }

    #[test]
    fn a_chain_needs_two_buffers_however_long_it_is() {
        let chain: Vec<ArenaBuffer> = (0..100).map(|i| lived(64, 0, i, i + 1)).collect();
        assert_eq!(pack(&chain, 64, 1 << 20).unwrap().1, 128);
    }

    #[test]
    fn a_buffer_larger_than_a_chunk_has_no_place() {
        let with = |bytes| [lived(64, 0, 0, 1), lived(bytes, 0, 2, 3)];
        assert_eq!(pack(&with(512), 64, 512).unwrap().1, 512);
        for bytes in [513, 576, usize::MAX] {
            assert_eq!(pack(&with(bytes), 64, 512), Err(1), "{bytes}");
        }
    }

    #[test]
    fn buffers_of_different_lanes_and_shared_ones_never_share_memory() {
        let buffers = [lived(64, 0, 0, 1), lived(64, 1, 5, 6), ArenaBuffer { bytes: 64, life: None }];
        let (offsets, total) = pack(&buffers, 64, 1 << 20).unwrap();
        assert_eq!(total, 192);
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 64, 128]);
    }

    #[test]
    fn a_buffer_of_another_lane_is_reused_once_that_lane_is_known_to_be_done_with_it() {
        let copied = lived(64, 0, 0, 3);
        let mut later = lived(64, 1, 5, 6);
        assert!(copied.overlaps(&later));
        for (over, apart) in [(3, false), (4, true)] {
            if let Some(life) = &mut later.life {
                life.known[0] = over;
            }
            assert_eq!(!copied.overlaps(&later), apart, "{over} steps of lane 0 are over");
        }
        // Touched by lane 1 as well, it lives until that is done too.
        let mut both = copied.clone();
        both.life.as_mut().unwrap().touch(1, 5);
        assert!(both.overlaps(&later));
    }

    #[test]
    fn no_two_buffers_that_live_together_overlap_in_random_plans() {
        let mut seed = 7u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..200 {
            let buffers: Vec<ArenaBuffer> = (0..next(30))
                .map(|_| {
                    let first = next(20) as usize;
                    let bytes = 1 + next(500) as usize;
                    match next(5) {
                        0 => ArenaBuffer { bytes, life: None },
                        _ => lived(bytes, next(2) as usize, first, first + next(8) as usize),
                    }
                })
                .collect();
            let (offsets, total) = pack(&buffers, 64, 512).unwrap();
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
