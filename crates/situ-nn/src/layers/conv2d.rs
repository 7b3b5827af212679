//! Filters that slide over images.

use super::image::{filter_fans, spread};
use super::kernel_and_bias::KernelAndBias;
use crate::{Activation, Identity, Initializer, Layer, Maker, Model, Pass, Penalty, Weight};
use situ_core::{Error, Result, Shape, TensorType};
use situ_ir::ops::window::{Filter, Format};
use situ_ir::ops::{Conv2d, Rule};
use situ_tensor::{Padding, Tensor, Windows};

/// `activation(x ∗ kernel + bias)`: filters that slide over images.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Activation, Conv2D, Layer, Maker, Model, Pass};
/// use situ_tensor::Padding;
/// let conv = Conv2D::new(32, [3, 3]).padding(Padding::Same).activation(Activation::Relu);
/// let conv = conv.built(&[1, 28, 28], &mut Maker::new(1))?;
/// let images = situ_tensor::zeros(&[8, 1, 28, 28], situ_core::DType::F32)?;
/// assert_eq!(conv.forward(&images, &Pass::inference())?.shape().dims(), [8, 32, 28, 28]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Conv2D {
    filters: usize,
    size: [usize; 2],
    windows: Windows,
    weights: KernelAndBias,
    identity: Identity,
}

const KIND: &str = "Conv2D";

with_kernel_and_bias!(Conv2D);

impl Conv2D {
    /// That many filters of that height and width: on every pixel, without padding, channels first, with a
    /// bias of zeros and a kernel by Glorot.
    #[track_caller]
    pub fn new(filters: usize, size: [usize; 2]) -> Conv2D {
        let (windows, weights) = (Windows::default(), KernelAndBias::default());
        Conv2D { filters, size, windows, weights, identity: Identity::of_caller() }
    }

    /// From one place of a filter to the next, down and across.
    pub fn stride(mut self, stride: [usize; 2]) -> Conv2D {
        self.windows.stride = stride;
        self
    }

    /// What is around the images.
    pub fn padding(mut self, padding: Padding) -> Conv2D {
        self.windows.padding = padding;
        self
    }

    /// Between the elements of a filter; 1 if they touch.
    pub fn dilation(mut self, dilation: [usize; 2]) -> Conv2D {
        self.windows.dilation = dilation;
        self
    }

    /// Groups of channels, each with filters of its own.
    pub fn groups(mut self, groups: usize) -> Conv2D {
        self.windows.groups = groups;
        self
    }

    /// Where the channels are.
    pub fn format(mut self, format: Format) -> Conv2D {
        self.windows.format = format;
        self
    }

    /// An error that names the layer for images that are none, or have another number of channels.
    fn check(&self, input: TensorType, kernel: Option<TensorType>) -> Result<()> {
        let channels = kernel.map_or(0, |kernel| match self.windows.format {
            Format::ChannelsFirst => kernel.shape[1] * self.windows.groups,
            Format::ChannelsLast => kernel.shape[2] * self.windows.groups,
        });
        let is_image = self.windows.format.image(KIND, &[input], &input.shape);
        let fits = |kernel: TensorType, found: usize| found == channels && kernel.dtype == input.dtype;
        match (is_image, kernel) {
            (Ok(image), Some(kernel)) if fits(kernel, image.channels) => Ok(()),
            (Ok(_), None) => Ok(()),
            (_, kernel) => {
                let channels = if channels == 0 { "channels".into() } else { channels.to_string() };
                let dtype = kernel.map_or(input.dtype, |kernel| kernel.dtype);
                let wants = match self.windows.format {
                    Format::ChannelsFirst => format!("{dtype}[batch, {channels}, height, width]"),
                    Format::ChannelsLast => format!("{dtype}[batch, height, width, {channels}]"),
                };
                let help = "reshape, transpose or cast the images, or set the layer's format";
                Err(self.identity.refuse(KIND, input, &wants, help))
            }
        }
    }
}

impl Model for Conv2D {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        let kernel = self.identity.value(KIND, &self.weights.kernel)?;
        self.check(input.tensor_type(), Some(kernel.tensor_type()))?;
        let mut y = input.conv2d(&kernel, &self.windows).map_err(|error| self.identity.blame(error))?;
        if self.weights.use_bias {
            let bias = self.identity.value(KIND, &self.weights.bias)?;
            y = match self.windows.format {
                Format::ChannelsFirst => y.add(&spread(&bias)?)?,
                Format::ChannelsLast => y.bias_add(&bias)?,
            };
        }
        self.weights.activation.apply(&y)
    }

    fn weights(&self) -> Vec<Weight> {
        self.weights.held(&self.identity)
    }
}

impl Layer for Conv2D {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn identity_mut(&mut self) -> Option<&mut Identity> {
        Some(&mut self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        let images = TensorType::new(maker.dtype(), *input);
        self.check(images, None)?;
        let format = self.windows.format;
        let channels = format.image(KIND, &[images], input)?.channels;
        let groups = self.windows.groups;
        if groups == 0 || !channels.is_multiple_of(groups) || !self.filters.is_multiple_of(groups) {
            let why = format!("{channels} channels and {} filters in {groups} groups", self.filters);
            return Err(self.identity.reject(KIND, &why, "choose groups that divide both"));
        }
        let filter = Filter { out: self.filters, taken: channels / groups, size: self.size };
        let shape = format.filter_shape(filter)?;
        let blamed = |error: Error| self.identity.blame(error);
        let window = self.windows.window("conv2d", images, self.size).map_err(blamed)?;
        let output = Conv2d { window, groups }.infer(&[images, TensorType::new(maker.dtype(), shape)]);
        let output = output.map_err(blamed)?.shape;
        self.weights.make(maker, &shape, filter_fans(filter), self.filters)?;
        Ok(output)
    }
}
