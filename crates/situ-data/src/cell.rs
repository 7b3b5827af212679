//! An element on its way through a pipeline: rows that nobody has looked at yet, or tensors that a closure
//! made.

use crate::column::Column;
use crate::element::Row;
use situ_core::{Result, TensorType};
use situ_tensor::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;

/// One tensor of an element.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A row that still lies in its tensor.
    Row(Arc<Column>, usize),
    /// A tensor of its own.
    Made(Tensor),
}

impl Part {
    pub(crate) fn tensor_type(&self) -> TensorType {
        match self {
            Part::Row(column, _) => column.row_type(),
            Part::Made(tensor) => tensor.tensor_type(),
        }
    }

    /// Its bytes, if they lie dense in the host's memory.
    pub(crate) fn host_bytes(&self) -> Option<&[u8]> {
        match self {
            Part::Row(column, row) => column.bytes(*row),
            Part::Made(tensor) => tensor.host_bytes(),
        }
    }

    pub(crate) fn into_tensor(self) -> Result<Tensor> {
        match self {
            Part::Row(column, row) => column.tensor(row),
            Part::Made(tensor) => Ok(tensor),
        }
    }
}

/// One element of a dataset, on its way through the stages.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) parts: SmallVec<[Part; 2]>,
    /// Its number in its source: what an error names.
    pub(crate) origin: usize,
}

impl Cell {
    pub(crate) fn of_row(row: Row, origin: usize) -> Cell {
        Cell { parts: row.into_iter().map(Part::Made).collect(), origin }
    }

    pub(crate) fn into_row(self) -> Result<Row> {
        self.parts.into_iter().map(Part::into_tensor).collect()
    }
}
