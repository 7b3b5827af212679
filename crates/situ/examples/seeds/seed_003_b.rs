//! Training as people know it from Keras: a model built in one scope, its data prepared in another, fitted in
//! the first.

use situ::data::transform::Normalize;
use situ::nn::losses::CategoricalCrossEntropy;
use situ::nn::metrics::Accuracy;
use situ::nn::optimizers::Adam;
use situ::nn::{Activation, Dense, Fit, History, Progress, Sequential, Trainer, compile};
use situ::prelude::*;

/// The trainer after `epochs` epochs on `count` examples of noise around a digit each, and what it did.
pub(crate) fn program(
    count: usize,
    epochs: usize,
    progress: Progress,
) -> Result<(Trainer<Sequential>, History, Tensor)> {
    // The layers that compute most, on the GPU.
    let mut trainer = situ::with_device("/GPU:0", || {
        let model = Sequential::new()
            .add(Dense::new(128).activation(Activation::Relu))
            .add(Dense::new(10).activation(Activation::Softmax));
        compile(model, Adam::new(1e-3), CategoricalCrossEntropy::from_probabilities(), [Accuracy::new()])
    })?;

    // What is done to the data first, on the CPU.
    let (x, y) = situ::with_device("/CPU:0", || {
        random::set_seed(3);
        let labels = random::integers(&[count], 0, 10)?;
        let digits = random::normal(&[10, 784])?;
        let noise = random::normal(&[count, 784])?;
        let images = digits.gather(&labels, 0)?.add(&noise)?;
        let x = Normalize::of(&images)?.apply(&images)?;
        Ok((x, labels.one_hot(10, DType::F32)?))
    })?;

    let _gpu = situ::device("/GPU:0")?;
    let history = trainer.fit((&x, &y), Fit { epochs, progress, ..Fit::default() })?;
    Ok((trainer, history, x))
}

pub(crate) fn main() -> Result<()> {
    let (trainer, history, x) = program(6_000, 10, Progress::Auto)?;
    for weight in trainer.weights() {
        println!("{} on {}", weight.name, weight.variable.device());
    }
    println!("accuracy {:.4}", history.last("accuracy").unwrap_or(f64::NAN));
    println!("a prediction: {}", trainer.predict(&x.narrow(0, 0, 1)?)?);
    Ok(())
}
