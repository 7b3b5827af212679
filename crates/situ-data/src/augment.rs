//! Variations of images, drawn from an element's own random numbers (see
//! [`Dataset::map_random`](crate::Dataset::map_random)).
//!
//! An image is a tensor whose leading axes are rows and columns: `[height, width]` or
//! `[height, width, channels]`. Flips and crops are views.

use crate::random::Rng;
use crate::transform::number;
use situ_core::{Error, Result};
use situ_tensor::random::Generator;
use situ_tensor::{Span, Tensor};

/// Mirrored along `axis` (0: upside down, 1: left to right) half of the time.
#[track_caller]
pub fn random_flip(image: &Tensor, axis: usize, rng: &mut Rng) -> Result<Tensor> {
    if axis >= image.rank() {
        return Err(Error::operands(
            "random_flip",
            &[image.tensor_type()],
            format!("there is no axis {axis}"),
            "use 0 or 1",
        ));
    }
    if !rng.chance(0.5) {
        return Ok(image.clone());
    }
    let mut spans = vec![Span::ALL; axis + 1];
    spans[axis] = Span::ALL.by(-1);
    image.slice(&spans)
}

/// A part of `sizes` along the leading axes, at a random place. Pad first to shift images rather than cut
/// them.
#[track_caller]
pub fn random_crop(image: &Tensor, sizes: &[usize], rng: &mut Rng) -> Result<Tensor> {
    let dims = image.shape().dims();
    if sizes.len() > dims.len() || sizes.iter().zip(dims).any(|(size, dim)| size > dim) {
        return Err(Error::operands(
            "random_crop",
            &[image.tensor_type()],
            format!("{sizes:?} is no part of it"),
            "crop to sizes within the image, or pad it first",
        ));
    }
    let place = |(&size, &dim): (&usize, &usize)| {
        let start = rng.below(dim - size + 1);
        Span::from(start as isize..(start + size) as isize)
    };
    let spans: Vec<Span> = sizes.iter().zip(dims).map(place).collect();
    image.slice(&spans)
}

/// With normally distributed noise of that deviation added to every element of an image of floats.
#[track_caller]
pub fn random_noise(image: &Tensor, deviation: f64, rng: &mut Rng) -> Result<Tensor> {
    let noise = Generator::new(rng.next_u64()).normal(image.shape().dims(), 0.0, deviation, image.dtype())?;
    image.add(&noise)
}

/// Brighter or darker by up to `most`, the same for the whole image.
#[track_caller]
pub fn random_brightness(image: &Tensor, most: f64, rng: &mut Rng) -> Result<Tensor> {
    image.add(&number((rng.uniform() * 2.0 - 1.0) * most, image.dtype())?)
}
