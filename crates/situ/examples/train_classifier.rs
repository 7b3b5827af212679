//! A classifier from its data to its predictions: a model of layers, `compile`, `fit`, `evaluate`, `predict`.
//!
//! The points of three arms of a spiral are to be told apart, which no straight line does. No device is
//! named: each op runs where the whole step is done soonest.

use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::metrics::SparseAccuracy;
use situ::nn::optimizers::Adam;
use situ::nn::{Activation, Dense, Figures, Fit, History, Progress, Sequential, compile};
use situ::prelude::*;

const ARMS: usize = 3;

/// Points `[count, 2]`, and which arm each is of.
fn spiral(count: usize) -> Result<(Tensor, Tensor)> {
    let (mut points, mut arms) = (Vec::new(), Vec::new());
    for n in 0..count {
        let (arm, far) = (n % ARMS, 0.1 + 0.9 * n as f32 / count as f32);
        let angle = 4.0 * far + arm as f32 * std::f32::consts::TAU / ARMS as f32;
        points.extend([far * angle.cos(), far * angle.sin()]);
        arms.push(arm as i32);
    }
    Ok((situ::constant(&points, &[count, 2])?, situ::constant(&arms, &[count])?))
}

/// What `fit` reported, and the figures of points that it has never seen.
pub(crate) fn program(epochs: usize, progress: Progress) -> Result<(History, Figures)> {
    let (x, y) = spiral(600)?;
    let (unseen, answers) = spiral(97)?;
    let model = Sequential::new()
        .add(Dense::new(32).activation(Activation::Tanh))
        .add(Dense::new(32).activation(Activation::Tanh))
        .add(Dense::new(ARMS));
    // The last layer gives logits, which the loss is told.
    let loss = SparseCategoricalCrossEntropy::from_logits();
    let mut trainer = compile(model, Adam::new(1e-2), loss, [SparseAccuracy::new()])?;
    let history = trainer.fit((&x, &y), Fit { epochs, progress, ..Fit::default() })?;
    let figures = trainer.evaluate((&unseen, &answers), 32)?;
    // A prediction is a row of logits for each point; the largest names the arm.
    let arm = trainer.predict(&unseen.narrow(0, 0, 1)?)?.argmax(&[-1])?;
    println!("the first point is of arm {arm}, predicted on {}: {}", arm.device(), arm.reason());
    Ok((history, figures))
}

pub(crate) fn main() -> Result<()> {
    let (history, figures) = program(30, Progress::Auto)?;
    println!("loss {:.3} after {} epochs", history.last("loss").unwrap_or(f64::NAN), history.epochs.len());
    println!("on points it has never seen: {figures}");
    Ok(())
}
