//! Recipes: random programs of tensor ops, each of which can be followed eagerly or as a function, anywhere.
//!
//! [`Recipe::random`] writes one from a seed; [`Recipe::follow`] runs it. Promises: the same seed gives the
//! same recipe; values stay within [`MOST`], so that an answer that is right stays comparable; nothing jumps
//! (a comparison, a cast to integers) after an op that may be rounded differently elsewhere.

mod follow;
mod write;

use situ_core::DType;

/// No value of a recipe is larger.
pub const MOST: f64 = 64.0;

/// A tensor that a recipe starts from.
#[derive(Clone, Debug)]
pub struct Given {
    /// The dtype of the tensor.
    pub dtype: DType,
    /// The sizes of its dimensions.
    pub dims: Vec<usize>,
    /// Whether it is a variable, which the recipe changes at its end.
    pub variable: bool,
}

/// What a step does with the values of earlier steps, by their numbers.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each is the op of its name")]
pub enum Action {
    Unary(&'static str, usize),
    Binary(&'static str, usize, usize),
    /// a / (|b| + 1).
    Quotient(usize, usize),
    /// The larger where the first is above the second, by comparison and choice.
    Choose(usize, usize, usize, usize),
    Scale(usize, f64),
    Reduce(&'static str, usize, Vec<isize>, bool),
    Matmul(usize, usize, bool, bool),
    BiasAdd(usize, usize),
    Softmax(usize),
    LayerNorm(usize, usize, usize),
    Transpose(usize),
    Flatten(usize),
    Narrow(usize, isize, usize, usize),
    Skip(usize),
    Concat(usize, usize, isize),
    Pad(usize, f64),
    Tile(usize),
    Gather(usize, Vec<i32>),
    CrossEntropy(usize, Vec<i32>),
    Cast(usize, DType),
    /// One of two functions of a value, by the sign of the first element of another.
    Cond(usize, usize),
    /// Halved while its first element is above a bound.
    Loop(usize),
    Constant(DType, Vec<usize>, f64),
}

/// One step, and the scope around it.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub action: Action,
    /// Under which device scope.
    pub scope: Option<&'static str>,
}

/// A random program.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// What it starts from: the first values.
    pub given: Vec<Given>,
    /// Its steps: the values after those.
    pub steps: Vec<Step>,
    /// The values that it returns.
    pub returned: Vec<usize>,
    /// For each variable among what is given, the value it is set to.
    pub updates: Vec<(usize, usize)>,
}
