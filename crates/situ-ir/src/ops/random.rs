//! Random tensors: counter-based (Philox 4×32-10), so that the same seed and stream give the same numbers on
//! any device and any number of threads.

use super::{Attributes, Given, Rule, arity};
use crate::gradient::Differentiability;
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Real, Result, Shape, TensorType};

/// What is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Distribution {
    /// From `low` to below `high`; floats, or integers of a range of at most 2^32.
    Uniform {
        /// The least value.
        low: Real,
        /// Above the largest value.
        high: Real,
    },
    /// The normal distribution; floats.
    Normal {
        /// The mean of the distribution.
        mean: Real,
        /// Its standard deviation.
        deviation: Real,
    },
    /// True, or 1, with probability `p`; bool, floats or integers.
    Bernoulli {
        /// The probability of true, or 1.
        p: Real,
    },
    /// The numbers from 0 to n − 1 in random order; i32 or i64.
    Permutation,
}

/// A tensor of random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Random {
    /// What is drawn.
    pub distribution: Distribution,
    /// The generator's seed.
    pub seed: u64,
    /// Which of the seed's streams: each draw of a program takes the next.
    pub stream: u64,
    /// The shape of the result.
    pub shape: Shape,
    /// The dtype of the result.
    pub dtype: DType,
}

impl Rule for Random {
    const NAMES: &'static [&'static str] =
        &["random_uniform", "random_normal", "random_bernoulli", "random_permutation"];

    fn name(&self) -> &'static str {
        match self.distribution {
            Distribution::Uniform { .. } => "random_uniform",
            Distribution::Normal { .. } => "random_normal",
            Distribution::Bernoulli { .. } => "random_bernoulli",
            Distribution::Permutation => "random_permutation",
        }
    }

    fn attributes(&self) -> Attributes {
        let drawn = match self.distribution {
            Distribution::Uniform { low, high } => Attributes::none().with("low", low).with("high", high),
            Distribution::Normal { mean, deviation } => {
                Attributes::none().with("mean", mean).with("deviation", deviation)
            }
            Distribution::Bernoulli { p } => Attributes::none().with("p", p),
            Distribution::Permutation => Attributes::none(),
        };
        drawn
            .with("seed", self.seed)
            .with("stream", self.stream)
            .with("dtype", self.dtype)
            .with("shape", self.shape)
    }

    fn read(name: &str, given: &mut Given) -> Result<Random> {
        let distribution = match name {
            "random_uniform" => Distribution::Uniform { low: given.real("low")?, high: given.real("high")? },
            "random_normal" => {
                Distribution::Normal { mean: given.real("mean")?, deviation: given.real("deviation")? }
            }
            "random_bernoulli" => Distribution::Bernoulli { p: given.real("p")? },
            _ => Distribution::Permutation,
        };
        Ok(Random {
            distribution,
            seed: given.integer("seed")?,
            stream: given.integer("stream")?,
            shape: given.shape("shape")?,
            dtype: given.dtype("dtype")?,
        })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 0)?;
        let whole = |v: f64| v == v.trunc();
        let beyond =
            |v: f64| self.dtype.is_float() && !situ_core::Scalar::of(self.dtype, v).to_f64().is_finite();
        let refused = match self.distribution {
            Distribution::Uniform { low: Real(low), high: Real(high) } => {
                let span = high - low;
                let integer = self.dtype.is_integer();
                let range = self.dtype.whole_range();
                if self.dtype == DType::Bool {
                    Some(format!("draws numbers, not {}", self.dtype))
                } else if !span.is_finite() || span < 0.0 || (integer && span < 1.0) {
                    Some(format!("there is nothing from {low} to below {high}"))
                } else if integer && (!whole(low) || !whole(high) || span > 4_294_967_296.0) {
                    Some(format!("integers from {low} to below {high} need whole bounds at most 2^32 apart"))
                } else if range.is_some_and(|r| (low as i128) < *r.start() || high as i128 > *r.end() + 1) {
                    Some(format!("the bounds {low} and {high} are beyond {}", self.dtype))
                } else if beyond(low) || beyond(high) || beyond(span) {
                    Some(format!("the bounds {low} and {high}, or their distance, are beyond {}", self.dtype))
                } else {
                    None
                }
            }
            Distribution::Normal { mean: Real(mean), deviation: Real(deviation) } => {
                if !self.dtype.is_float() {
                    Some(format!("draws floats, not {}", self.dtype))
                } else if !mean.is_finite() || !deviation.is_finite() || deviation < 0.0 {
                    Some(format!("mean {mean} and standard deviation {deviation}"))
                } else if beyond(mean) || beyond(deviation) {
                    Some(format!("mean {mean} or standard deviation {deviation} is beyond {}", self.dtype))
                } else {
                    None
                }
            }
            Distribution::Bernoulli { p: Real(p) } => {
                (!(0.0..=1.0).contains(&p)).then(|| format!("the probability is {p}, not from 0 to 1"))
            }
            Distribution::Permutation => {
                if !self.dtype.is_index() {
                    Some(format!("draws i32 or i64, not {}", self.dtype))
                } else if self.shape.rank() != 1 || self.shape[0] > 1 << 31 {
                    Some(format!("needs one axis of at most 2^31 elements, not {}", self.shape))
                } else {
                    None
                }
            }
        };
        match refused {
            Some(why) => Err(Error::argument(op, why, "change the arguments")),
            None => Ok(TensorType { dtype: self.dtype, shape: self.shape }),
        }
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Transcendental, 40.0, inputs, outputs)
    }

    fn stream(&self) -> Option<u64> {
        Some(self.stream)
    }

    fn with_stream(&self, stream: u64) -> Random {
        Random { stream, ..*self }
    }

    fn stays_alone(&self, _: &[TensorType]) -> Option<&'static str> {
        Some("random numbers are drawn by an op of their own")
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Source
    }
}
