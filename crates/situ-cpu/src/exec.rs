//! What every primitive is told about the machine it runs on.

use crate::cache;
use crate::level::Level;
use crate::threads::Threads;

/// The level and the threads that a primitive may use.
#[derive(Clone, Copy, Debug)]
pub struct Exec<'a> {
    /// The instructions.
    pub level: Level,
    /// The threads.
    pub threads: &'a Threads,
    /// Results of at least this many bytes are written past the caches: they would only push out what is in them.
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

    /// Calls `f(first, last)` for consecutive ranges of `grain` items that make up `0..items`, on all threads.
    ///
    /// The cuts depend on `items` and `grain` alone.
    #[inline]
    pub fn for_ranges(&self, items: usize, grain: usize, f: impl Fn(usize, usize) + Sync) {
        let grain = grain.max(1);
        if items <= grain && self.threads.is_here() {
            if items > 0 {
                f(0, items);
            }
            return;
        }
        self.threads.run(items.div_ceil(grain), &|task| f(task * grain, items.min((task + 1) * grain)));
    }
}

impl Exec<'_> {
    /// [`Exec::for_ranges`] of elements that lie side by side, with ranges of at most about `grain` of them: an even number, equally long,
    /// so that two threads have as much to do, and the same halves of any two tensors of one size.
    #[inline]
    pub fn for_elements(&self, elements: usize, grain: usize, f: impl Fn(usize, usize) + Sync) {
        // Ranges begin on a cache line where the tensor does, whatever the bytes of an element.
        const LINE: usize = 64;
        let ranges = elements.div_ceil(grain.max(1));
        let length = if ranges <= 1 { grain } else { elements.div_ceil(ranges.next_multiple_of(2)) };
        self.for_ranges(elements, length.next_multiple_of(LINE), f);
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
