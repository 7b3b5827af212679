//! Nested loops that are too long for one invocation, cut into boxes: one dispatch for each, which adds to
//! what those before it left. The order of boxes is that of the loops.

use super::run::Params;
use crate::borders::Borders;
use std::ops::Range;

/// The words of a box: ranges of the outer and the middle loop, then of the inner one, whether others came
/// before, and whether it is the last.
const BOX: usize = 9;

/// Three nested loops, outermost first, and how much of each is done at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boxes {
    sizes: [usize; 3],
    steps: [usize; 3],
}

impl Boxes {
    /// Loops of these sizes, for each of the four elements that an invocation makes; see `per_output`.
    pub(super) fn of(sizes: [usize; 3], borders: &Borders) -> Boxes {
        // Loops are left on a trip of their own.
        let budget = (borders.trips / 4).saturating_sub(8).max(8);
        let mut steps = [1; 3];
        let mut inside = 1;
        for axis in (0..3).rev() {
            steps[axis] = (budget.saturating_sub(2) / inside).clamp(1, sizes[axis].max(1));
            inside = steps[axis] * inside + 2;
            if steps[axis] < sizes[axis] {
                break;
            }
        }
        Boxes { sizes, steps }
    }

    pub(super) fn count(&self) -> usize {
        (0..3).map(|axis| Borders::parts(self.sizes[axis], self.steps[axis])).product()
    }

    /// The boxes, in the order of the loops.
    pub(super) fn iter(&self) -> impl Iterator<Item = [Range<usize>; 3]> + use<> {
        let Boxes { sizes, steps } = *self;
        let counts: [usize; 3] = std::array::from_fn(|axis| Borders::parts(sizes[axis], steps[axis]));
        (0..self.count()).map(move |number| {
            let at = [number / counts[2] / counts[1], number / counts[2] % counts[1], number % counts[2]];
            std::array::from_fn(|axis| {
                let first = at[axis] * steps[axis];
                first..sizes[axis].min(first + steps[axis])
            })
        })
    }

    /// The parameters of each box.
    pub(super) fn params(&self, params: Params) -> impl Iterator<Item = Params> + use<> {
        let last = self.count() - 1;
        self.iter().enumerate().map(move |(number, [outer, middle, inner])| {
            let words = [outer.start, outer.end, middle.start, middle.end, inner.start, inner.end];
            let words = words.map(|n| n as u32);
            let mut params = params;
            params.put(BOX, &words[..4]);
            params.put(BOX + 1, &[words[4], words[5], u32::from(number > 0), u32::from(number == last)]);
            params
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_cover_the_loops_once_in_order_and_none_is_too_long() {
        let borders = Borders {
            trips: 4000,
            groups: 65535,
            work: 1 << 30,
            block: 128 << 20,
            elements: i32::MAX as usize,
            software: true,
            subgroups: false,
        };
        for sizes in [[1, 1, 1], [3, 3, 3], [500, 3, 3], [2, 300, 70], [1, 7, 5000], [0, 3, 3]] {
            let boxes = Boxes::of(sizes, &borders);
            let mut visited = Vec::new();
            for [a, b, c] in boxes.iter() {
                let trips = a.len() * (b.len() * (c.len() + 1) + 1) + 1;
                assert!(4 * trips <= 4000, "{sizes:?}: {trips} trips");
                for i in a {
                    for j in b.clone() {
                        visited.extend(c.clone().map(|k| (i, j, k)));
                    }
                }
            }
            let all: Vec<_> = (0..sizes[0])
                .flat_map(|i| (0..sizes[1]).flat_map(move |j| (0..sizes[2]).map(move |k| (i, j, k))))
                .collect();
            assert_eq!(visited, all, "{sizes:?}");
            assert_eq!(boxes.iter().count(), boxes.count());
        }
    }
}
