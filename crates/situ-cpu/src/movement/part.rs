//! A box of elements copied from any strides to any strides, and lists of them run on all threads.

use super::TASK_BYTES;
use super::runs::{copy_run_to, copy_strided, fill_run};
use super::transpose::Tiles;
use crate::exec::{Exec, Shared};
use crate::level::Level;
use crate::stream;
use situ_core::MAX_RANK;

/// The most axes of a part: repeating a tensor turns each of its axes into two.
const MAX_AXES: usize = 2 * MAX_RANK;

/// Runs at least this long are written past the caches where the result is large; shorter ones leave too many
/// lines half written.
const STREAMED_RUN: usize = 512;

/// A run no longer than this is one unit of the axes around it.
const LONGEST_UNIT: usize = 64;

/// One axis of a box: how many, and how far apart in bytes they are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) size: usize,
    pub(super) from: isize,
    pub(super) to: isize,
}

/// How the innermost loop goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// The innermost axis is one run in both memories.
    Run,
    /// The innermost axis repeats one unit over a run.
    Repeat,
    /// The innermost axis is a run in the destination, but in the source another axis is nearer to one: both
    /// are walked in tiles.
    Tiles(Tiles),
    /// Unit by unit.
    Unit,
}

/// A box of elements to copy. Axes of size 1 are gone, neighbours that both sides lay out as one are merged,
/// and elements that always go together are one larger unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    axes: [Axis; MAX_AXES],
    rank: usize,
    /// Bytes of a unit.
    size: usize,
    from: *const u8,
    to: *mut u8,
    how: How,
    /// How many steps it can be cut into, and the bytes that one writes: units, or tiles.
    steps: usize,
    step_bytes: usize,
}

impl Part {
    /// The box of elements of `size` bytes with these axes, outermost first, from and to these addresses. At
    /// most sixteen axes.
    pub(super) fn new(
        size: usize,
        axes: impl DoubleEndedIterator<Item = Axis>,
        from: *const u8,
        to: *mut u8,
    ) -> Part {
        let nothing = Axis { size: 1, from: 0, to: 0 };
        let mut part = Part {
            axes: [nothing; MAX_AXES],
            rank: 0,
            size,
            from,
            to,
            how: How::Unit,
            steps: 1,
            step_bytes: size,
        };
        // From the innermost axis out, then turned round.
        for axis in axes.rev() {
            if axis.size == 0 {
                part.rank = 0;
                part.steps = 0;
                return part;
            }
            if axis.size == 1 {
                continue;
            }
            if part.rank > 0 {
                let inner = &mut part.axes[part.rank - 1];
                let run = inner.size as isize;
                if axis.from == inner.from.wrapping_mul(run) && axis.to == inner.to.wrapping_mul(run) {
                    inner.size *= axis.size;
                    continue;
                }
            }
            part.axes[part.rank] = axis;
            part.rank += 1;
        }
        part.widen();
        part.axes[..part.rank].reverse();
        part.choose();
        part
    }

    /// Makes a short innermost run one unit. Axes are innermost first here.
    fn widen(&mut self) {
        let Axis { size, from, to } = self.axes[0];
        let bytes = size.saturating_mul(self.size);
        let run = from == self.size as isize && to == from;
        if self.rank > 1 && run && bytes <= LONGEST_UNIT {
            self.size = bytes;
            self.axes.copy_within(1..self.rank, 0);
            self.rank -= 1;
        }
    }

