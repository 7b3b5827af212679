//! Windows that slide over images: what convolutions and pooling share.

use super::{Attributes, Given};
use situ_core::{Error, MAX_RANK, Result, Shape, TensorType};

/// Where the channels of an image are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Format {
    /// `[batch, channels, height, width]`; filters are `[out, in / groups, height, width]`.
    #[default]
    ChannelsFirst,
    /// `[batch, height, width, channels]`; filters are `[height, width, in / groups, out]`.
    ChannelsLast,
}

/// An image's shape, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Image {
    /// How many images there are.
    pub batch: usize,
    /// Numbers at each pixel.
    pub channels: usize,
    /// Height and width.
    pub size: [usize; 2],
}

/// A filter's shape, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Channels it gives.
    pub out: usize,
    /// Channels of a group that it takes.
    pub taken: usize,
    /// Height and width.
    pub size: [usize; 2],
}

impl Format {
    /// Takes an image's shape apart.
    pub fn image(self, op: &'static str, inputs: &[TensorType], shape: &Shape) -> Result<Image> {
        let &[a, b, c, d] = shape.dims() else {
            return Err(Error::operands(
                op,
                inputs,
                format!("{shape} is no batch of images"),
                "give four axes: batch, channels, height, width, or batch, height, width, channels",
            ));
        };
        Ok(match self {
            Format::ChannelsFirst => Image { batch: a, channels: b, size: [c, d] },
            Format::ChannelsLast => Image { batch: a, channels: d, size: [b, c] },
        })
    }

    /// The shape of an image.
    pub fn shape(self, image: Image) -> Result<Shape> {
        let Image { batch, channels, size: [height, width] } = image;
        match self {
            Format::ChannelsFirst => Shape::new(&[batch, channels, height, width]),
            Format::ChannelsLast => Shape::new(&[batch, height, width, channels]),
        }
    }

    /// Takes a filter's shape apart.
    pub fn filter(self, op: &'static str, inputs: &[TensorType], shape: &Shape) -> Result<Filter> {
        let &[a, b, c, d] = shape.dims() else {
            return Err(Error::operands(
                op,
                inputs,
                format!("{shape} is no filter"),
                "give four axes: out, in, height, width, or height, width, in, out",
            ));
        };
        Ok(match self {
            Format::ChannelsFirst => Filter { out: a, taken: b, size: [c, d] },
            Format::ChannelsLast => Filter { out: d, taken: c, size: [a, b] },
        })
    }

    /// The shape of a filter.
    pub fn filter_shape(self, filter: Filter) -> Result<Shape> {
        let Filter { out, taken, size: [height, width] } = filter;
        match self {
            Format::ChannelsFirst => Shape::new(&[out, taken, height, width]),
            Format::ChannelsLast => Shape::new(&[height, width, taken, out]),
        }
    }

    /// Strides of batch, channel, row and column in a dense image.
    pub fn strides(self, image: &Image) -> [usize; 4] {
        let Image { channels, size: [height, width], .. } = *image;
        match self {
            Format::ChannelsFirst => [channels * height * width, height * width, width, 1],
            Format::ChannelsLast => [channels * height * width, 1, width * channels, channels],
        }
    }

    /// Strides of out, in, row and column in a dense filter.
    pub fn filter_strides(self, filter: &Filter) -> [usize; 4] {
        let Filter { out, taken, size: [height, width] } = *filter;
        match self {
            Format::ChannelsFirst => [taken * height * width, height * width, width, 1],
            Format::ChannelsLast => [1, out, width * taken * out, taken * out],
        }
    }
}

/// How a window slides, down and across.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// From one place to the next.
    pub stride: [usize; 2],
    /// Between the window's own elements; 1 if they touch.
    pub dilation: [usize; 2],
    /// Zeros (or nothing, for pooling) before and after each axis.
    pub padding: [[usize; 2]; 2],
    /// Where the channels are.
    pub format: Format,
}

impl Default for Window {
    fn default() -> Window {
        Window { stride: [1; 2], dilation: [1; 2], padding: [[0; 2]; 2], format: Format::ChannelsFirst }
    }
}

/// Sizes beyond this are no image's, and products of them stay within a word.
const MOST: usize = 1 << 31;

impl Window {
    /// The padding with which a window of this size gives `⌈size / stride⌉` places; what is odd goes behind.
    pub fn same(self, size: [usize; 2], kernel: [usize; 2]) -> Window {
        let along = |axis: usize| {
            let places = size[axis].div_ceil(self.stride[axis].max(1));
            let reach = self.dilation[axis].saturating_mul(kernel[axis].saturating_sub(1)).saturating_add(1);
            let need = (places.saturating_sub(1)).saturating_mul(self.stride[axis]).saturating_add(reach);
            let missing = need.saturating_sub(size[axis]);
            [missing / 2, missing - missing / 2]
        };
        Window { padding: [along(0), along(1)], ..self }
    }

    /// Places of a window of size `kernel` on an image of `size`.
    pub fn places(
        &self,
        op: &'static str,
        inputs: &[TensorType],
        size: [usize; 2],
        kernel: [usize; 2],
    ) -> Result<[usize; 2]> {
        let numbers = [self.stride, self.dilation, self.padding[0], self.padding[1], size, kernel];
        let small = numbers.iter().flatten().all(|n| *n < MOST);
        if !small || self.stride.contains(&0) || self.dilation.contains(&0) || kernel.contains(&0) {
            return Err(Error::operands(
                op,
                inputs,
                format!(
                    "stride {:?}, dilation {:?}, padding {:?} and window {kernel:?}",
                    self.stride, self.dilation, self.padding
                ),
                "give a window, strides and dilations of at least 1",
            ));
        }
        let mut places = [0; 2];
        for axis in 0..2 {
            let whole = size[axis] + self.padding[axis][0] + self.padding[axis][1];
            let reach = self.dilation[axis] * (kernel[axis] - 1) + 1;
            if whole < reach {
                return Err(Error::operands(
                    op,
                    inputs,
                    format!("a window of {reach} does not fit an image of {whole} with its padding"),
                    "pad more, or use a smaller window",
                ));
            }
            places[axis] = (whole - reach) / self.stride[axis] + 1;
        }
        Ok(places)
    }

    pub(super) fn attributes(&self) -> Attributes {
        Attributes::none()
            .with("stride", self.stride.as_slice())
            .with("dilation", self.dilation.as_slice())
            .with("padding", self.padding.concat().as_slice())
            .flag("channels_last", self.format == Format::ChannelsLast)
    }

    pub(super) fn read(given: &mut Given) -> Result<Window> {
        let [top, bottom, left, right] = list(given, "padding")?;
        let last = given.flag("channels_last")?;
        Ok(Window {
            stride: list(given, "stride")?,
            dilation: list(given, "dilation")?,
            padding: [[top, bottom], [left, right]],
            format: if last { Format::ChannelsLast } else { Format::ChannelsFirst },
        })
    }
}

/// An attribute of exactly `N` numbers.
pub(super) fn list<const N: usize>(given: &mut Given, name: &'static str) -> Result<[usize; N]> {
    debug_assert!(N <= MAX_RANK);
    let list: Vec<usize> = given.list(name)?;
    let count = list.len();
    list.try_into().map_err(|_| {
        Error::argument("window", format!("{name} has {count} numbers"), format!("give {N} of them"))
    })
}
