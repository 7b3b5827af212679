//! What `fit` adds to a step: Dense 784-128(relu)-10, batch 32, Adam, on `CPU:0`.
//!
//! In alternating rounds: a step written by hand (forward, gradients, updates; one batch, already there), the compiled step of a trainer,
//! which also sums losses and metrics, and `fit` over shuffled tensors. Prints the least and the median of the rounds, in µs a step.

use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::metrics::SparseAccuracy;
use situ::nn::optimizers::{Adam, Optimizer};
use situ::nn::{
    Activation, Dense, Fit, Layer, Loss, Maker, Model, Pass, Progress, Sequential, Trainer, compile,
};
use situ::prelude::*;
use situ::random::Generator;
use std::sync::{Arc, Mutex};
use std::time::Instant;

const STEPS: usize = 400;
const BATCH: usize = 32;
const ROUNDS: usize = 25;

fn model() -> Result<Sequential> {
    Sequential::new()
        .add(Dense::new(128).activation(Activation::Relu))
        .add(Dense::new(10))
        .built(&[784], &mut Maker::new(1))
}

fn trainer() -> Result<Trainer<Sequential>> {
    compile(model()?, Adam::new(1e-3), SparseCategoricalCrossEntropy::from_logits(), [SparseAccuracy::new()])
}

fn main() -> Result<()> {
    let _cpu = situ::device("/CPU:0")?;
    let generator = Generator::new(7);
    let x = generator.normal(&[STEPS * BATCH, 784], 0.0, 1.0, DType::F32)?;
    let y = generator.uniform(&[STEPS * BATCH], 0.0, 10.0, DType::I32)?;
    // Memory of their own: a view would be copied in every call.
    let one = (&x.narrow(0, 0, BATCH)? + 0.0)?;
    let labels = y.narrow(0, 0, BATCH)?.mul(&situ::ones(&[BATCH], DType::I32)?)?;

    let by_hand = Arc::new(model()?);
    let weights = by_hand.weights();
    let stepper = Arc::new(Mutex::new(Optimizer::from(Adam::new(1e-3)).bind(&weights)?));
    let loss = SparseCategoricalCrossEntropy::from_logits();
    let of_trace = stepper.clone();
    let bare = Function::many(move |batch| {
        let tape = Tape::new();
        let predicted = by_hand.forward(&batch[0], &Pass::training(0, None))?;
        let loss = loss.of(&predicted, &batch[1])?.mean(&[])?;
        let stepper = of_trace.lock().unwrap_or_else(|p| p.into_inner());
        let gradients = tape.gradients(&loss, stepper.weights().iter().map(|w| &w.variable))?;
        stepper.apply(&gradients)?;
        Ok(vec![])
    });
    stepper.lock().unwrap_or_else(|p| p.into_inner()).before()?;

    let (mut batched, mut fitted) = (trainer()?, trainer()?);
    // One batch again and again: the loop alone, without input.
    let (of_loop, of_loop_y) = (one.clone(), labels.clone());
    let same = situ::data::Dataset::from_generator(move || {
        std::iter::repeat_n((of_loop.clone(), of_loop_y.clone()), STEPS).map(Ok)
    });
    let mut rounds: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..STEPS {
            bare.call_many(&[&one, &labels])?;
        }
        rounds[0].push(start.elapsed().as_secs_f64());
        let quiet = || Fit { batch_size: BATCH, progress: Progress::Silent, ..Fit::default() };
        let history = batched.fit(&same, quiet())?;
        rounds[1].push(history.epochs[0].time.as_secs_f64());
        let history = fitted.fit((&x, &y), quiet())?;
        rounds[2].push(history.epochs[0].time.as_secs_f64());
    }
    let mut least = [0.0; 3];
    for (n, name) in ["by hand", "fit, one batch", "fit, shuffled tensors"].into_iter().enumerate() {
        rounds[n].sort_by(f64::total_cmp);
        let [first, middle] = [0, ROUNDS / 2].map(|at| rounds[n][at] / STEPS as f64 * 1e6);
        least[n] = first;
        println!(
            "{name:22} least {first:7.1} µs, median {middle:7.1} µs a step ({:.3} of by hand)",
            first / least[0]
        );
    }
    Ok(())
}
