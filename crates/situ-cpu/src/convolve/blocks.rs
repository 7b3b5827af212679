//! How a convolution is cut: what a task computes, and how much of it at a time. Shapes alone decide.

use super::region::Region;
use super::windows::Windows;
use std::ops::Range;

/// Elements of windows, over all channels, that are multiplied at a time, at most: a panel of filters with as
/// many stays in the second-level cache beside the region.
const DEPTH: usize = 640;
/// Bytes of a region, at most.
const REGION_BYTES: usize = 224 << 10;
/// Products of a task, about: enough to be worth a task, few enough to leave some for every thread.
const TASK: usize = 3 << 20;

/// The cuts of a correlation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Channels at a time.
    pub(super) channels: usize,
    /// Elements of a window at a time, down and across.
    pub(super) elements: [usize; 2],
    /// Places of a task, down and across.
    pub(super) places: [usize; 2],
}

/// What is multiplied at a time.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) channels: Range<usize>,
    pub(super) elements: [Range<usize>; 2],
}

impl Blocks {
    /// The cuts for `taken` channels, of which `made` are made, of numbers of `size` bytes, under windows of
    /// these kinds; `last` where channels are beside each other.
    pub(super) fn new(windows: &[Windows], [taken, made]: [usize; 2], last: bool, size: usize) -> Blocks {
        let most = |of: &dyn Fn(&Windows) -> usize| windows.iter().map(of).max().unwrap_or(0);
        let window = [0, 1].map(|n| most(&|w| w.axes[n].window).max(1));
        let all = [0, 1].map(|n| most(&|w| w.axes[n].places).max(1));
        let across = window[1].min(DEPTH);
        let down = window[0].min((DEPTH / across).max(1));
        let mut blocks = Blocks {
            channels: even(taken, (DEPTH / (across * down)).max(1)),
            elements: [down, across],
            places: [1, all[1]],
        };
        let too_large = |blocks: &Blocks| blocks.bytes(windows, last, size) > REGION_BYTES;
        while too_large(&blocks) {
            let Blocks { channels, elements: [down, across], places: [_, columns] } = &mut blocks;
            if *columns > 64 {
                *columns = even(all[1], *columns / 2);
            } else if *channels > 8 {
                *channels = even(taken, *channels / 2);
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
        let work = made * taken * windows.iter().map(Windows::elements).sum::<usize>() * blocks.places[1];
        let rows = (TASK / work.max(1)).clamp(1, all[0]);
        blocks.places[0] = even(all[0], rows);
        while blocks.places[0] > 1 && too_large(&blocks) {
            blocks.places[0] = even(all[0], blocks.places[0] / 2);
        }
        blocks
    }

    fn bytes(&self, windows: &[Windows], last: bool, size: usize) -> usize {
        let elements = self.elements.map(|n| 0..n);
        let bounds = bounds(windows, &self.places.map(|n| 0..n), &elements);
        Region::new(bounds, self.channels, last, size).len.saturating_mul(size)
    }

    /// Whether a window is multiplied as a whole.
    pub(super) fn is_whole(&self, windows: &[Windows]) -> bool {
        windows.iter().all(|w| [0, 1].into_iter().all(|n| w.axes[n].window <= self.elements[n]))
    }

    /// What is multiplied at a time, in order; at least one.
    pub(super) fn list(&self, taken: usize, windows: &Windows) -> impl Iterator<Item = Block> + use<> {
        let Blocks { channels, elements, .. } = *self;
        let cut = |whole: usize, part: usize| {
            (0..whole.div_ceil(part.max(1)).max(1)).map(move |n| n * part..whole.min((n + 1) * part))
        };
        let window = windows.axes.map(|axis| axis.window);
        cut(taken, channels).flat_map(move |channels| {
            cut(window[0], elements[0]).flat_map(move |down| {
                let channels = channels.clone();
                cut(window[1], elements[1])
                    .map(move |across| Block { channels: channels.clone(), elements: [down.clone(), across] })
            })
        })
    }
}

impl Block {
    /// Elements of windows in it, over its channels.
    pub(super) fn depth(&self, windows: &Windows) -> usize {
        let [down, across] = [0, 1].map(|n| self.within(windows, n).len());
        self.channels.len() * down * across
    }

    /// Its elements of these windows: in a kind that has fewer of them, not all are there.
    pub(super) fn within(&self, windows: &Windows, axis: usize) -> Range<usize> {
        let Range { start, end } = self.elements[axis];
        let end = end.min(windows.axes[axis].window);
        start.min(end)..end
    }

    /// Calls `f` with every channel (from the block's first) and element of the window, in the order in which
    /// they are summed: column by column, so that columns beside the image can be [passed
    /// over](super::on_image).
    pub(super) fn each(&self, windows: &Windows, mut f: impl FnMut(usize, [usize; 2])) {
        let [down, across] = [0, 1].map(|n| self.within(windows, n));
        for x in across {
            for y in down.clone() {
                (0..self.channels.len()).for_each(|channel| f(channel, [y, x]));
            }
        }
    }
}

/// The positions that windows of all kinds read on each axis, for these places and elements; none where they
/// read nothing.
pub(super) fn bounds(
    windows: &[Windows],
    places: &[Range<usize>; 2],
    elements: &[Range<usize>; 2],
) -> [[isize; 2]; 2] {
    [0, 1].map(|n| {
        let all = windows.iter().filter_map(|w| w.axes[n].bounds(&places[n], &elements[n]));
        all.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]).unwrap_or([0, -1])
    })
}

/// Parts of about `part`, so that all are about as large.
pub(super) fn even(whole: usize, part: usize) -> usize {
    let part = part.clamp(1, whole.max(1));
    whole.max(1).div_ceil(whole.max(1).div_ceil(part))
}

/// Runs of `count` rows, cut for tiles of at most `rows`: calls `f` with the first one and how many.
pub(super) fn cut(count: usize, rows: usize, mut f: impl FnMut(usize, usize)) {
    let parts = count.div_ceil(rows);
    for part in 0..parts {
        let (from, to) = (count * part / parts, count * (part + 1) / parts);
        f(from, to - from);
    }
}
