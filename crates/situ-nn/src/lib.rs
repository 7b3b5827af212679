//! Training: layers and models, losses, metrics, optimizers, and the loop around them.
//!
//! ```
//! # fn main() -> situ_core::Result<()> {
//! use situ_nn::callbacks::EarlyStopping;
//! use situ_nn::losses::SparseCategoricalCrossEntropy;
//! use situ_nn::metrics::SparseAccuracy;
//! use situ_nn::optimizers::Adam;
//! use situ_nn::{Activation, Dense, Fit, Progress, Sequential};
//!
//! let x = situ_tensor::random::normal(&[256, 8])?;
//! let y = x.argmax(&[-1])?.cast(situ_core::DType::I32)?;
//!
//! let mut trainer = Sequential::new()
//!     .add(Dense::new(32).activation(Activation::Relu))
//!     .add(Dense::new(8))
//!     .compile(Adam::new(1e-2), SparseCategoricalCrossEntropy::from_logits(), [SparseAccuracy::new()])?;
//! let history = trainer.fit(
//!     (&x, &y),
//!     Fit {
//!         epochs: 5,
//!         callbacks: vec![Box::new(EarlyStopping::new("accuracy", 2))],
//!         progress: Progress::Silent,
//!         ..Fit::default()
//!     },
//! )?;
//! assert!(history.last("loss").unwrap() < history.series("loss")[0]);
//! # Ok(()) }
//! ```
//!
//! # Promises
//! - A layer remembers the device scope in which it was made: its weights are made there, and its ops run
//!   there, forward and backward, unless a scope at the call says otherwise.
//! - The same seed gives the same weights, whatever the number of threads.
//! - A step of training is one function, and `fit` reads nothing back between steps.
//! - A checkpoint is there as a whole, the old one or the new one, at any moment.
//!
//! - A layer's ops carry its name (`block/dense_1/matmul`) in explanations and profiles.
//!
//! # The parts
//! - [`Dense`], [`Conv2D`] and the other layers, each of which is a [`Model`]; [`Sequential`] and
//!   [`Residual`] are layers of layers.
//! - [`Maker`] gives layers names and weights, by [`Initializer`]s, from one seed.
//! - [`losses`] and [`metrics`]; [`Activation`], [`Penalty`].
//! - [`Pass`]: whether a pass is for training, and what random layers draw by.
//! - [`Identity`] and [`Site`]: for layers of one's own.
//!
//! # What it leaves to others
//! Gradients and functions (`situ-tensor`), input (`situ-data`), where ops without a scope run
//! (`situ-runtime`).

mod activation;
pub mod callbacks;
pub mod checkpoint;
mod identity;
mod initializer;
mod interrupt;
mod layer;
mod layers;
mod loss;
pub mod losses;
mod metric;
pub mod metrics;
pub mod optimizers;
mod pass;
mod sequential;
mod site;
mod summary;
mod train;
mod weight;

pub use activation::Activation;
pub use identity::{Entered, Identity};
pub use initializer::{Fans, Initializer};
pub use interrupt::Interrupt;
pub use layer::{Layer, Model};
pub use layers::{
    Activate, AvgPool2D, BatchNorm, Conv2D, Dense, Dropout, Embedding, Flatten, GlobalAvgPool2D,
    GlobalMaxPool2D, LayerNorm, MaxPool2D, Reshape, Residual,
};
pub use loss::Loss;
pub use metric::Metric;
pub use pass::{Frozen, Pass};
pub use sequential::Sequential;
pub use site::Site;
pub use summary::{Summary, SummaryRow, Whereabouts};
pub use train::{Epoch, Figures, Fit, History, Input, Metrics, Progress, Trainer, Training, compile};
pub use weight::{Maker, Penalty, Recipe, Weight};
