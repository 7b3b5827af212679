//! The metrics. Each is made of sums over batches, by ops that every device has, so that a compiled step
//! gathers them where it runs. Sums are f32: counts are exact up to 16,777,216.
//!
//! Adding one: a struct that is a [`Metric`](crate::Metric), and a line here.

mod accuracy;
mod auc;
mod counts;
mod custom;
mod mean;
mod precision_recall;
mod top_k;

pub use accuracy::{Accuracy, BinaryAccuracy, SparseAccuracy};
pub use auc::Auc;
pub use custom::Custom;
pub use mean::{Mean, MeanAbsoluteError, MeanSquaredError};
pub use precision_recall::{Precision, Recall};
pub use top_k::TopK;
