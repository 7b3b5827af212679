//! Input pipelines: where elements come from, what is done to them, and how they get to a device in time.
//!
//! ```
//! # fn main() -> situ_core::Result<()> {
//! use situ_data::Dataset;
//! let x = situ_tensor::tensor([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
//! let y = situ_tensor::tensor([0, 1, 0])?;
//!
//! let half = situ_tensor::full(&[], 0.5f32)?;
//! let batches = Dataset::from_tensors((x, y))?
//!     .shuffle(1000, 7)
//!     .map(move |(x, y)| Ok((x.mul(&half)?, y)))
//!     .batch(2)
//!     .prefetch(2);
//! for batch in &batches {
//!     let (x, y) = batch?;
//!     assert_eq!(x.shape()[0], y.shape()[0]);
//! }
//! # Ok(()) }
//! ```
//!
//! # Promises
//! - **The same seed gives the same elements in the same order**, whatever the number of workers; each epoch
//!   has an order of its own, and [`Dataset::epoch`] gives any one of them again.
//! - **Rows are copied once.** A row of a tensor travels as a number until a closure asks for it or a batch
//!   gathers it.
//! - **An error has the element's index** and takes the element's place in the stream; a panic in a closure
//!   is an error too.
//! - **Dropping an iterator ends its threads**, at the latest after the element that each is at work on.
//! - A closure runs in the device scope, and in the runtime, in which it was written.
//!
//! # What it leaves to others
//! Copies between devices and their booking (`situ-runtime`); training loops (`situ-nn`). Elements are
//! tensors: text is turned into numbers while a file is read. Files are read into memory as a whole.

pub mod augment;
mod cell;
mod column;
mod dataset;
mod element;
mod files;
mod fingerprint;
mod iterate;
mod queue;
mod random;
mod stages;
mod stop;
mod stream;
mod threads;
pub mod transform;

pub use dataset::Dataset;
pub use element::{Elements, Row};
pub use files::csv::{Csv, Table};
pub use files::idx::{read_idx, write_idx};
pub use files::npy::{read_npy, write_npy};
pub use iterate::Iter;
pub use random::Rng;
pub use stop::StopHandle;
pub use stream::Length;
