//! A tensor in the host's memory, seen as rows along its first axis.

use situ_core::{Error, Result, Shape, TensorType};
use situ_ir::ops::{Dense, Reshape, Slice};
use situ_tensor::{Tensor, apply_op, written};

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
        if !tensor.is_on_host() {
            tensor = tensor.to_device("/CPU:0")?;
        }
        if tensor.host_bytes().is_none() {
            tensor = first(apply_op(Dense, &[&tensor])?)?;
        }
        if tensor.host_bytes().is_none() {
            // Values that wait for a check of queued work are settled by reading them.
            let bytes = tensor.to_bytes()?;
            tensor = written(tensor.tensor_type(), |to| {
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

    /// Some rows, one after the other, as one tensor in the memory of the CPU in scope. One thread copies
    /// them: for the 100 KB of a usual batch, sharing that with another costs more than it saves, by
    /// `situ-bench`'s `fit`.
    pub(crate) fn gather(&self, rows: &[usize]) -> Result<Tensor> {
        let mut dims = vec![rows.len()];
        dims.extend_from_slice(self.row.shape.dims());
        let shape = Shape::new(&dims).map_err(|error| error.of_op("batch", &[self.row]))?;
        written(TensorType::new(self.row.dtype, shape), |to| {
            // Rows of no bytes: nothing to copy, and any other size of piece cuts nothing into none.
            for (to, row) in to.chunks_exact_mut(self.row.bytes().max(1)).zip(rows) {
                // Rows are numbered by what there is, and the tensor was made dense on the host.
                if let Some(bytes) = self.bytes(*row) {
                    to.copy_from_slice(bytes);
                }
            }
            Ok(())
        })
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
