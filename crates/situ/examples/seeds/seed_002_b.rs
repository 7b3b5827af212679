//! Inference in batches: the rows stay with the host, batches are copied ahead to where the model is, and
//! what is made of the predictions is made on the CPU.

use situ::data::Dataset;
use situ::nn::{Activation, Dense, Layer, Maker, Model, Pass, Sequential, Summary};
use situ::prelude::*;

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) summary: Summary,
    /// Of each batch, where the model is.
    pub(crate) predictions: Vec<Tensor>,
    /// The likeliest class of each row, on the CPU.
    pub(crate) classes: Vec<Tensor>,
}

pub(crate) fn program() -> Result<Outcome> {
    let data = situ::with_device("/CPU:0", || random::uniform(&[10_000, 100], 0.0, 1.0))?;
    let model = situ::with_device("/GPU:0", || {
        Sequential::new()
            .add(Dense::new(64).activation(Activation::Relu))
            .add(Dense::new(10))
            .built(&[100], &mut Maker::new(7))
    })?;
    let summary = model.summary();
    // While one batch is computed, the next is on its way.
    let home = model.weights()[0].variable.device().to_string();
    let dataset = Dataset::from_tensors(data)?.batch(1024).prefetch_to_device(&home);

    let predict = Function::new(move |batch| model.forward(batch, &Pass::inference()));
    let (mut predictions, mut classes) = (Vec::new(), Vec::new());
    for batch in dataset.iter() {
        let predicted = predict.call(&batch?)?;
        classes.push(situ::with_device("/CPU:0", || predicted.argmax(&[-1]))?);
        predictions.push(predicted);
    }
    Ok(Outcome { summary, predictions, classes })
}

pub(crate) fn main() -> Result<()> {
    let Outcome { summary, predictions, classes } = program()?;
    println!("{summary}\n");
    for (batch, (predicted, class)) in predictions.iter().zip(&classes).enumerate() {
        let (rows, on) = (predicted.shape()[0], predicted.device());
        println!("batch {batch}: {rows} predictions on {on}, classes on {}", class.device());
    }
    println!("moved:\n{}", config::ledger());
    Ok(())
}
