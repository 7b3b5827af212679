//! Weights: variables of a model with a name, and how they are made.

use crate::{Fans, Initializer, Layer};
use situ_core::{DType, Error, Result, Shape};
use situ_tensor::random::Generator;
use situ_tensor::{Tensor, Variable};
use std::collections::HashSet;

/// What is added to the loss for a weight: `l1 · Σ|w| + l2 · Σw²`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Penalty {
    /// For the sum of magnitudes.
    pub l1: f64,
    /// For the sum of squares.
    pub l2: f64,
}

impl Penalty {
    /// `rate · Σ|w|`.
    pub fn l1(rate: f64) -> Penalty {
        Penalty { l1: rate, l2: 0.0 }
    }

    /// `rate · Σw²`.
    pub fn l2(rate: f64) -> Penalty {
        Penalty { l1: 0.0, l2: rate }
    }

    /// Whether it adds nothing.
    pub fn is_none(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }

    /// What it adds for that value.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Penalty;
    /// let w = situ_tensor::tensor([1.0f32, -2.0])?;
    /// assert_eq!(Penalty::l2(0.5).of(&w)?.item::<f32>()?, 2.5);
    /// assert_eq!(Penalty { l1: 1.0, l2: 0.5 }.of(&w)?.item::<f32>()?, 5.5);
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn of(&self, value: &Tensor) -> Result<Tensor> {
        let squares = value.square()?.sum(&[])?;
        let squares = (&squares * self.l2)?;
        if self.l1 == 0.0 {
            return Ok(squares);
        }
        let magnitudes = value.abs()?.sum(&[])?;
        (&magnitudes * self.l1)?.add(&squares)
    }
}

/// A variable of a model. Clones are the same variable.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Its name in summaries and checkpoints: the layer's and its own, `dense/kernel`.
    pub name: String,
    /// What it holds.
    pub variable: Variable,
    /// Whether gradients change it. Running means, for one, are only assigned.
    pub trainable: bool,
    /// What the loss adds for it.
    pub penalty: Penalty,
}

/// What a weight is to be.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<'a> {
    /// Its own name: `kernel`.
    pub name: &'a str,
    /// The sizes of the weight.
    pub shape: Shape,
    /// How it begins.
    pub initializer: Initializer,
    /// What the initialiser goes by.
    pub fans: Fans,
    /// Whether gradients change it.
    pub trainable: bool,
    /// What the loss adds for it.
    pub penalty: Penalty,
}

impl<'a> Recipe<'a> {
    /// A weight that is trained, without a penalty, with fans as its shape has them.
    pub fn new(name: &'a str, dims: &[usize], initializer: Initializer) -> Result<Recipe<'a>> {
        let shape = Shape::new(dims)?;
        let (fans, penalty) = (Fans::of(&shape), Penalty::default());
        Ok(Recipe { name, shape, initializer, fans, trainable: true, penalty })
    }
}

/// Makes the weights of layers: from one seed, the same ones in the same order, under names that differ.
#[derive(Debug)]
pub struct Maker {
    generator: Generator,
    dtype: DType,
    /// The layer whose weights are being made, and those around it.
    path: String,
    /// Paths of layers.
    taken: HashSet<String>,
    /// Weights that it has made.
    made: Vec<String>,
    /// Weights of a build that failed: they are made again.
    undone: Vec<String>,
}

impl Maker {
    /// For weights of f32.
    pub fn new(seed: u64) -> Maker {
        Maker {
            generator: Generator::new(seed),
            dtype: DType::F32,
            path: String::new(),
            taken: HashSet::new(),
            made: Vec::new(),
            undone: Vec::new(),
        }
    }

    /// For weights of another float dtype.
    pub fn of(self, dtype: DType) -> Maker {
        Maker { dtype, ..self }
    }

    /// The same after a build that failed, by what it had made: that is made again, as if it had never been.
    pub(crate) fn after(self, undone: Vec<String>) -> Maker {
        Maker { undone, ..self }
    }

    /// The names of the weights that it has made, and of those that it was to make again.
    pub(crate) fn into_made(self) -> Vec<String> {
        self.made.into_iter().chain(self.undone).collect()
    }

