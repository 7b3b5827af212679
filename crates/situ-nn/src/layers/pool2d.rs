//! Pooling: one number for each window of each channel of images.

use crate::{Identity, Layer, Maker, Model, Pass, Weight};
use situ_core::{Result, Shape, TensorType};
use situ_ir::ops::window::Format;
use situ_ir::ops::{Pool2d, PoolKind, Rule};
use situ_tensor::{Padding, Tensor, Windows};

macro_rules! pools {
    ($($(#[$doc:meta])* $name:ident $text:literal $kind:ident $method:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            size: [usize; 2],
            windows: Windows,
            identity: Identity,
        }

        named!($name);

        impl $name {
            /// Windows of that height and width, one beside the other, without padding, channels first.
            #[track_caller]
            pub fn new(size: [usize; 2]) -> $name {
                let windows = Windows { stride: size, ..Windows::default() };
                $name { size, windows, identity: Identity::of_caller() }
            }

            /// From one window to the next, down and across.
            pub fn stride(mut self, stride: [usize; 2]) -> $name {
                self.windows.stride = stride;
                self
            }

            /// What is around the images. It counts for nothing.
            pub fn padding(mut self, padding: Padding) -> $name {
                self.windows.padding = padding;
                self
            }

            /// Where the channels are.
            pub fn format(mut self, format: Format) -> $name {
                self.windows.format = format;
                self
            }
        }

        impl Model for $name {
            fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
                let _here = self.identity.enter();
                input.$method(self.size, &self.windows).map_err(|error| self.identity.blame(error))
            }

            fn weights(&self) -> Vec<Weight> {
                Vec::new()
            }
        }

        impl Layer for $name {
            fn kind(&self) -> &'static str {
                $text
            }

            fn identity(&self) -> Option<&Identity> {
                Some(&self.identity)
            }

            fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
                let _here = self.identity.build(maker);
                let images = TensorType::new(maker.dtype(), *input);
                let output = self.windows.window(stringify!($method), images, self.size).and_then(|window| {
                    Pool2d { kind: PoolKind::$kind, size: self.size, window }.infer(&[images])
                });
                Ok(output.map_err(|error| self.identity.blame(error))?.shape)
            }
        }
    )*};
}

pools! {
    /// The largest of each window.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::{MaxPool2D, Model, Pass};
    /// let x = situ_tensor::range(0.0f32, 16.0, 1.0)?.reshape(&[1, 1, 4, 4])?;
    /// let y = MaxPool2D::new([2, 2]).forward(&x, &Pass::inference())?;
    /// assert_eq!(y.to_vec::<f32>()?, [5.0, 7.0, 13.0, 15.0]);
    /// # Ok(()) }
    /// ```
    MaxPool2D "MaxPool2D" Max max_pool2d;
    /// The mean of each window.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::{AvgPool2D, Model, Pass};
    /// let x = situ_tensor::range(0.0f32, 16.0, 1.0)?.reshape(&[1, 1, 4, 4])?;
    /// let y = AvgPool2D::new([2, 2]).forward(&x, &Pass::inference())?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.5, 4.5, 10.5, 12.5]);
    /// # Ok(()) }
    /// ```
    AvgPool2D "AvgPool2D" Average average_pool2d;
}
