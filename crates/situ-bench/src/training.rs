//! The cases of training: one step of a small network and its optimizer, as a function or eagerly on the
//! tape.
//!
//! The networks are those of `bench/peers/networks.py`.

use crate::cases::Call;
use situ::ops::{Update, UpdateKind};
use situ::{
    DType, Function, Padding, Real, Result, Source, Tape, Tensor, Variable, Windows, random::Generator, zeros,
};
use std::sync::Arc;

/// The call of a case of this file; nothing if it is not one.
pub(crate) fn prepare(name: &str) -> Result<Option<Call>> {
    Ok(Some(match name {
        "dense_step_32" => Step::new(Network::Dense, 32)?.compiled(),
        "dense_eager_step_32" => Step::new(Network::Dense, 32)?.eager(),
        "cnn_step_64" => Step::new(Network::Cnn, 64)?.compiled(),
        "resnet_step_8" => Step::new(Network::Resnet, 8)?.compiled(),
        "cnn_eager_step_64" => Step::new(Network::Cnn, 64)?.eager(),
        _ => return Ok(None),
    }))
}

#[derive(Clone, Copy)]
enum Network {
    /// 784 → 128, relu → 10.
    Dense,
    /// 28×28: 3×3 ×32, relu, max 2×2, 3×3 ×64, relu, max 2×2, dense 128, relu, dense 10.
    Cnn,
    /// 64 channels of 56×56: twice 3×3 ×64 with a batch norm, around which the input is added; dense 10.
    Resnet,
}

impl Network {
    /// The weights' shapes, each with how many inputs a value of the next layer has; biases have none.
    fn weights(self) -> Vec<(Vec<usize>, usize)> {
        match self {
            Network::Dense => {
                vec![(vec![784, 128], 784), (vec![128], 0), (vec![128, 10], 128), (vec![10], 0)]
            }
            Network::Cnn => vec![
                (vec![32, 1, 3, 3], 9),
                (vec![32, 1, 1], 0),
                (vec![64, 32, 3, 3], 288),
                (vec![64, 1, 1], 0),
                (vec![1600, 128], 1600),
                (vec![128], 0),
                (vec![128, 10], 128),
                (vec![10], 0),
            ],
            Network::Resnet => {
                let part = [(vec![64, 64, 3, 3], 576), (vec![64], 0), (vec![64], 0)];
                [&part[..], &part[..], &[(vec![64, 10], 64), (vec![10], 0)]].concat()
            }
        }
    }

    fn input(self, batch: usize) -> Vec<usize> {
        match self {
            Network::Dense => vec![batch, 784],
            Network::Cnn => vec![batch, 1, 28, 28],
            Network::Resnet => vec![batch, 64, 56, 56],
        }
    }

    fn logits(self, x: &Tensor, weights: &[Tensor]) -> Result<Tensor> {
        match (self, weights) {
            (Network::Dense, [w1, b1, w2, b2]) => x.matmul(w1)?.add(b1)?.relu()?.matmul(w2)?.add(b2),
            (Network::Cnn, [f1, c1, f2, c2, w1, b1, w2, b2]) => {
                let (every, second) = (Windows::default(), Windows { stride: [2; 2], ..Windows::default() });
                let x = x.conv2d(f1, &every)?.add(c1)?.relu()?.max_pool2d([2; 2], &second)?;
                let x = x.conv2d(f2, &every)?.add(c2)?.relu()?.max_pool2d([2; 2], &second)?;
                x.reshape(&[-1, 1600])?.matmul(w1)?.add(b1)?.relu()?.matmul(w2)?.add(b2)
            }
            (Network::Resnet, [f1, scale1, shift1, f2, scale2, shift2, w, b]) => {
                let same = Windows { padding: Padding::Same, ..Windows::default() };
                // Scales are kept as what they differ from one by: all weights but filters begin at zero.
                let normal = |x: Tensor, scale: &Tensor, shift: &Tensor| {
                    Ok::<Tensor, situ::Error>(x.batch_norm(&(scale + 1.0)?, shift, 1, 1e-5)?.0)
                };
                let y = normal(x.conv2d(f1, &same)?, scale1, shift1)?.relu()?;
                let y = normal(y.conv2d(f2, &same)?, scale2, shift2)?.add(x)?.relu()?;
                y.mean(&[2, 3])?.matmul(w)?.add(b)
            }
            _ => Err(situ::Error::argument("bench", "a network has all its weights", "see Network::weights")),
        }
    }
}

/// A network with Adam's state, and a batch.
struct Step {
    network: Network,
    weights: Vec<Variable>,
    states: Vec<[Variable; 2]>,
    /// The learning rate, and the number of the step.
    rates: Variable,
    one: Tensor,
    x: Tensor,
    labels: Tensor,
}

impl Step {
    fn new(network: Network, batch: usize) -> Result<Arc<Step>> {
        let generator = Generator::new(1);
        let (mut weights, mut states) = (vec![], vec![]);
        for (dims, fan_in) in network.weights() {
            let value = match fan_in {
                0 => zeros(&dims, DType::F32)?,
                n => generator.normal(&dims, 0.0, (2.0 / n as f64).sqrt(), DType::F32)?,
            };
            let zero = || Variable::new(&zeros(&dims, DType::F32)?);
            weights.push(Variable::new(&value)?);
            states.push([zero()?, zero()?]);
        }
        let labels: Vec<i32> = (0..batch as i32).map(|i| i * 7 % 10).collect();
        Ok(Arc::new(Step {
            network,
            weights,
            states,
            rates: Variable::new(&situ::tensor([1e-3f32, 0.0])?)?,
            one: situ::tensor([0.0f32, 1.0])?,
            x: generator.normal(&network.input(batch), 0.0, 1.0, DType::F32)?,
            labels: situ::tensor(labels)?,
        }))
    }

    /// Forward, backward, and Adam for every weight; the loss.
    fn run(&self, x: &Tensor, labels: &Tensor) -> Result<Tensor> {
        self.rates.assign_add(&self.one)?;
        let tape = Tape::new();
        let weights: Vec<Tensor> = self.weights.iter().map(Variable::value).collect();
        let logits = self.network.logits(x, &weights)?;
        let loss = logits.sparse_softmax_cross_entropy(labels)?.mean(&[])?;
        let gradients = tape.gradients(&loss, self.weights.iter().map(Source::from))?;
        let kind = UpdateKind::Adam { beta1: Real(0.9), beta2: Real(0.999), epsilon: Real(1e-8) };
        let adam = Update { kind, decay: Real(0.0), decoupled: false };
        let rates = self.rates.value();
        for ((weight, gradient), [mean, square]) in self.weights.iter().zip(gradients).zip(&self.states) {
            if let Some(gradient) = gradient {
                weight.step(adam, &gradient, &rates, &[mean, square])?;
            }
        }
        Ok(loss)
    }

    fn eager(self: Arc<Step>) -> Call {
        Box::new(move || self.run(&self.x, &self.labels))
    }

    fn compiled(self: Arc<Step>) -> Call {
        let (x, labels) = (self.x.clone(), self.labels.clone());
        let function = Function::new2(move |x, labels| self.run(x, labels));
        Box::new(move || function.call2(&x, &labels))
    }
}
