//! Files of numbers, read into tensors as a whole.

pub(crate) mod csv;
mod fields;
pub(crate) mod idx;
pub(crate) mod npy;

use situ_core::{DType, Error, Result, Shape, TensorType};
use situ_tensor::Tensor;
use std::path::Path;

/// An error of the system about a file.
#[cold]
pub(crate) fn system(path: &Path, error: &std::io::Error) -> Error {
    Error::file(path.display().to_string(), "", error.to_string(), "check the path and its permissions")
}

/// A tensor of elements whose bytes come one by one.
pub(crate) fn tensor_of<const N: usize>(
    dtype: DType,
    dims: &[usize],
    elements: impl Iterator<Item = [u8; N]>,
) -> Result<Tensor> {
    let ty = TensorType::new(dtype, Shape::new(dims)?);
    situ_tensor::written(ty, |bytes| {
        for (to, from) in bytes.chunks_exact_mut(N).zip(elements) {
            to.copy_from_slice(&from);
        }
        Ok(())
    })
}