    fn choose(&mut self) {
        let units: usize = self.axes[..self.rank].iter().map(|axis| axis.size).product();
        (self.steps, self.step_bytes) = (units, self.size);
        if self.rank == 0 {
            // One unit is a run of one.
            (self.rank, self.how) = (1, How::Run);
            return;
        }
        let unit = self.size as isize;
        let inner = self.axes[self.rank - 1];
        self.how = if inner.to == unit && inner.from == unit {
            How::Run
        } else if inner.to == unit && inner.from == 0 {
            How::Repeat
        } else {
            How::Unit
        };
        if !matches!(self.how, How::Unit) || inner.to != unit {
            return;
        }
        let nearer = |axis: &usize| self.axes[*axis].from.unsigned_abs() < inner.from.unsigned_abs();
        let near = (0..self.rank - 1).filter(nearer).min_by_key(|axis| self.axes[*axis].from.unsigned_abs());
        if let Some(near) = near {
            let tiles = Tiles::new(self.size, near, self.axes[near], inner);
            self.steps = units / (inner.size * self.axes[near].size) * tiles.count();
            self.step_bytes = tiles.bytes();
            self.how = How::Tiles(tiles);
        }
    }

    /// Bytes written.
    fn bytes(&self) -> usize {
        self.steps * self.step_bytes
    }

    /// Copies steps `first..last`.
    ///
    /// # Safety
    /// Every element of the box is readable at its place in the source and writable at its place in the
    /// destination, and the two do not overlap.
    unsafe fn run(&self, level: Level, first: usize, last: usize, streaming: bool) {
        if first >= last {
            return;
        }
        // SAFETY: as for this function; steps are below `self.steps`.
        unsafe {
            match self.how {
                How::Tiles(tiles) => self.run_tiles(level, tiles, first, last, streaming),
                How::Run | How::Repeat | How::Unit => self.run_units(first, last, streaming),
            }
        }
    }

    /// # Safety
    /// As for [`Part::run`].
    unsafe fn run_units(&self, first: usize, last: usize, streaming: bool) {
        let inner = self.axes[self.rank - 1];
        let streaming = streaming && inner.size * self.size >= STREAMED_RUN;
        let mut place = Place::at(&self.axes[..self.rank], first);
        let mut unit = first;
        while unit < last {
            let len = (inner.size - place.index[self.rank - 1]).min(last - unit);
            // SAFETY: `len` units from here are within one row of the box.
            unsafe {
                let (from, to) = (self.from.offset(place.from), self.to.offset(place.to));
                match self.how {
                    How::Run => copy_run_to(from, to, len * self.size, streaming),
                    How::Repeat => fill_run(from, self.size, to, len, streaming),
                    How::Unit | How::Tiles(_) => copy_strided(self.size, from, inner.from, to, inner.to, len),
                }
            }
            place.advance(&self.axes[..self.rank], len);
            unit += len;
        }
        if streaming {
            stream::fence();
        }
    }

    /// # Safety
    /// As for [`Part::run`].
    unsafe fn run_tiles(&self, level: Level, tiles: Tiles, first: usize, last: usize, streaming: bool) {
        // The axes around the tiles.
        let mut outer = [Axis { size: 1, from: 0, to: 0 }; MAX_AXES];
        let mut rank = 0;
        for (axis, held) in self.axes[..self.rank - 1].iter().enumerate() {
            if axis != tiles.near_axis() {
                outer[rank] = *held;
                rank += 1;
            }
        }
        let rank = rank.max(1);
        let mut step = first;
        while step < last {
            let place = Place::at(&outer[..rank], step / tiles.count());
            let tile = step % tiles.count();
            let end = tiles.count().min(tile + (last - step));
            // SAFETY: the tiles of one place are the whole of the two axes they walk.
            unsafe {
                tiles.run(
                    level,
                    self.from.offset(place.from),
                    self.to.offset(place.to),
                    tile,
                    end,
                    streaming,
                );
            }
            step += end - tile;
        }
        if streaming {
            stream::fence();
        }
    }
}

/// A position in a box: its index, and its distance in bytes from the start on either side.
struct Place {
    index: [usize; MAX_AXES],
    from: isize,
    to: isize,
}

impl Place {
    fn at(axes: &[Axis], mut unit: usize) -> Place {
        let mut place = Place { index: [0; MAX_AXES], from: 0, to: 0 };
        for (index, axis) in place.index.iter_mut().zip(axes).rev() {
            *index = unit % axis.size;
            unit /= axis.size;
            place.from += *index as isize * axis.from;
            place.to += *index as isize * axis.to;
        }
        place
    }

