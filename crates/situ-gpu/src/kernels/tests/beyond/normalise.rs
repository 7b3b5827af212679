//! Batch norm over many images.

use super::super::harness::*;
use situ_core::Real;
use situ_ir::ops::BatchNorm;

fn check(dims: &[usize], axis: usize, data: &[f32], relative: f64) {
    let channels = dims[axis];
    let (scale, shift) = (numbers(channels, 5), numbers(channels, 6));
    let outputs = run_all(
        BatchNorm { axis: axis as u8, epsilon: Real(1e-3) },
        &[&Tensor::new(dims, data), &Tensor::new(&[channels], &scale), &Tensor::new(&[channels], &shift)],
    );
    let inner: usize = dims[axis + 1..].iter().product();
    let channel = |e: usize| e / inner % channels;
    let count = (data.len() / channels) as f64;
    let mut mean = vec![0f64; channels];
    data.iter().enumerate().for_each(|(e, x)| mean[channel(e)] += f64::from(*x) / count);
    let mut variance = vec![0f64; channels];
    data.iter()
        .enumerate()
        .for_each(|(e, x)| variance[channel(e)] += (f64::from(*x) - mean[channel(e)]).powi(2) / count);
    assert_close(&outputs[1].read(), &mean, relative, 1e-6);
    assert_close(&outputs[2].read(), &variance, 1e-5, 1e-7);
    let want: Vec<f64> = data
        .iter()
        .enumerate()
        .map(|(e, x)| {
            let c = channel(e);
            let y = (f64::from(*x) - mean[c]) / (variance[c] + 1e-3).sqrt();
            y * f64::from(scale[c]) + f64::from(shift[c])
        })
        .collect();
    assert_close(&outputs[0].read(), &want, 1e-5, 1e-4);
}

#[test]
fn statistics_of_long_channels_count_every_pixel() {
    on_every_path(|| {
        for (dims, axis) in [(&[10, 64, 40, 40][..], 1), (&[8, 40, 40, 70], 3), (&[20, 3, 50, 50], 1)] {
            let elements: usize = dims.iter().product();
            check(dims, axis, &vec![0.1; elements], 1e-6);
            let far: Vec<f32> = numbers(elements, 7).iter().map(|x| x + 50.0).collect();
            check(dims, axis, &far, 1e-6);
        }
    });
}
