//! A training loop of one's own for a classifier of 365 scenes: the dense layer, its gradients and its
//! updates on the GPU; the softmax and its gradient on whichever device a scope inside the compiled step
//! names.

use situ::function::Explanation;
use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::optimizers::{Adam, Optimizer};
use situ::nn::{Dense, Layer, Loss, Maker, Model, Pass, Weight};
use situ::prelude::*;

const CLASSES: usize = 365;

/// One dense layer.
struct MyModel {
    dense: Dense,
}

impl MyModel {
    fn new(inputs: usize, classes: usize, maker: &mut Maker) -> Result<MyModel> {
        Ok(MyModel { dense: Dense::new(classes).built(&[inputs], maker)? })
    }
}

impl Model for MyModel {
    fn forward(&self, inputs: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.dense.forward(inputs, pass)
    }

    fn weights(&self) -> Vec<Weight> {
        self.dense.weights()
    }
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) losses: Vec<f32>,
    pub(crate) weights: Vec<Weight>,
    /// Where every op of the step ran, and why.
    pub(crate) places: Explanation,
}

/// Trains for some steps with the softmax on the device of that name.
pub(crate) fn program(softmax_on: &'static str, steps: usize) -> Result<Outcome> {
    let model = situ::with_device("/GPU:0", || MyModel::new(128, CLASSES, &mut Maker::new(1)))?;
    let weights = model.weights();
    random::set_seed(5);
    let inputs = random::normal(&[32, 128])?;
    let labels = random::integers(&[32], 0, CLASSES as i32)?;

    let loss = SparseCategoricalCrossEntropy::from_logits();
    let mut optimizer = Optimizer::from(Adam::new(1e-2)).bind(&weights)?;
    let (update, trained) = (optimizer.updater(), weights.clone());
    let train_step = Function::new2(move |inputs, labels| {
        let tape = Tape::new();
        let logits = model.forward(inputs, &Pass::training(1, None))?;
        let loss = situ::with_device(softmax_on, || loss.of(&logits, labels)?.mean(&[]))?;
        update(&tape.gradients(&loss, trained.iter().map(|weight| &weight.variable))?)?;
        Ok(loss)
    });

    let mut losses = Vec::new();
    for _ in 0..steps {
        optimizer.before()?;
        losses.push(train_step.call2(&inputs, &labels)?.item::<f32>()?);
        optimizer.after();
    }
    Ok(Outcome { losses, weights, places: train_step.explain(&[&inputs, &labels])? })
}

pub(crate) fn main() -> Result<()> {
    for softmax_on in ["/CPU:0", "/GPU:0"] {
        let Outcome { losses, weights, places } = program(softmax_on, 20)?;
        println!("softmax on {softmax_on}: from {:.3} to {:.3}", losses[0], losses[losses.len() - 1]);
        for weight in &weights {
            println!("{} on {}", weight.name, weight.variable.device());
        }
        println!("{places}");
    }
    Ok(())
}