    /// Moves on by `len` units of the innermost axis, at most to its end.
    #[inline(always)]
    fn advance(&mut self, axes: &[Axis], mut len: usize) {
        for (index, axis) in self.index[..axes.len()].iter_mut().zip(axes).rev() {
            *index += len;
            self.from += len as isize * axis.from;
            self.to += len as isize * axis.to;
            if *index < axis.size {
                return;
            }
            self.from -= axis.size as isize * axis.from;
            self.to -= axis.size as isize * axis.to;
            *index = 0;
            len = 1;
        }
    }
}

/// Copies parts on all threads. `bytes` is the size of the whole result.
///
/// # Safety
/// As for [`Part::run`] of each; the destinations of different parts do not overlap.
pub(super) unsafe fn run(exec: &Exec<'_>, parts: &[Part], bytes: usize) {
    let streaming = bytes >= exec.streaming_bytes;
    let total: usize = parts.iter().map(Part::bytes).sum();
    let level = exec.level;
    let parts = Shared(parts);
    exec.for_ranges(total, TASK_BYTES, |first, last| {
        // The parts' bytes stand in one line. A step belongs to the task in which it begins.
        let mut base = 0;
        for part in parts.get() {
            let end = base + part.bytes();
            if end > first && base < last {
                let step = |byte: usize| byte.saturating_sub(base).div_ceil(part.step_bytes).min(part.steps);
                // SAFETY: the caller's promise; every step belongs to one task.
                unsafe { part.run(level, step(first), step(last), streaming) };
            }
            base = end;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(size: usize, from: isize, to: isize) -> Axis {
        Axis { size, from, to }
    }

    fn part(size: usize, axes: &[Axis]) -> Part {
        Part::new(size, axes.iter().copied(), std::ptr::null(), std::ptr::null_mut())
    }

    #[test]
    fn a_dense_copy_is_one_run() {
        let p = part(4, &[axis(2, 48, 48), axis(1, 7, 9), axis(3, 16, 16), axis(4, 4, 4)]);
        assert!(matches!(p.how, How::Run));
        assert_eq!((p.rank, p.axes[0].size, p.steps), (1, 24, 24));
    }

    #[test]
    fn a_short_run_becomes_one_unit_and_a_long_one_stays_a_run() {
        let pairs = part(4, &[axis(5, 8, 24), axis(3, 40, 8), axis(2, 4, 4)]);
        assert_eq!((pairs.size, pairs.rank), (8, 2));
        assert!(matches!(pairs.how, How::Tiles(_)));
        let triples = part(4, &[axis(5, 12, 36), axis(4, 60, 12), axis(3, 4, 4)]);
        assert_eq!((triples.size, triples.rank), (12, 2));
        let rows = part(4, &[axis(5, 100, 400), axis(4, 500, 100), axis(25, 4, 4)]);
        assert_eq!((rows.size, rows.rank), (4, 3));
        assert!(matches!(rows.how, How::Run));
    }

    #[test]
    fn an_empty_axis_makes_an_empty_part_and_no_axis_at_all_one_unit() {
        assert_eq!(part(4, &[axis(3, 4, 4), axis(0, 4, 4)]).bytes(), 0);
        let one = part(8, &[axis(1, 3, 5)]);
        assert_eq!((one.bytes(), one.steps), (8, 1));
    }

    #[test]
    fn every_place_is_reached_by_number_and_by_steps() {
        let axes = [axis(3, 100, 7), axis(4, -10, 1), axis(5, 0, 50)];
        for start in 0..60 {
            let mut walked = Place::at(&axes, start);
            for unit in start..60 {
                let found = Place::at(&axes, unit);
                assert_eq!((found.from, found.to, found.index), (walked.from, walked.to, walked.index));
                walked.advance(&axes, 1);
            }
        }
    }
}
