//! What a program did, as data, and what can be made of it.
//!
//! A [`Record`] holds everything: the devices, the graphs with every op's place and reason, what ran when,
//! what was copied and why, the memory over time. [`profile`] makes one; tables, traces and findings are made
//! from a record alone, so that one that was saved says as much as one that was just made. [`expect`] holds a
//! part of a program to what is expected of it. Promises: a record is plain data and stands by itself;
//! reading a bad file is an error that says what is wrong with it. Leaves to others: gathering events while
//! programs run (`situ-runtime`).

mod expect;
pub mod findings;
mod gather;
pub mod page;
mod pattern;
mod profile;
pub mod record;
mod table;
pub mod tensorboard;
mod text;
mod trace;
mod why;

pub use expect::{Expectations, expect};
pub use pattern::Pattern;
pub use profile::{Profiler, Profiling, profile};
pub use record::Record;
