//! Gradients of lookups: rows of a table, with the indices they are for, instead of a tensor of the table's
//! size that is zero nearly everywhere.
//!
//! Promises: rows are added in the order of their lists, wherever that happens: as one scatter_add of all of
//! them, which is what making them dense is, or row by row.

use super::sweep::History;
use super::{Builder, Terms};
use crate::ops::{Concat, Gather, ScatterAdd};
use situ_core::{DType, Result, Shape, TensorType};
use smallvec::SmallVec;

/// The gradient by a value.
#[derive(Clone, Debug)]
pub enum Part<V> {
    /// As a tensor of the value's shape.
    Dense(V),
    /// As some rows of it.
    Rows(Rows<V>),
}

impl<V: Clone> Part<V> {
    /// As a tensor.
    pub fn dense<H: History<Value = V>>(self, history: &mut H) -> Result<V> {
        match self {
            Part::Dense(gradient) => Ok(gradient),
            Part::Rows(rows) => rows.dense(history),
        }
    }
}

/// The gradient by a table, of lookups along its first axis.
#[derive(Clone, Debug)]
pub struct Rows<V> {
    table: TensorType,
    /// The indices and gradients of each lookup, in the order in which they were added.
    lists: SmallVec<[(V, V); 1]>,
    /// The step of the first lookup, to which ops on the rows belong.
    step: usize,
}

impl<V: Clone> Rows<V> {
    /// Of the lookup that a step is: its indices, and the gradient by what it found.
    pub(super) fn new(table: TensorType, indices: V, values: V, step: usize) -> Rows<V> {
        Rows { table, lists: SmallVec::from_iter([(indices, values)]), step }
    }

    /// The type of the table.
    pub fn table(&self) -> TensorType {
        self.table
    }

    /// The sum of two, as one behind the other.
    pub(super) fn and(mut self, more: Rows<V>) -> Rows<V> {
        self.lists.extend(more.lists);
        self
    }

    /// The same as rows of the table in which a step has looked these rows' own table up, by `indices`.
    pub(super) fn of_table<H: History<Value = V>>(
        &self,
        table: TensorType,
        indices: &V,
        step: usize,
        history: &mut H,
    ) -> Result<Rows<V>> {
        let mut lists = SmallVec::new();
        for (at, values) in &self.lists {
            lists.push((history.emit(Gather { axis: 0 }.into(), &[indices, at])?, values.clone()));
        }
        Ok(Rows { table, lists, step })
    }

    /// A gradient with these rows added to it.
    pub(super) fn added_to<B: Builder<Value = V>>(&self, mut sum: V, builder: &mut B) -> Result<V> {
        for (indices, values) in &self.lists {
            sum = builder.emit(ScatterAdd { axis: 0 }.into(), &[&sum, indices, values])?;
        }
        Ok(sum)
    }

    /// As a tensor of the table's shape.
    pub fn dense<H: History<Value = V>>(&self, history: &mut H) -> Result<V> {
        history.enter(self.step);
        history.beside(&self.lists[0].1);
        let zeros = history.filled(&self.lists[0].1, self.table.shape, 0.0)?;
        self.added_to(zeros, history)
    }

    /// One list of indices, and a row for each of them.
    pub fn joined<H: History<Value = V>>(&self, history: &mut H) -> Result<(V, V)> {
        history.enter(self.step);
        let is_wide = self.lists.iter().any(|(indices, _)| history.dtype(indices) == DType::I64);
        let mut flat: Vec<(V, V)> = Vec::with_capacity(self.lists.len());
        for (indices, values) in &self.lists {
            let count = history.shape(indices).elements();
            let mut dims = self.table.shape.dims().to_vec();
            dims[0] = count;
            let wide = if is_wide { history.cast(indices, DType::I64)? } else { indices.clone() };
            let indices = history.reshaped(&wide, Shape::new(&[count])?)?;
            flat.push((indices, history.reshaped(values, Shape::new(&dims)?)?));
        }
        if let [only] = &flat[..] {
            return Ok(only.clone());
        }
        let join = Concat { axis: 0 };
        let indices: Vec<&V> = flat.iter().map(|(indices, _)| indices).collect();
        let indices = history.emit(join.into(), &indices)?;
        let values: Vec<&V> = flat.iter().map(|(_, values)| values).collect();
        Ok((indices, history.emit(join.into(), &values)?))
    }
}
