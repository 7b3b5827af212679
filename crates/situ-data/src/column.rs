//! A tensor in the host's memory, seen as rows along its first axis.

use situ_core::{DeviceKind, Error, Result, Shape, TensorType};
use situ_ir::ops::{Dense, Reshape, Slice};
use situ_tensor::{Tensor, apply_op};

/// The rows of one tensor.
#[derive(Debug)]
pub(crate) struct Column {
    /// Dense, on a CPU.
    tensor: Tensor,
    row: TensorType,
    rows: usize,
}

impl Column {
    /// The rows of a tensor, brought to the host and made dense if it is not.
    pub(crate) fn new(tensor: &Tensor) -> Result<Column> {
        let Some((&rows, rest)) = tensor.shape().dims().split_first() else {
            return Err(Error::operands(
                "from_tensors",
                &[tensor.tensor_type()],
                "a single number has no rows",
                "give tensors of at least one axis",
            ));
        };
        let row = TensorType::new(tensor.dtype(), Shape::new(rest)?);
        let mut tensor = tensor.clone();
        if tensor.device().kind != DeviceKind::Cpu {
            tensor = tensor.to_device("/CPU:0")?;
        }
        if tensor.host_bytes().is_none() {
            tensor = first(apply_op(Dense, &[&tensor])?)?;
        }
        if tensor.host_bytes().is_none() {
            // Values that wait for a check of queued work are settled by reading them.
            let bytes = tensor.to_bytes()?;
            tensor = situ_tensor::written(tensor.tensor_type(), |to| {
                to.copy_from_slice(&bytes);
                Ok(())
            })?;
        }
        Ok(Column { tensor, row, rows })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The type of a row.
    pub(crate) fn row_type(&self) -> TensorType {
        self.row
    }

    /// The bytes of a row; `None` if there is no such row.
    pub(crate) fn bytes(&self, row: usize) -> Option<&[u8]> {
        let each = self.row.bytes();
        self.tensor.host_bytes()?.get(row * each..(row + 1) * each)
    }

    /// A row as a tensor: a view.
    pub(crate) fn tensor(&self, row: usize) -> Result<Tensor> {
        let shape = self.tensor.shape();
        let rank = shape.rank();
        let mut starts = [0; situ_core::MAX_RANK];
        starts[0] = row;
        let sizes = shape.with_dim(0, 1)?;
        let part = Slice::new(&starts[..rank], &[1; situ_core::MAX_RANK][..rank], sizes.dims())?;
        let part = first(apply_op(part, &[&self.tensor])?)?;
        first(apply_op(Reshape { shape: self.row.shape }, &[&part])?)
    }
}

fn first(made: Vec<Tensor>) -> Result<Tensor> {
    made.into_iter().next().ok_or_else(|| Error::argument("from_tensors", "an op gave nothing", ""))
}
