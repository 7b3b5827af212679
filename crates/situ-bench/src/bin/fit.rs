//! What `fit` adds to a step: Dense 784-128(relu)-10, batch 32, Adam, on `CPU:0`.
//!
//! In alternating rounds: a step written by hand (forward, gradients, updates; one batch, already there), the
//! compiled step of a trainer, which also sums losses and metrics, and `fit` over shuffled tensors. Every
//! step is timed, from the end of the one before; prints the time that a tenth of the steps stay below (what
//! it takes where nothing else disturbs) and the median, in µs.

use situ::nn::callbacks::{EachBatch, Run};
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
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let [by_hand, of_one, of_all] = &mut times;
        let mut watch = Watch::new(by_hand);
        for _ in 0..STEPS {
            bare.call_many(&[&one, &labels])?;
            watch.lap();
        }
        batched.fit(&same, timed(of_one))?;
        fitted.fit((&x, &y), timed(of_all))?;
    }
    let mut undisturbed = 0.0;
    for (name, mut times) in ["by hand", "fit, one batch", "fit, shuffled tensors"].into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let [tenth, median] = [times.len() / 10, times.len() / 2].map(|at| times[at] * 1e6);
        if undisturbed == 0.0 {
            undisturbed = tenth;
        }
        let share = tenth / undisturbed;
        println!("{name:22} {tenth:7.1} µs, median {median:7.1} µs a step ({share:.3} of by hand)");
    }
    Ok(())
}

/// Writes down how long each step took.
struct Watch<'t> {
    times: &'t mut Vec<f64>,
    last: Instant,
}

impl Watch<'_> {
    fn new(times: &mut Vec<f64>) -> Watch<'_> {
        Watch { times, last: Instant::now() }
    }

    fn lap(&mut self) {
        let now = Instant::now();
        self.times.push((now - self.last).as_secs_f64());
        self.last = now;
    }
}

/// An epoch whose steps are timed.
fn timed(times: &mut Vec<f64>) -> Fit<'_> {
    let mut watch = Watch::new(times);
    let each = EachBatch(move |_: &mut Run<'_>| {
        watch.lap();
        Ok(())
    });
    Fit { batch_size: BATCH, progress: Progress::Silent, callbacks: vec![Box::new(each)], ..Fit::default() }
}
