//! Dropout: some elements become zero, the others grow, so that the mean stays.

use super::{Attributes, Given, Rule, float_only};
use crate::gradient::{Application, Builder, Differentiability, Gradients};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Real, Result, TensorType};

/// Each element is zero with probability `rate`, else divided by `1 − rate`. Which ones is a matter of seed,
/// stream and the element's position, on any device: Philox, as in [`Random`](super::Random), whose Bernoulli
/// numbers are 1 at the elements kept. A second input, one i32, is added to the stream: a function that
/// counts its calls there drops others in each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dropout {
    /// How likely an element becomes zero.
    pub rate: Real,
    /// The seed of its random numbers.
    pub seed: u64,
    /// The stream of that seed.
    pub stream: u64,
}

impl Dropout {
    /// Of 2³² words, those below this keep their element.
    pub fn kept(&self) -> u64 {
        // The product is exact, and the cast rounds down.
        ((1.0 - self.rate.0) * 4_294_967_296.0) as u64
    }

    /// What an element that stays is multiplied by.
    pub fn growth(&self) -> f64 {
        1.0 / (1.0 - self.rate.0)
    }
}

impl Rule for Dropout {
    const NAMES: &'static [&'static str] = &["dropout"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("rate", self.rate).with("seed", self.seed).with("stream", self.stream)
    }

    fn read(_: &str, given: &mut Given) -> Result<Dropout> {
        Ok(Dropout {
            rate: given.real("rate")?,
            seed: given.integer("seed")?,
            stream: given.integer("stream")?,
        })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let (x, step) = match inputs {
            [x] => (x, None),
            [x, step] => (x, Some(step)),
            _ => return Err(Error::operands("dropout", inputs, "takes a tensor, and perhaps a step", "")),
        };
        float_only("dropout", inputs, x.dtype)?;
        if step.is_some_and(|t| t.dtype != DType::I32 || t.shape.elements() != 1) {
            let why = "the step must be one i32";
            return Err(Error::operands("dropout", inputs, why, "count calls in an i32 variable"));
        }
        if !(0.0..1.0).contains(&self.rate.0) {
            return Err(Error::operands(
                "dropout",
                inputs,
                format!("the rate is {}", self.rate.0),
                "give a number from 0 to below 1",
            ));
        }
        Ok(*x)
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Transcendental, 12.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        // Linear: the same elements of the gradient become zero.
        let upstream = at.by_output()?;
        let back = match at.inputs {
            [_, step] => builder.emit((*self).into(), &[upstream, step])?,
            _ => builder.emit((*self).into(), &[upstream])?,
        };
        let mut list = Gradients::from_iter([Some(back)]);
        list.extend(at.inputs[1..].iter().map(|_| None));
        Ok(list)
    }
}
