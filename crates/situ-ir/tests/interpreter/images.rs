//! Ops on images, window by window.

use super::{Array, made, rounded};
use situ_core::{Scalar, TensorType};
use situ_ir::ops::window::{Format, Window};
use situ_ir::ops::{Conv2d, Pool2d, PoolKind};

/// The axes of height and width.
fn axes(format: Format) -> [usize; 2] {
    match format {
        Format::ChannelsFirst => [2, 3],
        Format::ChannelsLast => [1, 2],
    }
}

/// Where the elements of the window at a place are, those on the image.
fn pixels(
    window: &Window,
    size: [usize; 2],
    image: &[usize],
    place: &[usize],
) -> Vec<([usize; 2], Vec<usize>)> {
    let axes = axes(window.format);
    let mut list = Vec::new();
    for element in (0..size[0]).flat_map(|y| (0..size[1]).map(move |x| [y, x])) {
        let mut at = place.to_vec();
        let inside = (0..2).all(|n| {
            let position = place[axes[n]] * window.stride[n] + element[n] * window.dilation[n];
            let position = position.wrapping_sub(window.padding[n][0]);
            at[axes[n]] = position;
            position < image[axes[n]]
        });
        if inside {
            list.push((element, at));
        }
    }
    list
}

/// Where the largest of a window is: the first of equals, or the first NaN.
fn largest(op: &Pool2d, x: &Array, place: &[usize]) -> Vec<usize> {
    let list = pixels(&op.window, op.size, x.ty.shape.dims(), place);
    let value = |at: &[usize]| x.at(at).to_f64();
    let better = |a: f64, b: f64| a > b || (a.is_nan() && !b.is_nan());
    let best =
        list.iter().reduce(|held, next| if better(value(&next.1), value(&held.1)) { next } else { held });
    best.expect("every window has a pixel").1.clone()
}

/// Pooling. Means are not among what tests run.
pub fn pool(op: &Pool2d, x: &Array, ty: TensorType) -> Array {
    assert_eq!(op.kind, PoolKind::Max);
    made(ty, |place| x.at(&largest(op, x, place)))
}

/// Its gradient.
pub fn pool_by_input(op: &Pool2d, x: &Array, upstream: &Array) -> Array {
    assert_eq!(op.kind, PoolKind::Max);
    let places = super::indices(&upstream.ty.shape);
    made(x.ty, |at| {
        let here = places.iter().filter(|place| largest(op, x, place) == *at);
        let sum = here.fold(0.0, |sum, place| sum + upstream.at(place).to_f64());
        rounded(x.ty.dtype, sum)
    })
}

/// A convolution without groups.
pub fn conv(op: &Conv2d, x: &Array, filter: &Array, ty: TensorType) -> Array {
    assert_eq!((op.groups, op.window.format), (1, Format::ChannelsFirst));
    let [_, channels, height, width] = *filter.ty.shape.dims() else { unreachable!("four axes") };
    made(ty, |place| {
        let mut sum = 0.0;
        for (element, mut at) in pixels(&op.window, [height, width], x.ty.shape.dims(), place) {
            for channel in 0..channels {
                at[1] = channel;
                let by: Scalar = filter.at(&[place[1], channel, element[0], element[1]]);
                sum += x.at(&at).to_f64() * by.to_f64();
            }
        }
        rounded(ty.dtype, sum)
    })
}
