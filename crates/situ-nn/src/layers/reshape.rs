//! The numbers of an example under another shape.

use crate::{Identity, Layer, Maker, Model, Pass, Weight};
use situ_core::{Result, Shape, TensorType};
use situ_tensor::Tensor;

/// `[batch, ..]` as `[batch]` and the sizes that it was given, one of which may be −1 and is then worked out.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Model, Pass, Reshape};
/// let rows = situ_tensor::zeros(&[8, 784], situ_core::DType::F32)?;
/// let images = Reshape::new(&[1, 28, -1]).forward(&rows, &Pass::inference())?;
/// assert_eq!(images.shape().dims(), [8, 1, 28, 28]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Reshape {
    dims: Vec<isize>,
    identity: Identity,
}

const KIND: &str = "Reshape";

named!(Reshape);

impl Reshape {
    /// To these sizes, without the batch.
    #[track_caller]
    pub fn new(dims: &[isize]) -> Reshape {
        Reshape { dims: dims.to_vec(), identity: Identity::of_caller() }
    }

    /// The whole shape of the result. (−1 is worked out of one example, so that a batch may be empty.)
    fn resolve(&self, input: TensorType) -> Result<Shape> {
        let wants = format!("what has as many numbers as {:?}", self.dims);
        let refuse = || {
            self.identity.refuse(
                KIND,
                input,
                &wants,
                "choose sizes that multiply to an example's numbers, and at most one −1",
            )
        };
        let [batch, rest @ ..] = input.shape.dims() else { return Err(refuse()) };
        let numbers: usize = rest.iter().product();
        let known =
            self.dims.iter().filter(|d| **d >= 0).try_fold(1usize, |all, &d| all.checked_mul(d as usize));
        let Some(known) = known else { return Err(refuse()) };
        let free = self.dims.iter().filter(|d| **d < 0).count();
        let fits = match free {
            0 => known == numbers,
            1 => self.dims.contains(&-1) && known > 0 && numbers.is_multiple_of(known),
            _ => false,
        };
        if !fits {
            return Err(refuse());
        }
        let mut dims = vec![*batch];
        dims.extend(self.dims.iter().map(|&d| if d < 0 { numbers / known } else { d as usize }));
        Shape::new(&dims).map_err(|error| self.identity.blame(error))
    }
}

impl Model for Reshape {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        let shape = self.resolve(input.tensor_type())?;
        let dims: Vec<isize> = shape.dims().iter().map(|&d| d as isize).collect();
        input.reshape(&dims)
    }

    fn weights(&self) -> Vec<Weight> {
        Vec::new()
    }
}

impl Layer for Reshape {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        self.resolve(TensorType::new(maker.dtype(), *input))
    }
}
