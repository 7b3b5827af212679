//! Targets made to fit predictions, where there is one way only to do so; else an error that shows both.

use situ_core::{DType, Error, Result, Shape};
use situ_tensor::Tensor;

/// The target with the prediction's shape and dtype. `[batch]` stands for `[batch, 1]` and the other way
/// round; nothing else is broadcast, which would compare every example with every other.
#[track_caller]
pub(crate) fn same_shape(of: &'static str, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
    let (shape, wanted) = (target.shape(), predicted.shape());
    let target = if shape == wanted {
        target.clone()
    } else if without_last_one(shape) == without_last_one(wanted) {
        target.reshape(&wanted.dims().iter().map(|&d| d as isize).collect::<Vec<_>>())?
    } else {
        return Err(Error::operands(
            of,
            &[predicted.tensor_type(), target.tensor_type()],
            "predictions and targets must have the same shape",
            "reshape one of them; for class numbers as targets use the sparse loss or metric",
        ));
    };
    target.cast(predicted.dtype())
}

/// Class numbers, one for each row of the prediction, as integers that kernels take.
#[track_caller]
pub(crate) fn class_numbers(of: &'static str, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
    let types = [predicted.tensor_type(), target.tensor_type()];
    let rank = predicted.rank();
    let rows = predicted.shape().without(|axis| axis + 1 == rank);
    if rank < 2 || (*target.shape() != rows && without_last_one(target.shape()) != rows) {
        return Err(Error::operands(
            of,
            &types,
            "there must be one class number for each row of the prediction, whose last axis are the classes",
            "reshape the targets; for one-hot targets use the loss or metric that is not sparse",
        ));
    }
    let numbers = match target.dtype() {
        dtype if dtype.is_index() => target.clone(),
        DType::U32 | DType::U64 => target.cast(DType::I64)?,
        dtype if !dtype.is_float() => target.cast(DType::I32)?,
        _ => {
            let why = "class numbers must be integers";
            return Err(Error::operands(of, &types, why, "cast the targets to i32"));
        }
    };
    if *numbers.shape() == rows {
        return Ok(numbers);
    }
    numbers.reshape(&rows.dims().iter().map(|&d| d as isize).collect::<Vec<_>>())
}

fn without_last_one(shape: &Shape) -> Shape {
    let rank = shape.rank();
    shape.without(|axis| axis + 1 == rank && rank > 1 && shape[axis] == 1)
}

/// The mean of each example.
#[track_caller]
pub(super) fn per_example(of: &'static str, values: &Tensor) -> Result<Tensor> {
    match values.rank() {
        0 => Err(Error::operands(
            of,
            &[values.tensor_type()],
            "a prediction has the axis of the batch first",
            "reshape it to [1, ..]",
        )),
        1 => Ok(values.clone()),
        rank => values.mean(&(1..rank as isize).collect::<Vec<_>>()),
    }
}
