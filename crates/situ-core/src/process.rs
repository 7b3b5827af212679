//! Which process this is.
//!
//! A fork leaves the child with its parent's memory and none of its threads: whoever holds threads, or a
//! driver that does, asks here whether they are still there. Promises: asking costs one load. A child made by
//! a bare `clone` system call is not told from its parent; `fork`, as the C library has it, is.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many forks lie between this process and the first one that asked.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// A process, as those see it that live in it: it ends where a fork begins another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process(u32);

impl Process {
    /// The one that this is.
    pub fn current() -> Process {
        count_forks();
        Process(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is the one that this is: false in a child of it.
    #[inline]
    pub fn is_current(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}

#[cfg(unix)]
fn count_forks() {
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only adds to a number, which any context allows. Where there is no memory for
        // it, forks go unnoticed.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Without forks there is nothing to count.
#[cfg(not(unix))]
fn count_forks() {}
