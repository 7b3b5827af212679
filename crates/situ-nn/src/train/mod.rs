//! Training: a model, an optimizer, a loss and metrics as compiled steps, and the loops that call them.
//!
//! # Promises
//! - A whole step (forward, gradients, clipping, updates, sums of loss and metrics) is one
//!   [`Function`](situ_tensor::Function), traced once for each size of batch, placed and planned as a whole.
//! - A step reads nothing back: losses and metrics are summed on the device, and read a few times a second at
//!   most, for who is watching, and at the end of an epoch.
//! - A step that fails changes no weight.
//!
//! # What it leaves to others
//! Batches (`situ-data`), where ops run (`situ-runtime`), the files of checkpoints (`checkpoint`).

mod called;
mod definition;
mod figures;
mod fit;
mod history;
mod input;
mod metrics;
mod progress;
mod sums;
mod trainer;
mod training;

pub(crate) use called::States;
pub use figures::Figures;
pub use fit::Fit;
pub use history::{Epoch, History};
pub use input::Input;
pub use metrics::Metrics;
pub use progress::Progress;
pub use trainer::{Trainer, compile};
pub use training::Training;
pub(crate) use training::{Data, Position};
