//! What layers of images share.

use crate::Fans;
use situ_core::Result;
use situ_ir::ops::window::Filter;
use situ_tensor::Tensor;

/// A number per channel, for broadcasting with images whose channels are first.
pub(super) fn spread(channels: &Tensor) -> Result<Tensor> {
    channels.reshape(&[1, channels.elements() as isize, 1, 1])
}

/// Inputs and outputs of a filter, wherever its channels are.
pub(super) fn filter_fans(filter: Filter) -> Fans {
    let window: f64 = filter.size.iter().map(|&size| size as f64).product();
    Fans { inputs: window * filter.taken as f64, outputs: window * filter.out as f64 }
}
