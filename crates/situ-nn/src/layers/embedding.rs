//! A row of numbers for each word.

use crate::{Identity, Initializer, Layer, Maker, Model, Pass, Penalty, Recipe, Weight};
use situ_core::{DType, Result, Shape};
use situ_tensor::Tensor;

/// The rows of a table at the numbers of the input, which are i32, i64 or u8: `[batch, ..]` gives
/// `[batch, .., size]`.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Embedding, Layer, Maker, Model, Pass};
/// let words = Embedding::new(1000, 16).built(&[5], &mut Maker::new(0))?;
/// let y = words.forward(&situ_tensor::tensor([[3, 1, 4, 1, 5]])?, &Pass::inference())?;
/// assert_eq!(y.shape().dims(), [1, 5, 16]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Embedding {
    words: usize,
    size: usize,
    initializer: Initializer,
    penalty: Penalty,
    identity: Identity,
    table: Option<Weight>,
}

const KIND: &str = "Embedding";

named_and_trainable!(Embedding);

impl Embedding {
    /// A table of `words` rows of `size` numbers, which begin between −0.05 and 0.05.
    #[track_caller]
    pub fn new(words: usize, size: usize) -> Embedding {
        Embedding {
            words,
            size,
            initializer: Initializer::Uniform { low: -0.05, high: 0.05 },
            penalty: Penalty::default(),
            identity: Identity::of_caller(),
            table: None,
        }
    }

    /// How the table begins.
    pub fn initializer(self, initializer: Initializer) -> Embedding {
        Embedding { initializer, ..self }
    }

    /// What the loss adds for the table.
    pub fn penalty(self, penalty: Penalty) -> Embedding {
        Embedding { penalty, ..self }
    }
}

impl Model for Embedding {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        let table = self.identity.value(KIND, &self.table)?;
        let words = match input.dtype() {
            dtype if dtype.is_index() => input.clone(),
            DType::U32 | DType::U64 => input.cast(DType::I64)?,
            dtype if dtype.is_integer() => input.cast(DType::I32)?,
            _ => {
                let wants =
                    format!("the numbers of words from 0 to {}, as i32", self.words.saturating_sub(1));
                return Err(self.identity.refuse(KIND, input.tensor_type(), &wants, "cast them"));
            }
        };
        table.embedding(&words).map_err(|error| self.identity.blame(error))
    }

    fn weights(&self) -> Vec<Weight> {
        self.identity.held(self.table.clone())
    }
}

impl Layer for Embedding {
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
        let table = Recipe::new("table", &[self.words, self.size], self.initializer)?;
        maker.make(&mut self.table, &Recipe { penalty: self.penalty, ..table })?;
        let mut dims = input.dims().to_vec();
        dims.push(self.size);
        Shape::new(&dims).map_err(|error| self.identity.blame(error))
    }
}
