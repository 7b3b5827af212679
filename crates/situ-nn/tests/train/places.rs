//! Scopes in a compiled step: what is asked for holds forwards and backwards.

use crate::model::*;
use situ_core::{DeviceId, Result};
use situ_nn::optimizers::{Adam, Clip};
use situ_nn::{Fit, Maker, Progress, compile};
use situ_tensor::{with_device, with_runtime};
use situ_testkit::machines::{self, CPU, GPU};
use situ_testkit::simulated::SimulatedGpu;

fn devices_of(places: &[situ_runtime::function::NodePlace], name: &str) -> Vec<DeviceId> {
    places.iter().filter(|p| p.name == name).map(|p| p.device).collect()
}

#[test]
fn the_loss_on_the_cpu_and_the_layers_on_the_gpu_hold_forwards_and_backwards() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let (x, y) = quadrants(64, 128, 2)?;
        let model = with_device("/GPU:0", || Mlp::new(&[128, 32, 4], 5))?;
        let loss = with_device("/CPU:0", || Ok(cross_entropy()))?;
        let optimizer = Adam { clip: Clip::GlobalNorm(1.0), ..Adam::new(0.01) };
        let mut trainer = compile(model, optimizer, loss, [Accuracy])?;
        trainer.fit((&x, &y), Fit { batch_size: 64, progress: Progress::Silent, ..Fit::default() })?;
        let step = trainer.training()?.step_function();
        let places = step.places(&[&x, &y])?;
        assert_eq!(devices_of(&places, "adam"), [GPU; 4], "updates go with the weights");
        let products = devices_of(&places, "matmul");
        assert!(products.len() >= 5 && products.iter().all(|d| *d == GPU), "{products:?}");
        let losses: Vec<_> = places.iter().filter(|p| p.name.contains("cross_entropy")).collect();
        assert!(!losses.is_empty());
        assert!(losses.iter().all(|p| p.device == CPU), "{losses:?}");
        // The gradient of the loss is the softmax less the labels: on the CPU, by the scope of its forward
        // op.
        let backward = places.iter().filter(|p| p.name.contains("softmax") || p.name.contains("one_hot"));
        assert!(backward.clone().count() > 0);
        assert!(backward.clone().all(|p| p.device == CPU), "{:?}", backward.collect::<Vec<_>>());
        assert!(trainer.weights().iter().all(|w| w.variable.device() == GPU), "weights stay where they are");
        assert!(!step.busy(&[&x, &y])?.is_empty());
        Ok(())
    })
}

#[test]
fn layers_on_different_devices_keep_their_weights_and_their_state_there() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let (x, y) = quadrants(64, 16, 2)?;
        let mut maker = Maker::new(5);
        let first = with_device("/GPU:0", || Mlp::layer(&mut maker, 0, 16, 32))?;
        let second = with_device("/CPU:0", || Mlp::layer(&mut maker, 1, 32, 4))?;
        let mut trainer = compile(Mlp::of(vec![first, second]), Adam::new(0.01), cross_entropy(), ())?;
        // A scope around fit is weaker than the layers' own.
        let _around = situ_tensor::device("/GPU:0")?;
        trainer.fit((&x, &y), Fit { batch_size: 64, progress: Progress::Silent, ..Fit::default() })?;
        let placed: Vec<DeviceId> = trainer.weights().iter().map(|w| w.variable.device()).collect();
        assert_eq!(placed, [GPU, GPU, CPU, CPU]);
        let places = trainer.training()?.step_function().places(&[&x, &y])?;
        let mut updates = devices_of(&places, "adam");
        updates.sort();
        assert_eq!(updates, [CPU, CPU, GPU, GPU]);
        let relu: Vec<DeviceId> = devices_of(&places, "relu");
        assert!(!relu.is_empty() && relu.iter().all(|d| *d == GPU), "{relu:?}");
        let loss = devices_of(&places, "sparse_softmax_cross_entropy");
        assert!(
            loss.iter().all(|d| *d == GPU),
            "an op without a scope of its own goes by the call's: {loss:?}"
        );
        Ok(())
    })
}

#[test]
fn training_on_two_devices_gives_what_one_gives() -> Result<()> {
    let on = |devices: [&str; 2]| -> Result<Vec<f64>> {
        let gpu = SimulatedGpu::new();
        let runtime = machines::cpu_and(&[&gpu]);
        with_runtime(&runtime, || {
            let (x, y) = quadrants(96, 16, 2)?;
            let mut maker = Maker::new(5);
            let first = with_device(devices[0], || Mlp::layer(&mut maker, 0, 16, 32))?;
            let second = with_device(devices[1], || Mlp::layer(&mut maker, 1, 32, 4))?;
            let optimizer = Adam { clip: Clip::GlobalNorm(0.5), ..Adam::new(0.01) };
            let mut trainer = compile(Mlp::of(vec![first, second]), optimizer, cross_entropy(), ())?;
            let fit = Fit { epochs: 3, progress: Progress::Silent, ..Fit::default() };
            Ok(trainer.fit((&x, &y), fit)?.series("loss"))
        })
    };
    let cpu = on(["/CPU:0", "/CPU:0"])?;
    let both = on(["/GPU:0", "/CPU:0"])?;
    for (a, b) in cpu.iter().zip(&both) {
        assert!((a - b).abs() < 1e-5, "{cpu:?} {both:?}");
    }
    Ok(())
}
