//! Normalisation and one-hot labels on the CPU, the model and its training on the GPU.

use situ::nn::losses::CategoricalCrossEntropy;
use situ::nn::metrics::Accuracy;
use situ::nn::optimizers::Adam;
use situ::nn::{Activation, Dense, Fit, History, Progress, Sequential, Trainer, compile};
use situ::prelude::*;

/// The trainer after `epochs` epochs on `count` rows of 100 numbers, what it did, and the prepared data.
pub(crate) fn program(
    count: usize,
    epochs: usize,
    progress: Progress,
) -> Result<(Trainer<Sequential>, History, Tensor, Tensor)> {
    random::set_seed(4);
    let data = random::uniform(&[count, 100], 0.0, 1.0)?;
    // The label is the tenth in which the sum over the row is: something to learn.
    let sums = data.sum(&[1])?;
    let labels = (&(&(&sums - 46.0)? * 1.25)?.clip(0.0, 9.0)?.floor()? * 1.0)?.cast(DType::I32)?;

    let (data, labels) = situ::with_device("/CPU:0", || {
        let mean = data.mean(&[0])?;
        let away = data.sub(&mean)?;
        let deviation = away.square()?.mean(&[0])?.sqrt()?;
        Ok((away.div(&deviation)?, labels.one_hot(10, DType::F32)?))
    })?;

    let _gpu = situ::device("/GPU:0")?;
    let model = Sequential::new()
        .add(Dense::new(64).activation(Activation::Relu))
        .add(Dense::new(10).activation(Activation::Softmax));
    let loss = CategoricalCrossEntropy::from_probabilities();
    let mut trainer = compile(model, Adam::new(1e-3), loss, [Accuracy::new()])?;
    let history =
        trainer.fit((&data, &labels), Fit { epochs, batch_size: 32, progress, ..Fit::default() })?;
    Ok((trainer, history, data, labels))
}

pub(crate) fn main() -> Result<()> {
    let (mut trainer, history, data, labels) = program(100_000, 10, Progress::Auto)?;
    println!("normalised on {}: {}", data.device(), data.reason());
    println!("the first weight lives on {}", trainer.weights()[0].variable.device());
    println!("losses: {:.4?}", history.series("loss"));
    println!("in the end: {}", trainer.evaluate((&data, &labels), 1000)?);
    Ok(())
}
