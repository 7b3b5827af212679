//! A small model, a loss and a metric: the seams, filled in by hand.

use situ_core::{DType, Result};
use situ_nn::{Loss, Maker, Metric, Model, Pass, Penalty, Site, Weight};
use situ_tensor::random::Generator;
use situ_tensor::{Tensor, zeros};

/// Dense, relu, dropout (if its rate is not 0), dense.
#[derive(Debug)]
pub(crate) struct Mlp {
    layers: Vec<(Weight, Weight, Site)>,
    dropout: f64,
}

impl Mlp {
    pub(crate) fn new(sizes: &[usize], seed: u64) -> Result<Mlp> {
        let mut maker = Maker::new(seed);
        let mut layers = Vec::new();
        for (n, pair) in sizes.windows(2).enumerate() {
            layers.push(Mlp::layer(&mut maker, n, pair[0], pair[1])?);
        }
        Ok(Mlp { layers, dropout: 0.0 })
    }

    /// A layer, in the scope around the call.
    pub(crate) fn layer(
        maker: &mut Maker,
        number: usize,
        inputs: usize,
        outputs: usize,
    ) -> Result<(Weight, Weight, Site)> {
        let spread = (2.0 / inputs as f64).sqrt();
        let kernel = maker.generator().normal(&[inputs, outputs], 0.0, spread, DType::F32)?;
        maker.within(&format!("dense_{number}"), |maker| {
            let kernel = maker.weight("kernel", &kernel, true, Penalty::default())?;
            let bias = maker.weight("bias", &zeros(&[outputs], DType::F32)?, true, Penalty::default())?;
            Ok((kernel, bias, Site::here()))
        })
    }

    pub(crate) fn of(layers: Vec<(Weight, Weight, Site)>) -> Mlp {
        Mlp { layers, dropout: 0.0 }
    }

    pub(crate) fn dropout(self, rate: f64) -> Mlp {
        Mlp { dropout: rate, ..self }
    }

    pub(crate) fn penalised(mut self, penalty: Penalty) -> Mlp {
        self.layers[0].0.penalty = penalty;
        self
    }
}

impl Model for Mlp {
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
        let mut x = input.clone();
        for (number, (kernel, bias, site)) in self.layers.iter().enumerate() {
            let _here = site.enter();
            x = x.matmul(&kernel.variable.value())?.bias_add(&bias.variable.value())?;
            if number + 1 < self.layers.len() {
                x = x.relu()?;
                if self.dropout > 0.0 && pass.is_training() {
                    x = x.dropout(self.dropout, pass.draw(), pass.step())?;
                }
            }
        }
        Ok(x)
    }

    fn weights(&self) -> Vec<Weight> {
        self.layers.iter().flat_map(|(kernel, bias, _)| [kernel.clone(), bias.clone()]).collect()
    }
}

/// Softmax cross-entropy with labels, in the scope it was made in.
#[derive(Debug)]
pub(crate) struct CrossEntropy(pub(crate) Site);

impl Loss for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }
    fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let _here = self.0.enter();
        predicted.sparse_softmax_cross_entropy(target)
    }
}

pub(crate) fn cross_entropy() -> CrossEntropy {
    CrossEntropy(Site::here())
}

/// How many labels are right.
#[derive(Debug)]
pub(crate) struct Accuracy;

impl Metric for Accuracy {
    fn name(&self) -> String {
        "accuracy".into()
    }
    fn sums(&self) -> usize {
        2
    }
    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let right = predicted.argmax(&[-1])?.cast(DType::I32)?.equal(target)?.cast(DType::F32)?;
        let count = situ_tensor::ones(right.shape().dims(), DType::F32)?;
        situ_tensor::stack(&[&right.sum(&[])?, &count.sum(&[])?], 0)
    }
    fn figure(&self, sums: &[f32]) -> f64 {
        f64::from(sums[0]) / f64::from(sums[1])
    }
}

/// Points, labelled by the quadrant of their first two coordinates.
pub(crate) fn quadrants(count: usize, width: usize, seed: u64) -> Result<(Tensor, Tensor)> {
    let x = Generator::new(seed).uniform(&[count, width], -1.0, 1.0, DType::F32)?;
    let numbers = x.to_vec::<f32>()?;
    let label = |row: &[f32]| i32::from(row[0] > 0.0) + 2 * i32::from(row[1] > 0.0);
    let labels: Vec<i32> = numbers.chunks(width).map(label).collect();
    Ok((x, situ_tensor::constant(&labels, &[count])?))
}

/// The bits of all weights.
pub(crate) fn bits(weights: &[Weight]) -> Vec<u32> {
    let numbers = weights.iter().flat_map(|w| w.variable.value().to_vec::<f32>().unwrap());
    numbers.map(f32::to_bits).collect()
}
