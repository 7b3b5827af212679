//! Some rows of a table: which of a list are the same one, and a table with some of its rows replaced. The
//! gradient of a lookup is rows, and an optimizer that changes these alone is made of the two.

use super::index::integers;
use super::{Attributes, Given, Outputs, Rule, arity, same_dtype};
use crate::gradient::Differentiability;
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, TensorType};

/// Of a list of indices, where each one stood first (i32), and the list with −1 in place of those that have
/// stood before. Indices that are no row of the table count as one and the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Distinct {
    /// Rows of the table.
    pub rows: usize,
}

impl Rule for Distinct {
    const NAMES: &'static [&'static str] = &["distinct"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("rows", self.rows)
    }

    fn read(_: &str, given: &mut Given) -> Result<Distinct> {
        Ok(Distinct { rows: given.integer("rows")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("distinct", inputs, 1)?;
        integers("distinct", inputs, 0)?;
        if inputs[0].shape.rank() != 1 || inputs[0].shape.elements() > i32::MAX as usize {
            return Err(Error::operands(
                "distinct",
                inputs,
                "takes one list of at most 2147483647 indices",
                "reshape them to one axis",
            ));
        }
        Ok(TensorType::new(DType::I32, inputs[0].shape))
    }

    fn outputs(&self, inputs: &[TensorType]) -> Result<Outputs> {
        Ok(Outputs::from_iter([self.infer(inputs)?, inputs[0]]))
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Gather, 8.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Flat
    }
}

/// A table (the first input) whose rows at the indices (the second) are those of the third. An index that is
/// no row of it, such as −1, is passed over; what equal ones leave in their row is not said: [`Distinct`]
/// keeps the first of each.
///
/// As what a function assigns to the variable that it reads the table from, the rows are written over where
/// nobody else holds the old value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PutRows;

impl Rule for PutRows {
    const NAMES: &'static [&'static str] = &["put_rows"];

    fn read(_: &str, _: &mut Given) -> Result<PutRows> {
        Ok(PutRows)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("put_rows", inputs, 3)?;
        integers("put_rows", inputs, 1)?;
        same_dtype("put_rows", &[inputs[0], inputs[2]])?;
        let [table, at, rows] = [&inputs[0].shape, &inputs[1].shape, &inputs[2].shape];
        let fits = table.rank() > 0
            && at.rank() == 1
            && rows.rank() == table.rank()
            && rows[0] == at[0]
            && rows[1..] == table[1..];
        if !fits {
            return Err(Error::operands(
                "put_rows",
                inputs,
                "takes a table, a list of indices, and a row of the table's size for each of them",
                "reshape them",
            ));
        }
        Ok(inputs[0])
    }

    /// That of the rows: where the table must be copied first, it is because somebody holds the old one,
    /// which no rule can know.
    fn work(&self, inputs: &[TensorType], _: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Gather, 0.0, &inputs[1..], &inputs[2..])
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Flat
    }
}
