//! Training that is saved, and goes on from its file as if it had never ended: weights, optimizer, position
//! and seed are in it.

use situ::nn::losses::MeanSquaredError;
use situ::nn::optimizers::Adam;
use situ::nn::{Activation, Dense, Fit, Progress, Sequential, Trainer, compile};
use situ::prelude::*;
use std::path::Path;

fn trainer() -> Result<Trainer<Sequential>> {
    let model = Sequential::new().add(Dense::new(16).activation(Activation::Tanh)).add(Dense::new(1));
    let mut trainer = compile(model, Adam::new(1e-2), MeanSquaredError::new(), ())?;
    // Weights are made with the first batch, or here: `load` needs something to load into.
    trainer.build(&Shape::new(&[32, 4])?)?;
    Ok(trainer)
}

/// The losses of four epochs in one go, and of two epochs after two that were saved.
pub(crate) fn program(file: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    // Bit for bit the same needs kernels that add in one order.
    config::set_deterministic(true)?;
    random::set_seed(1);
    let x = random::normal(&[256, 4])?;
    let y = x.square()?.sum(&[1])?.expand_dims(1)?;
    let fit = |epochs| Fit { epochs, progress: Progress::Silent, ..Fit::default() };

    let whole = trainer()?.fit((&x, &y), fit(4))?.series("loss");

    let mut first = trainer()?;
    first.fit((&x, &y), fit(2))?;
    first.save(file)?;
    // Perhaps in another process, on another day.
    let mut second = trainer()?;
    second.load(file)?;
    let rest = second.fit((&x, &y), fit(2))?.series("loss");
    Ok((whole, rest))
}

pub(crate) fn main() -> Result<()> {
    let file = std::env::temp_dir().join(format!("situ-resumed-{}.safetensors", std::process::id()));
    let (whole, rest) = program(&file)?;
    println!("in one go:         {whole:.5?}");
    println!("saved after two:   {rest:.5?}");
    let _ = std::fs::remove_file(file);
    Ok(())
}
