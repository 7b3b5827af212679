//! How the gradient by the filters is cut. Shapes alone decide.

use super::blocks::{self, even};
use super::region::Region;
use super::windows::{Axis, Windows};
use std::ops::Range;

/// Bytes of a region, and of the gradients of its pixels beside it, at most.
const REGION_BYTES: usize = 192 << 10;
const PANEL_BYTES: usize = 160 << 10;
/// Pixels that are summed at a time: fewer make the ends of a tile dear, more gain nothing.
const FEW: usize = 128;
const MANY: usize = 1024;
/// Tasks that are enough for any number of threads, about; parts that are summed apart, at most.
const TASKS: usize = 16;
const PARTS: usize = 8;
/// Numbers in all parts together, at most, unless one part alone has more.
const MOST: usize = 8 << 20;

/// The cuts of a gradient by the filters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// Channels, filters, and elements of the window that a task has.
    pub(super) channels: usize,
    pub(super) filters: usize,
    pub(super) elements: [usize; 2],
    /// Sums of blocks of pixels that are kept apart.
    pub(super) parts: usize,
    images: usize,
    places: [usize; 2],
    batch: usize,
    all: [usize; 2],
}

/// Pixels that are summed at a time.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) images: Range<usize>,
    pub(super) places: [Range<usize>; 2],
}

impl Cuts {
    pub(super) fn new(
        axes: [Axis; 2],
        [batch, groups, taken, made]: [usize; 4],
        last: bool,
        size: usize,
    ) -> Cuts {
        let all = axes.map(|axis| axis.places);
        let line = 64 / size;
        // Whole panels of any level.
        let filters = even(made, 128).next_multiple_of(2 * line);
        let pixels = (PANEL_BYTES / (filters * size)).clamp(1, MANY);
        let columns = even(all[1], pixels);
        let mut cuts = Cuts {
            channels: even(taken, 128),
            filters,
            elements: axes.map(|axis| axis.window),
            parts: 1,
            images: 1,
            places: [even(all[0], pixels / columns), columns],
            batch,
            all,
        };
        let too_large = |cuts: &Cuts| cuts.bytes(axes, last, size) > REGION_BYTES;
        while too_large(&cuts) {
            let Cuts { channels, elements: [down, across], places: [rows, columns], .. } = &mut cuts;
            if *rows > 1 && *rows * *columns > 2 * FEW {
                *rows = even(all[0], *rows / 2);
            } else if *channels > 14 {
                *channels = even(taken, *channels / 2);
            } else if *rows > 1 {
                *rows = even(all[0], *rows / 2);
            } else if *columns > FEW {
                *columns = even(all[1], *columns / 2);
            } else if let Some(longest) = [down, across].into_iter().find(|n| **n > 1) {
                *longest = longest.div_ceil(2);
            } else if *channels > 1 {
                *channels = even(taken, *channels / 2);
            } else if *columns > 1 {
                *columns = even(all[1], *columns / 2);
            } else {
                break;
            }
        }
        // Small images go together.
        if cuts.places == all {
            let area = (all[0] * all[1]).max(1);
            let room = REGION_BYTES / cuts.bytes(axes, last, size).max(1);
            cuts.images = even(batch, (2 * FEW / area).min(room).min(pixels / area).max(1));
        }
        let cut = |whole: usize, part: usize| whole.div_ceil(part.max(1));
        let tasks = groups
            * cut(taken, cuts.channels)
            * cut(made, cuts.filters)
            * cut(axes[0].window, cuts.elements[0])
            * cut(axes[1].window, cuts.elements[1]);
        let sums = groups * taken * axes[0].window * axes[1].window * made.next_multiple_of(line);
        cuts.parts =
            TASKS.div_ceil(tasks.max(1)).min(PARTS).min(cuts.pieces()).min(MOST / sums.max(1)).max(1);
        cuts
    }

    fn bytes(&self, axes: [Axis; 2], last: bool, size: usize) -> usize {
        let windows = [Windows { axes, filter: (0, [0; 2]), target: (0, [0; 2]) }];
        let bounds = blocks::bounds(&windows, &self.places.map(|n| 0..n), &self.elements.map(|n| 0..n));
        Region::new(bounds, self.channels, last, size).len.saturating_mul(size)
    }

    /// From one piece to the next there are as many down, and across.
    fn counts(&self) -> [usize; 2] {
        [0, 1].map(|n| self.all[n].div_ceil(self.places[n]))
    }

    /// Pieces in all.
    pub(super) fn pieces(&self) -> usize {
        let [down, across] = self.counts();
        self.batch.div_ceil(self.images) * down * across
    }

    /// A piece, by its number.
    pub(super) fn piece(&self, number: usize) -> Piece {
        let [down, across] = self.counts();
        let (images, y, x) = (number / across / down, number / across % down, number % across);
        let range = |n: usize, part: usize, whole: usize| n * part..whole.min((n + 1) * part);
        Piece {
            images: range(images, self.images, self.batch),
            places: [range(y, self.places[0], self.all[0]), range(x, self.places[1], self.all[1])],
        }
    }
}
