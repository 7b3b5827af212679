//! A CPU and a GPU agree on what is NaN and what is infinite, where that is a matter of what an op is and not
//! of the order of additions: padding beside infinite filters, and epsilons that f32 can't hold.

use situ_core::{DType, Result};
use situ_ir::ops::Format;
use situ_tensor::{Padding, Tape, Tensor, Windows, constant, with_device, with_runtime};
use situ_testkit::machines;
use situ_testkit::numbers::Noise;

/// Fails where one is NaN or infinite and the other is not, or numbers are further apart than rounding
/// explains.
fn assert_alike(what: &str, cpu: &Tensor, gpu: &Tensor) -> Result<()> {
    assert_eq!(cpu.tensor_type(), gpu.tensor_type(), "{what}");
    let (cpu, gpu) = (cpu.to_vec::<f32>()?, gpu.to_vec::<f32>()?);
    for (i, (c, g)) in cpu.iter().zip(&gpu).enumerate() {
        let alike = match c.is_finite() && g.is_finite() {
            true => (c - g).abs() <= 1e-4 * c.abs().max(1.0),
            false => c == g || (c.is_nan() && g.is_nan()),
        };
        assert!(alike, "{what}, element {i}: {c} on the CPU, {g} on the GPU\n{cpu:?}\n{gpu:?}");
    }
    Ok(())
}

fn random(noise: &mut Noise, dims: &[usize], special: Option<f32>) -> Result<Tensor> {
    let count = dims.iter().product();
    let mut values: Vec<f32> = (0..count).map(|_| noise.between(-2.0, 2.0) as f32).collect();
    if let Some(special) = special {
        values[noise.below(count)] = special;
    }
    constant(&values, dims)
}

/// A convolution, and its gradients by the images and by the filters.
fn convolve([x, filter, upstream]: [&Tensor; 3], windows: &Windows) -> Result<[Tensor; 3]> {
    let tape = Tape::new();
    let (x, filter) = (tape.watch(x)?, tape.watch(filter)?);
    let y = x.conv2d(&filter, windows)?;
    let mut by = tape.gradients_from(&[(&y, upstream)], [&x, &filter])?;
    let by_filter = by.pop().flatten().expect("the filter was watched");
    let by_input = by.pop().flatten().expect("the image was watched");
    Ok([y, by_input, by_filter])
}

#[test]
fn padding_is_zeros_that_are_multiplied() -> Result<()> {
    let Some(runtime) = machines::cpu_and_gpu() else { return Ok(()) };
    let noise = &mut Noise::named("padding");
    with_runtime(&runtime, || {
        for round in 0..60 {
            let windows = Windows {
                stride: [1 + noise.below(2), 1 + noise.below(2)],
                dilation: [1 + noise.below(2), 1],
                padding: [Padding::Same, Padding::Valid, Padding::Explicit([[2, 1], [0, 3]])][round % 3],
                format: [Format::ChannelsFirst, Format::ChannelsLast][noise.below(2)],
                groups: 1 + noise.below(2),
            };
            let (taken, made) = (2, 2 * windows.groups);
            let (image, filter) = match windows.format {
                Format::ChannelsFirst => ([2, taken * windows.groups, 7, 6], [made, taken, 3, 2]),
                Format::ChannelsLast => ([2, 7, 6, taken * windows.groups], [3, 2, taken, made]),
            };
            for special in [None, Some(f32::INFINITY), Some(f32::NEG_INFINITY), Some(f32::NAN)] {
                let which = noise.below(3);
                let chosen = |n: usize| special.filter(|_| n == which);
                let x = random(noise, &image, chosen(0))?;
                let f = random(noise, &filter, chosen(1))?;
                let y = with_device("/CPU:0", || x.conv2d(&f, &windows))?;
                let upstream = random(noise, y.shape().dims(), chosen(2))?;
                let run = |place| with_device(place, || convolve([&x, &f, &upstream], &windows));
                let (cpu, gpu) = (run("/CPU:0")?, run("/GPU:0")?);
                for (n, name) in ["forward", "by input", "by filter"].iter().enumerate() {
                    let what = format!("{name}, {windows:?}, {special:?} in {which}");
                    assert_alike(&what, &cpu[n], &gpu[n])?;
                }
            }
        }
        Ok(())
    })
}

#[test]
fn an_epsilon_that_f32_can_not_hold_is_the_one_that_it_can() -> Result<()> {
    let Some(runtime) = machines::cpu_and_gpu() else { return Ok(()) };
    with_runtime(&runtime, || {
        let channels = [[3.0f32, 3.0, 3.0], [1.0, 2.0, 4.0], [1e-25, -1e-25, 0.0], [0.0, -0.0, 1e-30]];
        let x = constant(&channels.concat(), &[4, 3])?.transpose(&[])?;
        for (scale, shift) in [(1.0f32, 0.5f32), (0.0, 0.5), (-2.0, 0.0), (f32::INFINITY, 1.0)] {
            let [scale, shift] = [scale, shift].map(|v| constant(&[v; 4], &[4]));
            let (scale, shift) = (scale?, shift?);
            for epsilon in [0.0, 1e-320, 1e-60, 1e-50, 1e-12, 1e-5] {
                let run = |place| with_device(place, || x.batch_norm(&scale, &shift, 1, epsilon));
                let (cpu, gpu) = (run("/CPU:0")?, run("/GPU:0")?);
                assert_eq!(cpu.0.dtype(), DType::F32);
                assert_alike(&format!("batch_norm, {epsilon:e}, {scale} {shift}"), &cpu.0, &gpu.0)?;
            }
        }
        Ok(())
    })
}
