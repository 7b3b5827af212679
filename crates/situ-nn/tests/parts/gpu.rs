//! A small convolutional network on the machine's GPU, if it has one: the same results and gradients as on
//! the CPU.

use crate::numbers::{assert_close, numbers, some};
use situ_core::{Policy, Result};
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::metrics::{Auc, SparseAccuracy, TopK};
use situ_nn::{
    Activate, Activation, BatchNorm, Conv2D, Dense, Dropout, Flatten, Layer, LayerNorm, Loss, Maker,
    MaxPool2D, Metric, Model, Pass, Residual, Sequential,
};
use situ_tensor::{Function, Padding, Tape, constant, device, fallback_policy, tensor, with_runtime};
use situ_testkit::machines::{GPU, shared_cpu_and_gpu};

fn network() -> Sequential {
    Sequential::new()
        .add(Conv2D::new(4, [3, 3]).padding(Padding::Same).use_bias(false))
        .add(BatchNorm::new())
        .add(Activate::new(Activation::Relu))
        .add(MaxPool2D::new([2, 2]))
        .add(Residual::new().add(Conv2D::new(4, [3, 3]).padding(Padding::Same).activation(Activation::Tanh)))
        .add(Flatten::new())
        .add(Dropout::new(0.25))
        .add(Dense::new(8).activation(Activation::Gelu))
        .add(LayerNorm::new())
        .add(Dense::new(3))
}

/// The loss, the gradients and three metrics of one step, and the moving means after it.
fn results(on: &str) -> Result<Vec<Vec<f64>>> {
    let _device = device(on)?;
    let model = network().built(&[1, 6, 6], &mut Maker::new(17))?;
    let loss = SparseCategoricalCrossEntropy::from_logits().label_smoothing(0.1);
    let weights = model.weights();
    let held = weights.clone();
    let step = Function::many(move |batch| {
        // What the GPU has no kernel for must not slip in.
        let _strict = fallback_policy(Policy::Forbid);
        let tape = Tape::new();
        let logits = model.forward(&batch[0], &Pass::training(9, Some(batch[2].clone())))?;
        let mean = loss.of(&logits, &batch[1])?.mean(&[])?;
        let trained: Vec<_> = held.iter().filter(|w| w.trainable).collect();
        let gradients = tape.gradients(&mean, trained.iter().map(|w| &w.variable))?;
        let mut out = vec![mean];
        out.extend(gradients.into_iter().flatten());
        out.push(SparseAccuracy::new().batch(&logits, &batch[1])?);
        out.push(TopK::new(2).batch(&logits, &batch[1])?);
        let first = logits.narrow(1, 0, 1)?.sigmoid()?;
        let is_first = batch[1].equal(&situ_tensor::zeros(&[], situ_core::DType::I32)?)?;
        out.push(Auc::roc().thresholds(20).batch(&first, &is_first)?);
        Ok(out)
    });
    let images: Vec<f32> = some(5 * 36, 91).iter().map(|&v| v as f32).collect();
    let batch = [constant(&images, &[5, 1, 6, 6])?, tensor([0, 2, 1, 1, 0])?, tensor(3)?];
    let batch: Vec<_> = batch.iter().collect();
    let out = step.call_many(&batch)?;
    if on == "/GPU:0" {
        let elsewhere: Vec<_> = step.places(&batch)?.into_iter().filter(|p| p.device != GPU).collect();
        assert!(elsewhere.is_empty(), "{elsewhere:?}");
    }
    let mut all: Vec<Vec<f64>> = out.iter().map(numbers).collect();
    all.extend(weights.iter().filter(|w| !w.trainable).map(|w| numbers(&w.variable.value())));
    Ok(all)
}

#[test]
fn a_small_network_learns_on_the_gpu_what_it_learns_on_the_cpu() {
    let Some(runtime) = shared_cpu_and_gpu() else { return };
    let (cpu, gpu) = with_runtime(runtime, || (results("/CPU:0").unwrap(), results("/GPU:0").unwrap()));
    assert_eq!(cpu.len(), gpu.len());
    for (number, (wanted, got)) in cpu.iter().zip(&gpu).enumerate() {
        assert_close(got, wanted, 2e-4, &format!("result {number}"));
    }
}
