//! Which elements of windows lie on the image: the others meet zeros, which add nothing to a sum as long as
//! what they are multiplied by is finite, and are passed over. A sum that begins with zero never is -0, so
//! not a bit of it changes.

use super::windows::Axis;
use std::ops::Range;

/// Products of a pixel with one column of a window, at least, for columns to be taken one by one: fewer cost
/// less than putting the sums aside in between.
pub(super) const STEPS: usize = 64;

/// Windows on an image of some size, and the elements of them and channels that are multiplied.
#[derive(Debug)]
pub(super) struct OnImage {
    pub(super) axes: [Axis; 2],
    pub(super) size: [usize; 2],
    pub(super) elements: [Range<usize>; 2],
    pub(super) channels: usize,
}

impl OnImage {
    /// The rows of the window at a place down the image that lie on it.
    pub(super) fn down(&self, place: usize) -> Range<usize> {
        let Axis { step, offset, dilation, .. } = self.axes[0];
        let inside = |k: usize| {
            let at = place as isize * step + offset + k as isize * dilation;
            at >= 0 && at < self.size[0] as isize
        };
        let Range { mut start, mut end } = self.elements[0];
        while start < end && !inside(start) {
            start += 1;
        }
        while start < end && !inside(end - 1) {
            end -= 1;
        }
        start..end
    }

    /// Of `count` places across from `first` on, those at which a column of the window lies on the image.
    fn across(&self, column: usize, first: usize, count: usize) -> Range<usize> {
        let Axis { step, offset, dilation, .. } = self.axes[1];
        let from = first as isize * step + offset + column as isize * dilation;
        let before = if from < 0 { (-from + step - 1) / step } else { 0 };
        let end = (self.size[1] as isize - from + step - 1).max(0) / step;
        let start = (before as usize).min(count);
        start..(end as usize).clamp(start, count)
    }

    /// Calls `f` with pixels, counted from `first`, and the steps to multiply them by; steps are in the order
    /// of [`Block::each`](super::blocks::Block::each). Only what lies on the image is among them with
    /// `passes`; without, all is, in the same order. `lines` are the rows of the window that lie on it.
    #[inline(always)]
    pub(super) fn each(
        &self,
        passes: bool,
        lines: &Range<usize>,
        [first, count]: [usize; 2],
        mut f: impl FnMut(Range<usize>, Range<usize>),
    ) {
        let [down, across] = &self.elements;
        let each = down.len() * self.channels;
        let all = lines == down;
        let whole = |column: usize| self.across(column, first, count) == (0..count);
        let inside = across.is_empty() || whole(across.start) && whole(across.end - 1);
        if all && inside || lines.len() * self.channels < STEPS {
            f(0..count, 0..each * across.len());
            return;
        }
        let rows = if passes { lines } else { down };
        let (skipped, steps) = ((rows.start - down.start) * self.channels, rows.len() * self.channels);
        // Columns that are on the image at all places come first: they begin every sum.
        let mut some = false;
        for partly in [false, true] {
            let mut column = across.start;
            while column < across.end {
                let pixels = self.across(column, first, count);
                let begin = (column - across.start) * each + skipped;
                let mut end = begin + steps;
                column += 1;
                while all && column < across.end && self.across(column, first, count) == pixels {
                    (end, column) = (end + each, column + 1);
                }
                if (pixels.len() < count) == partly {
                    let pixels = if passes { pixels } else { 0..count };
                    if !pixels.is_empty() {
                        f(pixels, begin..end);
                        some = true;
                    }
                }
            }
        }
        if !some {
            f(0..count, 0..0);
        }
    }
}
