//! Random tensors: the same seed gives the same numbers on any device and any number of threads.
//!
//! A function's closure runs once, and so a draw in it takes one stream of the generator, with the seed of
//! that moment. Each call of the function, whichever scope or device it is for, and each trip of a loop in it
//! draws anew, from a stream that follows from that one, from how many calls of the same trace drew before,
//! and from the trips of the loops around. So the same seed and the same calls in the same order give the
//! same numbers, but not those that the same ops give eagerly, beyond the first call and outside of loops.

use crate::apply::apply;
use crate::tensor::Tensor;
use situ_core::{DType, Real, Result, Shape};
use situ_ir::ops::{Distribution, Random};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A source of random tensors: a seed, and a count of the draws so far, each of which is a stream of its own.
#[derive(Debug, Default)]
pub struct Generator {
    seed: AtomicU64,
    next: AtomicU64,
}

static GLOBAL: Generator = Generator { seed: AtomicU64::new(0), next: AtomicU64::new(0) };

/// Seeds the process's generator and starts its draws anew.
pub fn set_seed(seed: u64) {
    GLOBAL.reset(seed);
}

impl Generator {
    /// A generator of that seed.
    pub fn new(seed: u64) -> Generator {
        Generator { seed: AtomicU64::new(seed), next: AtomicU64::new(0) }
    }

    /// Another seed, from the first draw on.
    pub fn reset(&self, seed: u64) {
        self.seed.store(seed, Relaxed);
        self.next.store(0, Relaxed);
    }

    /// The seed and the number of draws so far, from which it can be continued.
    pub fn state(&self) -> (u64, u64) {
        (self.seed.load(Relaxed), self.next.load(Relaxed))
    }

    /// A generator that goes on from a state.
    pub fn from_state((seed, draws): (u64, u64)) -> Generator {
        Generator { seed: AtomicU64::new(seed), next: AtomicU64::new(draws) }
    }

    #[track_caller]
    fn draw(&self, distribution: Distribution, dims: &[usize], dtype: DType) -> Result<Tensor> {
        let shape = Shape::new(dims).map_err(|error| error.of_op("random", &[]))?;
        let stream = self.next.fetch_add(1, Relaxed);
        apply(Random { distribution, seed: self.seed.load(Relaxed), stream, shape, dtype }, &[])
    }

    /// Numbers from `low` to below `high`: floats, or integers.
    #[track_caller]
    pub fn uniform(&self, dims: &[usize], low: f64, high: f64, dtype: DType) -> Result<Tensor> {
        self.draw(Distribution::Uniform { low: Real(low), high: Real(high) }, dims, dtype)
    }

    /// Normally distributed floats.
    #[track_caller]
    pub fn normal(&self, dims: &[usize], mean: f64, deviation: f64, dtype: DType) -> Result<Tensor> {
        self.draw(Distribution::Normal { mean: Real(mean), deviation: Real(deviation) }, dims, dtype)
    }

    /// 1, or true, with probability `p`.
    #[track_caller]
    pub fn bernoulli(&self, dims: &[usize], p: f64, dtype: DType) -> Result<Tensor> {
        self.draw(Distribution::Bernoulli { p: Real(p) }, dims, dtype)
    }

    /// The numbers from 0 to n − 1 in random order, as i32 or i64.
    #[track_caller]
    pub fn permutation(&self, n: usize, dtype: DType) -> Result<Tensor> {
        self.draw(Distribution::Permutation, &[n], dtype)
    }
}

/// f32 from `low` to below `high`, by the process's generator.
#[track_caller]
pub fn uniform(dims: &[usize], low: f64, high: f64) -> Result<Tensor> {
    GLOBAL.uniform(dims, low, high, DType::F32)
}

/// i32 from `low` to below `high`, by the process's generator.
#[track_caller]
pub fn integers(dims: &[usize], low: i32, high: i32) -> Result<Tensor> {
    GLOBAL.uniform(dims, f64::from(low), f64::from(high), DType::I32)
}

/// Standard normal f32, by the process's generator.
#[track_caller]
pub fn normal(dims: &[usize]) -> Result<Tensor> {
    GLOBAL.normal(dims, 0.0, 1.0, DType::F32)
}

/// bool that is true with probability `p`, by the process's generator.
#[track_caller]
pub fn bernoulli(dims: &[usize], p: f64) -> Result<Tensor> {
    GLOBAL.bernoulli(dims, p, DType::Bool)
}

/// The numbers from 0 to n − 1 in random order as i32, by the process's generator.
#[track_caller]
pub fn permutation(n: usize) -> Result<Tensor> {
    GLOBAL.permutation(n, DType::I32)
}
