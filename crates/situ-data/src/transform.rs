//! Closures that many pipelines need: scaling, normalising, one-hot labels.

use situ_core::{DType, Error, Result, Scalar};
use situ_ir::ops::Fill;
use situ_tensor::{Tensor, apply_op};

/// A number in the dtype of a tensor, on no axis; an error where the dtype does not have it.
#[track_caller]
pub(crate) fn number(value: f64, dtype: DType) -> Result<Tensor> {
    let shape = situ_core::Shape::new(&[])?;
    let Some(value) = Scalar::exact(dtype, value) else {
        let why = format!("{dtype} has no element {value:?}");
        return Err(Error::argument("fill", why, "cast the tensor to a float first"));
    };
    let made = apply_op(Fill { shape, value }, &[])?;
    made.into_iter().next().ok_or_else(|| Error::argument("fill", "an op gave nothing", ""))
}

/// Bytes 0 to 255 as f32 from 0 to 1, as image files are fed to networks.
#[track_caller]
pub fn pixels(image: &Tensor) -> Result<Tensor> {
    image.cast(DType::F32)?.mul(&number(1.0 / 255.0, DType::F32)?)
}

/// The mean and the deviation of every feature, learnt from data and applied to more of it.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_data::{Dataset, transform::Normalize};
/// let x = situ_tensor::tensor([[1.0f32, 10.0], [3.0, 10.0]])?;
/// let normalize = Normalize::of(&x)?;
/// let all = Dataset::from_tensors(x)?.batch(2).map(move |x| normalize.apply(&x));
/// assert_eq!(all.iter().next().unwrap()?.to_vec::<f32>()?, [-1.0, 0.0, 1.0, 0.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Normalize {
    mean: Tensor,
    /// One over the deviation; 1 where a feature never changes.
    scale: Tensor,
}

impl Normalize {
    /// Learns from the rows of a tensor of floats.
    #[track_caller]
    pub fn of(rows: &Tensor) -> Result<Normalize> {
        if !rows.dtype().is_float() || rows.rank() == 0 || rows.shape()[0] == 0 {
            return Err(Error::operands(
                "normalize",
                &[rows.tensor_type()],
                "there are no rows of floats to learn from",
                "cast to f32 first, and give at least one row",
            ));
        }
        let mean = rows.mean(&[0])?;
        let away = rows.sub(&mean)?;
        let deviation = away.mul(&away)?.mean(&[0])?.sqrt()?;
        let one = number(1.0, rows.dtype())?;
        let constant = deviation.equal(&number(0.0, rows.dtype())?)?;
        let scale = one.div(&situ_tensor::where_(&constant, &one, &deviation)?)?;
        Ok(Normalize { mean, scale })
    }

    /// With one mean and one deviation for all features.
    #[track_caller]
    pub fn with(mean: f64, deviation: f64) -> Result<Normalize> {
        if !(mean.is_finite() && deviation.is_finite() && deviation > 0.0) {
            return Err(Error::argument(
                "normalize",
                format!("mean {mean}, deviation {deviation}"),
                "give finite numbers and a deviation above 0",
            ));
        }
        Ok(Normalize { mean: number(mean, DType::F32)?, scale: number(1.0 / deviation, DType::F32)? })
    }

    /// An element, or a batch, normalised.
    #[track_caller]
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        x.sub(&self.mean)?.mul(&self.scale)
    }
}

/// Labels as f32 rows with a 1 at the label: of an element or a batch.
#[track_caller]
pub fn one_hot(labels: &Tensor, classes: usize) -> Result<Tensor> {
    labels.one_hot(classes, DType::F32)
}
