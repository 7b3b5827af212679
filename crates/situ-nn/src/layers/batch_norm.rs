//! Channels normalised over the batch.

use super::scale_and_shift::ScaleAndShift;
use crate::{Identity, Initializer, Layer, Maker, Model, Pass, Recipe, Weight};
use situ_core::{Result, Shape, TensorType};
use situ_ir::ops::window::Format;
use situ_tensor::Tensor;

/// Each channel with mean 0 and variance 1, then scaled and shifted by what is learned.
///
/// In training, mean and variance are those of the batch, and moving ones follow them; otherwise, and while
/// the layer or one around it is frozen, the moving ones count. The channels are the second axis, or the last
/// one (see [`BatchNorm::format`]).
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{BatchNorm, Layer, Maker, Model, Pass};
/// let norm = BatchNorm::new().built(&[2], &mut Maker::new(0))?;
/// let x = situ_tensor::tensor([[0.0f32, 10.0], [2.0, 30.0]])?;
/// let y = norm.forward(&x, &Pass::training(0, None))?.to_vec::<f32>()?;
/// assert!(y.iter().zip([-1.0, -1.0, 1.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-3));
/// let mean = &norm.weights()[2];
/// assert_eq!((mean.name.as_str(), mean.trainable), ("batch_norm/moving_mean", false));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct BatchNorm {
    format: Format,
    momentum: f64,
    epsilon: f64,
    identity: Identity,
    weights: ScaleAndShift,
    mean: Option<Weight>,
    variance: Option<Weight>,
}

const KIND: &str = "BatchNorm";

impl Default for BatchNorm {
    fn default() -> BatchNorm {
        BatchNorm::new()
    }
}

with_scale_and_shift!(BatchNorm);

impl BatchNorm {
    /// With channels on the second axis, a momentum of 0.99 and an epsilon of 0.001.
    #[track_caller]
    pub fn new() -> BatchNorm {
        BatchNorm {
            format: Format::default(),
            momentum: 0.99,
            epsilon: 1e-3,
            identity: Identity::of_caller(),
            weights: ScaleAndShift::default(),
            mean: None,
            variance: None,
        }
    }

    /// Where the channels are: on the second axis, or on the last.
    pub fn format(self, format: Format) -> BatchNorm {
        BatchNorm { format, ..self }
    }

    /// How much of the moving mean and variance stays in each step.
    pub fn momentum(self, momentum: f64) -> BatchNorm {
        BatchNorm { momentum, ..self }
    }

    /// The axis of the channels; an error for an input that has none, or another number of them.
    fn axis(&self, input: TensorType, channels: Option<usize>) -> Result<usize> {
        let rank = input.shape.rank();
        let axis = match self.format {
            Format::ChannelsFirst => 1,
            Format::ChannelsLast => rank.max(1) - 1,
        };
        if rank >= 2 && channels.is_none_or(|channels| input.shape[axis] == channels) {
            return Ok(axis);
        }
        let channels = channels.map_or_else(|| "channels".into(), |channels| channels.to_string());
        let wants = match self.format {
            Format::ChannelsFirst => format!("[batch, {channels}, ..]"),
            Format::ChannelsLast => format!("[batch, .., {channels}]"),
        };
        Err(self.identity.refuse(KIND, input, &wants, "set the layer's format, or reshape the input"))
    }

    fn follow(&self, weight: &Option<Weight>, value: &Tensor) -> Result<()> {
        let held = self.identity.value(KIND, weight)?.stop_gradient()?;
        let away = held.sub(&value.stop_gradient()?)?;
        match weight {
            Some(weight) => weight.variable.assign_sub(&(&away * (1.0 - self.momentum))?),
            None => Ok(()),
        }
    }
}

impl Model for BatchNorm {
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        let mean = self.identity.value(KIND, &self.mean)?;
        let channels = mean.elements();
        let axis = self.axis(input.tensor_type(), Some(channels))? as isize;
        let [scale, shift] = self.weights.values(KIND, &self.identity, channels, mean.dtype())?;
        let blamed = |error| self.identity.blame(error);
        if pass.trains(&self.identity) {
            let (y, mean, variance) = input.batch_norm(&scale, &shift, axis, self.epsilon).map_err(blamed)?;
            self.follow(&self.mean, &mean)?;
            self.follow(&self.variance, &variance)?;
            return Ok(y);
        }
        let mean = mean.stop_gradient()?;
        let variance = self.identity.value(KIND, &self.variance)?.stop_gradient()?;
        input.batch_norm_by(&mean, &variance, &scale, &shift, axis, self.epsilon).map_err(blamed)
    }

    fn weights(&self) -> Vec<Weight> {
        self.identity.held(self.weights.iter().chain(&self.mean).chain(&self.variance).cloned())
    }
}

impl Layer for BatchNorm {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn identity_mut(&mut self) -> Option<&mut Identity> {
        Some(&mut self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        if !(0.0..=1.0).contains(&self.momentum) || !self.epsilon.is_finite() || self.epsilon < 0.0 {
            let why = format!("a momentum of {} and an epsilon of {}", self.momentum, self.epsilon);
            let help = "give a momentum from 0 to 1, and a small epsilon that is not negative";
            return Err(self.identity.reject(KIND, &why, help));
        }
        let channels = input[self.axis(TensorType::new(maker.dtype(), *input), None)?];
        self.weights.make(maker, channels)?;
        for (place, name, initializer) in [
            (&mut self.mean, "moving_mean", Initializer::Zeros),
            (&mut self.variance, "moving_variance", Initializer::Ones),
        ] {
            let recipe = Recipe::new(name, &[channels], initializer)?;
            maker.make(place, &Recipe { trainable: false, ..recipe })?;
        }
        Ok(*input)
    }
}
