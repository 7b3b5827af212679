//! Random tensors: one stream on every device, and numbers that look like what they are called.

use situ_core::{DType, Result};
use situ_tensor::random::Generator;
use situ_tensor::{Tensor, with_device, with_runtime};
use situ_testkit::machines;

fn draws(generator: &Generator) -> Result<Vec<(&'static str, Tensor)>> {
    Ok(vec![
        ("uniform f32", generator.uniform(&[101, 37], -2.0, 3.0, DType::F32)?),
        ("uniform i32", generator.uniform(&[1003], -50.0, 51.0, DType::I32)?),
        ("bernoulli bool", generator.bernoulli(&[5, 999], 0.37, DType::Bool)?),
        ("bernoulli f32", generator.bernoulli(&[999], 0.37, DType::F32)?),
        ("permutation", generator.permutation(3001, DType::I32)?),
    ])
}

#[test]
fn streams_are_bit_equal_on_cpu_and_gpu_and_normals_within_a_hundred_thousandth() -> Result<()> {
    let Some(runtime) = machines::shared_cpu_and_gpu() else { return Ok(()) };
    with_runtime(runtime, || {
        let here = Generator::new(20_231);
        let there = Generator::new(20_231);
        let on_cpu = with_device("/CPU:0", || draws(&here))?;
        let on_gpu = with_device("/GPU:0", || draws(&there))?;
        for ((name, a), (_, b)) in on_cpu.iter().zip(&on_gpu) {
            assert_eq!((a.device().to_string(), b.device().to_string()), ("CPU:0".into(), "GPU:0".into()));
            assert!(a.to_bytes()? == b.to_bytes()?, "{name}");
        }
        let draw = |g: &Generator| g.normal(&[10_001], 1.0, 2.0, DType::F32);
        let a = with_device("/CPU:0", || draw(&here))?.to_vec::<f32>()?;
        let b = with_device("/GPU:0", || draw(&there))?.to_vec::<f32>()?;
        let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 2.0 * 1e-5, "off by {worst}");
        Ok(())
    })
}

#[test]
fn a_seed_repeats_and_a_state_continues() -> Result<()> {
    with_runtime(&machines::cpu(), || {
        let one = Generator::new(5);
        let first = one.uniform(&[64], 0.0, 1.0, DType::F32)?.to_vec::<f32>()?;
        let state = one.state();
        let second = one.uniform(&[64], 0.0, 1.0, DType::F32)?.to_vec::<f32>()?;
        assert_ne!(first, second, "each draw is a stream of its own");
        let continued = Generator::from_state(state).uniform(&[64], 0.0, 1.0, DType::F32)?;
        assert_eq!(continued.to_vec::<f32>()?, second);
        one.reset(5);
        assert_eq!(one.uniform(&[64], 0.0, 1.0, DType::F32)?.to_vec::<f32>()?, first);
        assert_ne!(Generator::new(6).uniform(&[64], 0.0, 1.0, DType::F32)?.to_vec::<f32>()?, first);
        Ok(())
    })
}

#[test]
fn moments_are_those_of_the_distribution() -> Result<()> {
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64)
    };
    with_runtime(&machines::cpu(), || {
        let g = Generator::new(99);
        let n = 200_000;
        let wide = |t: Tensor| t.cast(DType::F64)?.to_vec::<f64>();
        // Bounds are five standard errors.
        let (mean, variance) = moments(&wide(g.uniform(&[n], 0.0, 1.0, DType::F32)?)?);
        assert!((mean - 0.5).abs() < 0.0033 && (variance - 1.0 / 12.0).abs() < 0.001, "{mean} {variance}");
        let (mean, variance) = moments(&wide(g.normal(&[n], 3.0, 2.0, DType::F32)?)?);
        assert!((mean - 3.0).abs() < 0.023 && (variance - 4.0).abs() < 0.064, "{mean} {variance}");
        let (mean, _) = moments(&wide(g.bernoulli(&[n], 0.25, DType::F32)?)?);
        assert!((mean - 0.25).abs() < 0.005, "{mean}");
        let dice = g.uniform(&[n], 1.0, 7.0, DType::I32)?.to_vec::<i32>()?;
        for face in 1..=6 {
            let share = dice.iter().filter(|&&d| d == face).count() as f64 / n as f64;
            assert!((share - 1.0 / 6.0).abs() < 0.0042, "{face}: {share}");
        }
        Ok(())
    })
}
