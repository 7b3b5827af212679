//! The layers, a file each. Adding one: a file with a struct that has an [`Identity`](crate::Identity), and a
//! line here.

#[macro_use]
mod methods;

mod activate;
mod batch_norm;
mod conv2d;
mod dense;
mod dropout;
mod embedding;
mod flatten;
mod global_pool2d;
mod image;
mod kernel_and_bias;
mod layer_norm;
mod pool2d;
mod reshape;
mod residual;
mod scale_and_shift;

pub use activate::Activate;
pub use batch_norm::BatchNorm;
pub use conv2d::Conv2D;
pub use dense::Dense;
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use global_pool2d::{GlobalAvgPool2D, GlobalMaxPool2D};
pub use layer_norm::LayerNorm;
pub use pool2d::{AvgPool2D, MaxPool2D};
pub use reshape::Reshape;
pub use residual::Residual;
