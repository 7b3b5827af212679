//! What every primitive is told about the machine it runs on.

use crate::cache;
use crate::level::Level;
use crate::threads::Threads;

/// The level and the threads that a primitive may use.
#[derive(Clone, Copy, Debug)]
pub struct Exec<'a> {
    /// The instructions that it may use.
    pub level: Level,
    /// The threads that it may use.
    pub threads: &'a Threads,
    /// Results of at least this many bytes are written past the caches: they would only push out what is in
    /// them.
    pub streaming_bytes: usize,
}

impl<'a> Exec<'a> {
    /// The best level of this processor, on these threads.
    pub fn new(threads: &'a Threads) -> Exec<'a> {
        Exec { level: Level::detect(), threads, streaming_bytes: cache::last_level_bytes() }
    }

    /// The same on another level: for tests, and for comparing levels.
    pub fn with_level(self, level: Level) -> Exec<'a> {
        Exec { level, ..self }
    }

    /// Calls `f(first, last)` for consecutive ranges of `grain` items that make up `0..items`, on all
    /// threads.
    ///
    /// The cuts depend on `items` and `grain` alone. Less than two grains are not worth a second thread:
    /// handing over, and fetching from another core's cache what it wrote, take about as long as 2.5 µs of
    /// work, so that work of 5 µs is as long on two threads as on one.
    #[inline]
    pub fn for_ranges(&self, items: usize, grain: usize, f: impl Fn(usize, usize) + Sync) {
        let grain = grain.max(1);
        let range = |task: usize| f(task * grain, items.min((task + 1) * grain));
        let ranges = items.div_ceil(grain);
        if ranges > 2 || (ranges == 2 && items == 2 * grain) {
            self.threads.run(ranges, &range);
        } else if self.threads.is_here() {
            (0..ranges).for_each(&range);
        } else {
            self.threads.lead(&|| (0..ranges).for_each(&range));
        }
    }

    /// [`Exec::for_ranges`] of elements that lie side by side, with ranges of at most about `grain` of them:
    /// an even number, equally long, so that two threads have as much to do, and the same halves of any two
    /// tensors of one size.
    #[inline]
    pub fn for_elements(&self, elements: usize, grain: usize, f: impl Fn(usize, usize) + Sync) {
        // Ranges begin on a cache line where the tensor does, whatever the bytes of an element.
        const LINE: usize = 64;
        let grain = grain.max(1);
        if elements < 2 * grain {
            return self.for_ranges(elements, elements.max(grain), f);
        }
        let length = elements.div_ceil(elements.div_ceil(grain).next_multiple_of(2));
        let length = length.next_multiple_of(LINE);
        self.threads
            .run(elements.div_ceil(length), &|task| f(task * length, elements.min((task + 1) * length)));
    }
}

/// A raw pointer that tasks may share. Whoever makes one says why the tasks do not collide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<T>(pub(crate) T);

// SAFETY: it is only a number; each use of the pointer inside has its own reason.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// The pointer. A method, so that closures capture the whole and not the field.
    #[inline(always)]
    pub(crate) fn get(self) -> T {
        self.0
    }
}