    /// The dtype of the weights.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where initialisers draw from.
    pub fn generator(&self) -> &Generator {
        &self.generator
    }

    /// The path of the layer whose weights are being made: `block/dense_1`; empty outside of any.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Builds a layer: finds it a name (its own, or `dense`, `dense_1`, ..) and makes its weights under that.
    /// Gives the name and the shape of what the layer gives.
    pub fn build(&mut self, layer: &mut dyn Layer, input: &Shape) -> Result<(String, Shape)> {
        let name = self.name_for(layer)?;
        let output = self.within(&name, |maker| layer.build(input, maker))?;
        Ok((name, output))
    }

    fn name_for(&mut self, layer: &dyn Layer) -> Result<String> {
        if let Some(name) = layer.identity().and_then(|identity| identity.given()) {
            if name.is_empty() || name.contains('/') {
                let why = format!("a layer can't be named {name:?}");
                return Err(Error::argument(layer.kind(), why, "use a name without / that is not empty"));
            }
            if !self.taken.insert(self.join(name)) {
                let why = format!("another layer is named {name:?}");
                return Err(Error::argument(layer.kind(), why, "give each layer a name of its own"));
            }
            return Ok(name.to_owned());
        }
        let kind = snake_case(layer.kind());
        let mut name = kind.clone();
        let mut number = 0;
        while !self.taken.insert(self.join(&name)) {
            number += 1;
            name = format!("{kind}_{number}");
        }
        Ok(name)
    }

    fn join(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }

    /// Runs `body` with the names of what it makes below `layer`: of weights, and of the ops of layers that
    /// are built in it.
    pub fn within<T>(&mut self, layer: &str, body: impl FnOnce(&mut Maker) -> Result<T>) -> Result<T> {
        let before = self.path.len();
        self.path = self.join(layer);
        let made = body(self);
        self.path.truncate(before);
        made
    }

    /// Makes the weight that a layer has a place for, on the device of the scopes around the call. One that
    /// is there is kept, if it has that shape, and takes the name that it would have got.
    pub fn make(&mut self, place: &mut Option<Weight>, recipe: &Recipe<'_>) -> Result<()> {
        let name = self.join(recipe.name);
        if let Some(undone) = self.undone.iter().position(|undone| *undone == name) {
            self.undone.swap_remove(undone);
            *place = None;
        }
        match place {
            None => {
                let value = recipe.initializer.make(&recipe.shape, recipe.fans, self)?;
                *place = Some(self.weight(recipe.name, &value, recipe.trainable, recipe.penalty)?);
                self.made.push(name);
            }
            Some(weight) if *weight.variable.shape() == recipe.shape => weight.name = name,
            Some(weight) => {
                return Err(Error::argument(
                    "build",
                    format!(
                        "{name} has the shape {}, and this input wants {}",
                        weight.variable.shape(),
                        recipe.shape
                    ),
                    "make a new layer for inputs of another size",
                ));
            }
        }
        Ok(())
    }

    /// A weight with that value, on the device of the scopes around the call.
    #[track_caller]
    pub fn weight(
        &mut self,
        name: &str,
        value: &Tensor,
        trainable: bool,
        penalty: Penalty,
    ) -> Result<Weight> {
        let variable = Variable::new(value)?;
        Ok(Weight { name: self.join(name), variable, trainable, penalty })
    }
}

/// `MaxPool2D` as `max_pool2d`.
fn snake_case(kind: &str) -> String {
    let mut name = String::with_capacity(kind.len() + 2);
    let mut after_small = false;
    for letter in kind.chars() {
        if letter.is_uppercase() && after_small {
            name.push('_');
        }
        after_small = letter.is_lowercase();
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds_are_written_small_with_digits_kept_together() {
        let names = ["Dense", "Conv2D", "MaxPool2D", "GlobalAvgPool2D", "BatchNorm"].map(snake_case);
        assert_eq!(names, ["dense", "conv2d", "max_pool2d", "global_avg_pool2d", "batch_norm"]);
    }
}
