//! Recording what a program does, for as long as somebody wants to know.
//!
//! Off, there is nothing but one relaxed load at each eager op, booked copy and call of a function. On, a
//! call of a function writes its times to slots of its own, one for each step, without a lock; the slots are
//! handed over whole when the call ends. Promises: memory is bounded (the oldest entries go, and are
//! counted); what is recorded says where, when, why and at which line. Leaves to others: making sense of it
//! (`situ-observe`).

mod entry;
mod session;
mod stamps;

pub use entry::{
    CopyEntry, EagerEntry, Entry, FallbackEntry, FunctionCall, MemoryEntry, PlacedAgain, TracedAgain,
};
pub(crate) use session::Recordings;
pub use session::{DeviceTimes, Options, Recorded, Recording};
pub(crate) use stamps::Stamps;
pub use stamps::StepTimes;

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Nanoseconds since the process first asked; never zero, which stands for "not at all".
#[inline]
pub(crate) fn nanoseconds() -> u64 {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    EPOCH.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

/// A number for the calling thread.
pub fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Relaxed));
        }
        number.get()
    })
}
