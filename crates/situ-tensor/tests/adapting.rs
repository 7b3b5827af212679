//! Functions follow what is measured: where a device is slower than its model says, they leave it.

use situ_core::{DeviceId, Result};
use situ_tensor::{Function, random, with_device, with_runtime};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;
use std::time::Duration;

/// Products that the model of a discrete GPU does in microseconds.
fn products() -> Function {
    Function::new(|x| x.matmul(x)?.matmul(x)?.tanh()?.sum(&[]))
}

fn device_of(f: &Function, x: &situ_tensor::Tensor) -> Result<DeviceId> {
    Ok(f.places(&[x])?.iter().find(|p| p.name == "matmul").expect("it has a product").device)
}

#[test]
fn a_function_leaves_a_device_that_is_slower_than_its_model() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(20));
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let f = products();
        let x = with_device("/CPU:0", || random::normal(&[400, 400]))?;
        assert_eq!(device_of(&f, &x)?, GPU, "by the model");
        let promised = f.plan(&[&x])?.predicted;
        let first = f.call(&x)?.item::<f32>()?;
        for _ in 0..6 {
            f.call(&x)?;
        }
        assert_eq!(device_of(&f, &x)?, CPU, "by what was measured\n{}", f.explain(&[&x])?);
        let last = f.call(&x)?.item::<f32>()?;
        assert!((first - last).abs() <= 1e-4 * first.abs(), "{first} {last}");
        assert!(f.plan(&[&x])?.predicted > promised, "what is expected is what was measured");
        let price = runtime.logical_device(&GPU.spec())?.price();
        assert!(price > 1.25, "the next function knows: {price}");
        Ok(())
    })
}

#[test]
fn a_deterministic_runtime_stays_with_its_first_placement() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(5));
    let runtime = cpu_and(&[&gpu]);
    runtime.set_deterministic(true)?;
    with_runtime(&runtime, || {
        let f = products();
        let x = with_device("/CPU:0", || random::normal(&[400, 400]))?;
        for _ in 0..8 {
            f.call(&x)?;
        }
        assert_eq!(device_of(&f, &x)?, GPU);
        Ok(())
    })
}

#[test]
fn a_scope_holds_whatever_is_measured() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(5));
    with_runtime(&cpu_and(&[&gpu]), || {
        let f = Function::new(|x| with_device("/GPU:0", || x.matmul(x)));
        let x = with_device("/CPU:0", || random::normal(&[100, 100]))?;
        for _ in 0..8 {
            f.call(&x)?;
        }
        assert_eq!(device_of(&f, &x)?, GPU);
        Ok(())
    })
}

#[test]
fn random_numbers_go_on_when_a_function_is_placed_anew() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(20));
    with_runtime(&cpu_and(&[&gpu]), || {
        let f = Function::many(|x| {
            Ok(vec![
                x[0].matmul(&x[0])?.sum(&[])?,
                with_device("/CPU:0", || random::uniform(&[4], 0.0, 1.0))?,
            ])
        });
        let x = with_device("/CPU:0", || random::normal(&[400, 400]))?;
        let mut seen: Vec<Vec<f32>> = Vec::new();
        for _ in 0..12 {
            let drawn = f.call_many(&[&x])?[1].to_vec::<f32>()?;
            assert!(!seen.contains(&drawn), "a call drew the numbers of an earlier one");
            seen.push(drawn);
        }
        assert_eq!(device_of(&f, &x)?, CPU, "it was placed anew in between");
        Ok(())
    })
}

#[test]
fn a_model_that_does_not_fit_the_gpu_is_split() -> Result<()> {
    use situ_runtime::LogicalConfig;
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    // One layer's weight is 1 MiB; eight of them do not fit.
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(6 << 20)])?;
    with_runtime(&runtime, || {
        let weights: Vec<_> =
            (0..8).map(|_| with_device("/CPU:0", || random::normal(&[512, 512]))).collect::<Result<_>>()?;
        let expected = with_device("/CPU:0", || {
            let mut x = random::Generator::new(3).normal(&[256, 512], 0.0, 1.0, situ_core::DType::F32)?;
            for w in &weights {
                x = (&x.matmul(w)? * 0.05)?.tanh()?;
            }
            x.to_vec::<f32>()
        })?;
        let held = weights.clone();
        let f = Function::new(move |x| {
            let mut x = x.clone();
            for w in &held {
                x = (&x.matmul(w)? * 0.05)?.tanh()?;
            }
            Ok(x)
        });
        let x = with_device("/CPU:0", || {
            random::Generator::new(3).normal(&[256, 512], 0.0, 1.0, situ_core::DType::F32)
        })?;
        let got = f.call(&x)?.to_vec::<f32>()?;
        assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4));
        let why = f.explain(&[&x])?;
        let on =
            |device| why.ops.iter().filter(|o| o.place.name == "matmul" && o.place.device == device).count();
        assert!(on(GPU) > 0, "some of it fits: {why}");
        let peak = runtime.logical_device(&GPU.spec())?.memory_info().peak;
        assert!(peak <= 6 << 20, "{peak}");
        Ok(())
    })
}

#[test]
fn results_that_do_not_fit_the_gpu_are_made_elsewhere_where_the_gpu_comes_first() -> Result<()> {
    use situ_core::Reason;
    use situ_runtime::{LogicalConfig, PlacementRule};
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_placement_rule(PlacementRule::PreferGpu)?;
    // The product is 1 MiB, and so are the softmax of it and what is made of both: the three do not fit.
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(5 << 19)])?;
    with_runtime(&runtime, || {
        let (x, w) =
            with_device("/CPU:0", || Ok((random::normal(&[1024, 16])?, random::normal(&[16, 256])?)))?;
        let expected = with_device("/CPU:0", || x.matmul(&w)?.softmax(-1)?.sum(&[0])?.to_vec::<f32>())?;
        let held = w.clone();
        let f = Function::new(move |x| {
            let logits = with_device("/GPU:0", || x.matmul(&held))?;
            let shares = logits.softmax(-1)?;
            shares.add(&logits)?.sub(&logits)?.sum(&[0])
        });
        let got = f.call(&x)?.to_vec::<f32>()?;
        assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-2));
        let places = f.places(&[&x])?;
        let of = |name: &str| places.iter().find(|p| p.name == name).expect("it has one");
        assert_eq!(of("matmul").device, GPU);
        let why = (of("sub").device, of("sub").reason);
        assert_eq!(why, (CPU, Reason::MemoryLimit { full: GPU }), "{}", f.explain(&[&x])?);
        let info = runtime.memory_info(&GPU.spec())?;
        assert!(Some(info.reserved) <= info.limit, "{info:?}");
        Ok(())
    })
}
