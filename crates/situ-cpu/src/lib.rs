//! The CPU device of situ and its kernels.
//!
//! The crate is layered; each layer knows only those above it in this list:
//! - [`level`]: which instructions this processor has, and how one loop is compiled for each of them;
//! - [`threads`]: the fork-join pool that splits one kernel over cores;
//! - [`math`]: elementary functions that vectorise;
//! - primitives over raw memory: [`elementwise`].
//!
//! Everything here is deterministic: how work is cut into tasks, and the order in which numbers are added, depend on
//! shapes and on the [`level::Level`], never on the number of threads.

pub mod cache;
pub mod elementwise;
pub mod exec;
pub mod level;
pub mod math;
mod stream;
pub mod threads;
