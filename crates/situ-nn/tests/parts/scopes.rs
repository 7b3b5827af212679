//! Layers and losses run where they were made, forward and backward.

use situ_core::{DType, DeviceId, Result};
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::{
    Activate, Activation, BatchNorm, Conv2D, Dense, Flatten, Layer, Loss, Maker, Model, Pass, Sequential,
};
use situ_runtime::function::NodePlace;
use situ_tensor::{Function, Tape, random, with_device, with_runtime, zeros};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

fn with_gpu<T>(body: impl FnOnce() -> Result<T>) -> T {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), body).unwrap()
}

/// A function that gives the loss and the gradients by every weight.
fn step(model: impl Model + 'static, loss: impl Loss + 'static) -> Function {
    Function::many(move |batch| {
        let tape = Tape::new();
        let predicted = model.forward(&batch[0], &Pass::training(1, None))?;
        let mean = loss.of(&predicted, &batch[1])?.mean(&[])?;
        let weights = model.weights();
        let trained: Vec<_> = weights.iter().filter(|w| w.trainable).collect();
        let gradients = tape.gradients(&mean, trained.iter().map(|w| &w.variable))?;
        Ok(std::iter::once(mean).chain(gradients.into_iter().flatten()).collect())
    })
}

fn asked<'p>(places: &'p [NodePlace], device: &str) -> Vec<&'p NodePlace> {
    let spec = device.parse().unwrap();
    places.iter().filter(|place| place.requested == spec).collect()
}

fn names(places: &[&NodePlace]) -> Vec<&'static str> {
    places.iter().map(|place| place.name).collect()
}

#[test]
fn a_softmax_on_the_cpu_and_a_dense_layer_on_the_gpu_stay_there_forward_and_backward_in_one_function() {
    with_gpu(|| {
        let dense = with_device("/GPU:0", || Dense::new(365).built(&[128], &mut Maker::new(1)))?;
        let loss = with_device("/CPU:0", || Ok(SparseCategoricalCrossEntropy::from_logits()))?;
        assert!(dense.weights().iter().all(|w| w.variable.device() == GPU && w.variable.is_pinned()));
        let step = step(dense, loss);
        let (x, labels) = (random::normal(&[32, 128])?, random::integers(&[32], 0, 365)?);
        let places = step.places(&[&x, &labels])?;
        assert!(places.iter().all(|p| p.requested.is_empty()
            || p.device == if p.requested == "/GPU:0".parse().unwrap() { GPU } else { CPU }));
        let (gpu, cpu) = (asked(&places, "/GPU:0"), asked(&places, "/CPU:0"));
        let products = names(&gpu).iter().filter(|name| **name == "matmul").count();
        assert_eq!(products, 2, "the product, and its gradient by the kernel: {:?}", names(&gpu));
        assert!(names(&cpu).contains(&"sparse_softmax_cross_entropy"), "{:?}", names(&cpu));
        assert!(names(&cpu).contains(&"softmax"), "its gradient: {:?}", names(&cpu));
        assert!(!names(&gpu).iter().any(|name| name.contains("softmax")), "{:?}", names(&gpu));
        let results = step.call_many(&[&x, &labels])?;
        assert_eq!(results.len(), 3);
        Ok(())
    });
}

#[test]
fn the_same_holds_without_a_function() {
    with_gpu(|| {
        let dense = with_device("/GPU:0", || Dense::new(4).built(&[8], &mut Maker::new(1)))?;
        let loss = with_device("/CPU:0", || Ok(SparseCategoricalCrossEntropy::from_logits()))?;
        let logits = dense.forward(&zeros(&[2, 8], DType::F32)?, &Pass::inference())?;
        let each = loss.of(&logits, &situ_tensor::tensor([0, 3])?)?;
        assert_eq!((logits.device(), each.device()), (GPU, CPU));
        Ok(())
    });
}

#[test]
fn the_scope_around_the_call_of_a_function_moves_nothing_that_was_made_elsewhere_and_all_else() {
    with_gpu(|| {
        let first = with_device("/GPU:0", || Dense::new(8).built(&[8], &mut Maker::new(1)))?;
        let second = Dense::new(4).built(&[8], &mut Maker::new(2))?;
        let function = Function::new(move |x| {
            let hidden = first.forward(x, &Pass::inference())?;
            second.forward(&hidden, &Pass::inference())
        });
        let x = zeros(&[2, 8], DType::F32)?;
        let places = with_device("/CPU:0", || function.places(&[&x]))?;
        let on =
            |device: DeviceId| places.iter().filter(|p| p.device == device && p.name == "matmul").count();
        assert_eq!((on(GPU), on(CPU)), (1, 1), "{places:?}");
        Ok(())
    });
}

#[test]
fn a_scope_at_the_call_of_a_layer_is_stronger_than_the_one_it_was_made_in() {
    with_gpu(|| {
        let dense = with_device("/GPU:0", || Dense::new(4).built(&[8], &mut Maker::new(1)))?;
        let x = zeros(&[2, 8], DType::F32)?;
        let y = with_device("/CPU:0", || dense.forward(&x, &Pass::inference()))?;
        assert_eq!(y.device(), CPU);
        let function = Function::new(move |x| with_device("/CPU:0", || dense.forward(x, &Pass::inference())));
        assert!(function.places(&[&x])?.iter().all(|place| place.device == CPU));
        Ok(())
    });
}

#[test]
fn every_layer_of_a_network_keeps_its_own_scope() {
    with_gpu(|| {
        let gpu = |layer: fn() -> Sequential| with_device("/GPU:0", || Ok(layer()));
        let images = gpu(|| Sequential::new().add(Conv2D::new(4, [3, 3])).add(BatchNorm::new()))?;
        let model = images
            .add(Flatten::new())
            .add(with_device("/CPU:0", || Ok(Dense::new(5)))?)
            .add(with_device("/CPU:0", || Ok(Activate::new(Activation::Tanh)))?)
            .built(&[1, 8, 8], &mut Maker::new(3))?;
        for weight in model.weights() {
            let wanted = if weight.name.starts_with("dense") { CPU } else { GPU };
            assert_eq!(weight.variable.device(), wanted, "{}", weight.name);
        }
        let loss = SparseCategoricalCrossEntropy::from_logits();
        let step = step(model, loss);
        let places = step.places(&[&zeros(&[2, 1, 8, 8], DType::F32)?, &situ_tensor::tensor([1, 4])?])?;
        let cpu = names(&asked(&places, "/CPU:0"));
        let gpu = names(&asked(&places, "/GPU:0"));
        assert_eq!(cpu.iter().filter(|n| **n == "matmul").count(), 3, "forward, and back by both: {cpu:?}");
        assert!(gpu.contains(&"conv2d") && gpu.contains(&"batch_norm"), "{gpu:?}");
        assert!(gpu.contains(&"conv2d_by_filter"), "{gpu:?}");
        assert!(!cpu.iter().any(|n| n.starts_with("conv2d") || *n == "batch_norm"), "{cpu:?}");
        Ok(())
    });
}
