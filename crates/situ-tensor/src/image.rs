//! Images: convolution, pooling, normalisation over a batch, dropout.

use crate::apply::{apply, apply_op};
use crate::tensor::Tensor;
use situ_core::{Error, Real, Result, TensorType};
use situ_ir::ops::window::{Format, Window};
use situ_ir::ops::{BatchNorm, Conv2d, Dropout, Pool2d, PoolKind};

/// What is around an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Padding {
    /// Nothing: windows stay within the image.
    #[default]
    Valid,
    /// As much as makes the result `⌈size / stride⌉`; what is odd goes behind.
    Same,
    /// Before and after, down and across.
    Explicit([[usize; 2]; 2]),
}

/// How windows slide over images. Write what differs, and end with `..Windows::default()`: every pixel, no
/// padding, channels first; further fields may come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// From one place to the next, down and across.
    pub stride: [usize; 2],
    /// Between the window's own elements; 1 if they touch.
    pub dilation: [usize; 2],
    /// What is around the image.
    pub padding: Padding,
    /// Where the channels are: `[batch, channels, height, width]` with filters `[out, in, height, width]`, or
    /// `[batch, height, width, channels]` with filters `[height, width, in, out]`.
    pub format: Format,
    /// Groups of channels, each with filters of its own. Convolutions only.
    pub groups: usize,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows {
            stride: [1; 2],
            dilation: [1; 2],
            padding: Padding::Valid,
            format: Format::ChannelsFirst,
            groups: 1,
        }
    }
}

impl Windows {
    /// How windows of a size slide over such images: with the padding worked out.
    pub fn window(&self, op: &'static str, images: TensorType, size: [usize; 2]) -> Result<Window> {
        let window = Window {
            stride: self.stride,
            dilation: self.dilation,
            padding: [[0; 2]; 2],
            format: self.format,
        };
        Ok(match self.padding {
            Padding::Valid => window,
            Padding::Explicit(padding) => Window { padding, ..window },
            Padding::Same => window.same(self.format.image(op, &[images], &images.shape)?.size, size),
        })
    }
}

impl Tensor {
    /// The convolution of images with filters (which are not turned round).
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_tensor::{Padding, Windows, ones};
    /// use situ_core::DType;
    /// let (image, filter) = (ones(&[1, 1, 3, 3], DType::F32)?, ones(&[1, 1, 3, 3], DType::F32)?);
    /// let y = image.conv2d(&filter, &Windows { padding: Padding::Same, ..Windows::default() })?;
    /// assert_eq!(y.to_vec::<f32>()?, [4.0, 6.0, 4.0, 6.0, 9.0, 6.0, 4.0, 6.0, 4.0]);
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn conv2d(&self, filter: &Tensor, windows: &Windows) -> Result<Tensor> {
        let types = [self.tensor_type(), filter.tensor_type()];
        let kernel = windows.format.filter("conv2d", &types, filter.shape())?.size;
        let window = windows.window("conv2d", types[0], kernel)?;
        apply(Conv2d { window, groups: windows.groups }, &[self, filter])
    }

    /// The largest of each window of each channel.
    #[track_caller]
    pub fn max_pool2d(&self, size: [usize; 2], windows: &Windows) -> Result<Tensor> {
        let window = windows.window("max_pool2d", self.tensor_type(), size)?;
        apply(Pool2d { kind: PoolKind::Max, size, window }, &[self])
    }

    /// The mean of each window of each channel; padding does not count.
    #[track_caller]
    pub fn average_pool2d(&self, size: [usize; 2], windows: &Windows) -> Result<Tensor> {
        let window = windows.window("average_pool2d", self.tensor_type(), size)?;
        apply(Pool2d { kind: PoolKind::Average, size, window }, &[self])
    }

    /// The mean of each channel of each image: `[batch, channels]`.
    #[track_caller]
    pub fn global_average_pool2d(&self, format: Format) -> Result<Tensor> {
        self.mean(self.image_axes("global_average_pool2d", format)?)
    }

    /// The largest of each channel of each image: `[batch, channels]`.
    #[track_caller]
    pub fn global_max_pool2d(&self, format: Format) -> Result<Tensor> {
        self.max(self.image_axes("global_max_pool2d", format)?)
    }

    fn image_axes(&self, op: &'static str, format: Format) -> Result<&'static [isize]> {
        format.image(op, &[self.tensor_type()], self.shape())?;
        Ok(match format {
            Format::ChannelsFirst => &[2, 3],
            Format::ChannelsLast => &[1, 2],
        })
    }

    /// Normalises each channel (the elements along `axis`) by the mean and the variance of the batch, then
    /// scales and shifts, as in training: the result, the mean, and the variance.
    #[track_caller]
    pub fn batch_norm(
        &self,
        scale: &Tensor,
        shift: &Tensor,
        axis: isize,
        epsilon: f64,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        let axis = self.unseen_shape().axis("batch_norm", axis)? as u8;
        let made = apply_op(BatchNorm { axis, epsilon: Real(epsilon) }, &[self, scale, shift])?;
        match <[Tensor; 3]>::try_from(made) {
            Ok([y, mean, variance]) => Ok((y, mean, variance)),
            Err(_) => Err(Error::argument("batch_norm", "it has three results", "this is a defect of situ")),
        }
    }

    /// Normalises each channel by a mean and a variance that are known, then scales and shifts, as when a
    /// trained network is used.
    #[track_caller]
    pub fn batch_norm_by(
        &self,
        mean: &Tensor,
        variance: &Tensor,
        scale: &Tensor,
        shift: &Tensor,
        axis: isize,
        epsilon: f64,
    ) -> Result<Tensor> {
        let axis = self.shape().axis("batch_norm", axis)?;
        let rate = (variance + epsilon)?.rsqrt()?.mul(scale)?;
        let level = shift.sub(&mean.mul(&rate)?)?;
        let mut dims = vec![1isize; self.rank()];
        dims[axis] = -1;
        self.mul(&rate.reshape(&dims)?)?.add(&level.reshape(&dims)?)
    }

    /// Each element zero with probability `rate`, else divided by `1 − rate`. Which ones follows from seed
    /// and stream, on any device; `step`, one i32, is added to the stream, so that a function that counts its
    /// calls drops others in each.
    #[track_caller]
    pub fn dropout(&self, rate: f64, (seed, stream): (u64, u64), step: Option<&Tensor>) -> Result<Tensor> {
        let op = Dropout { rate: Real(rate), seed, stream };
        match step {
            Some(step) => apply(op, &[self, step]),
            None => apply(op, &[self]),
        }
    }

    /// The rows of this table at the indices: an embedding. Their gradient is added to the rows they came
    /// from.
    #[track_caller]
    pub fn embedding(&self, indices: &Tensor) -> Result<Tensor> {
        self.gather(indices, 0)
    }
}
