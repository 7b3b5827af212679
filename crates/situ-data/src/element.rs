//! What the elements of a dataset are in a program: a tensor, a tuple of tensors, or a list of them.

use situ_core::{Error, Result};
use situ_tensor::Tensor;
use smallvec::SmallVec;

/// The tensors of one element, whatever its type.
pub type Row = SmallVec<[Tensor; 2]>;

/// A type that stands for the elements of a dataset: [`Tensor`], tuples of up to four tensors, `Vec<Tensor>`
/// and [`Row`].
pub trait Elements: Sized + Send + 'static {
    /// Its tensors, in order.
    fn into_row(self) -> Row;
    /// The element made of these tensors; an error if their number is another.
    fn from_row(row: Row) -> Result<Self>;
}

#[cold]
fn wrong_count(wanted: usize, row: &Row) -> Error {
    Error::argument(
        "dataset",
        format!("an element has {} tensors, not {wanted}", row.len()),
        "use a tuple of as many, or Vec<Tensor>",
    )
}

impl Elements for Tensor {
    fn into_row(self) -> Row {
        let mut row = Row::new();
        row.push(self);
        row
    }
    fn from_row(mut row: Row) -> Result<Tensor> {
        match (row.pop(), row.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                row.extend(last);
                Err(wrong_count(1, &row))
            }
        }
    }
}

impl Elements for Vec<Tensor> {
    fn into_row(self) -> Row {
        Row::from_vec(self)
    }
    fn from_row(row: Row) -> Result<Vec<Tensor>> {
        Ok(row.into_vec())
    }
}

impl Elements for Row {
    fn into_row(self) -> Row {
        self
    }
    fn from_row(row: Row) -> Result<Row> {
        Ok(row)
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident)*;)*) => {$(
        impl Elements for ($(tuples!(@ $name),)*) {
            fn into_row(self) -> Row {
                let ($($name,)*) = self;
                Row::from_iter([$($name),*])
            }
            fn from_row(row: Row) -> Result<Self> {
                if row.len() != $count {
                    return Err(wrong_count($count, &row));
                }
                let mut parts = row.into_iter();
                match ($(tuples!(? $name parts),)*) {
                    ($(Some($name),)*) => Ok(($($name,)*)),
                    _ => Err(wrong_count($count, &Row::new())),
                }
            }
        }
    )*};
    (@ $name:ident) => { Tensor };
    (? $name:ident $parts:ident) => { $parts.next() };
}
tuples! {
    1: a;
    2: a b;
    3: a b c;
    4: a b c d;
}
