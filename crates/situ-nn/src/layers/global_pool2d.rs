//! Pooling of whole images: one number for each channel.

use crate::{Identity, Layer, Maker, Model, Pass, Weight};
use situ_core::{Result, Shape, TensorType};
use situ_ir::ops::window::Format;
use situ_tensor::Tensor;

macro_rules! global_pools {
    ($($(#[$doc:meta])* $name:ident $text:literal $method:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            format: Format,
            identity: Identity,
        }

        named!($name);

        impl Default for $name {
            fn default() -> $name {
                $name::new()
            }
        }

        impl $name {
            /// Of images with their channels first.
            #[track_caller]
            pub fn new() -> $name {
                $name { format: Format::default(), identity: Identity::of_caller() }
            }

            /// Where the channels are.
            pub fn format(self, format: Format) -> $name {
                $name { format, ..self }
            }
        }

        impl Model for $name {
            fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
                let _here = self.identity.enter();
                input.$method(self.format).map_err(|error| self.identity.blame(error))
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
                let image = self.format.image(stringify!($method), &[images], input);
                let image = image.map_err(|error| self.identity.blame(error))?;
                Shape::new(&[image.batch, image.channels])
            }
        }
    )*};
}

global_pools! {
    /// The mean of each channel: `[batch, channels]`.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::{GlobalAvgPool2D, Model, Pass};
    /// let x = situ_tensor::range(0.0f32, 8.0, 1.0)?.reshape(&[1, 2, 2, 2])?;
    /// assert_eq!(GlobalAvgPool2D::new().forward(&x, &Pass::inference())?.to_vec::<f32>()?, [1.5, 5.5]);
    /// # Ok(()) }
    /// ```
    GlobalAvgPool2D "GlobalAvgPool2D" global_average_pool2d;
    /// The largest of each channel: `[batch, channels]`.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::{GlobalMaxPool2D, Model, Pass};
    /// let x = situ_tensor::range(0.0f32, 8.0, 1.0)?.reshape(&[1, 2, 2, 2])?;
    /// assert_eq!(GlobalMaxPool2D::new().forward(&x, &Pass::inference())?.to_vec::<f32>()?, [3.0, 7.0]);
    /// # Ok(()) }
    /// ```
    GlobalMaxPool2D "GlobalMaxPool2D" global_max_pool2d;
}
