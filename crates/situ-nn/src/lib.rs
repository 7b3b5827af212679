//! Training: layers and models, losses, metrics, optimizers, and the loop around them.
//!
//! # Promises
//! - A layer remembers the device scope in which it was made: its weights are made there, and its ops run there, forward and
//!   backward, unless a scope at the call says otherwise.
//! - The same seed gives the same weights, whatever the number of threads.
//!
//! # What it leaves to others
//! Gradients and functions (`situ-tensor`), input (`situ-data`), where ops without a scope run (`situ-runtime`).

mod layer;
mod loss;
mod metric;
mod pass;
mod site;
mod weight;

pub use layer::{Layer, Model};
pub use loss::Loss;
pub use metric::Metric;
pub use pass::Pass;
pub use site::Site;
pub use weight::{Maker, Penalty, Weight};
