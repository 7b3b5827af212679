//! Gradients of lookups: some rows of a table, instead of a tensor of the table's size that is zero nearly
//! everywhere.
//!
//! A gradient that is rows is a tensor as any other: whoever reads it, or computes with it, has it dense, but
//! for what [`kept`] knows. [`Tensor::rows`] gives the rows to who can do with these, as the steps of
//! optimizers on variables do. Inside a function that is being traced the dense one is part of the graph too,
//! and goes from it where nobody uses it.

use crate::apply::{apply_all, apply_on, apply_with};
use crate::scope::{current_request, line_of, on_device};
use crate::tensor::Tensor;
use crate::trace::is_tracing;
use situ_core::{Caller, DType, Error, Location, Request, Result, Scalar, TensorType};
use situ_ir::Op;
use situ_ir::ops::{BinaryKind, Cast, Concat, Distinct, Fill, ScatterAdd, Unary, UnaryKind};
use situ_runtime::{DeviceTensor, Runtime};
use std::sync::OnceLock;

/// Rows of a tensor that is zero elsewhere; rows of one index are added up.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Tape, Variable, tensor, zeros};
/// let table = Variable::new(&zeros(&[1000, 4], situ_core::DType::F32)?)?;
/// let tape = Tape::new();
/// let found = table.value().embedding(&tensor([7, 3, 7])?)?;
/// let gradient = tape.gradient(&found.sum(&[])?, &table)?.expect("the sum depends on the table");
/// let rows = gradient.rows().expect("a lookup gives rows");
/// assert_eq!(rows.indices().to_vec::<i32>()?, [7, 3, 7]);
/// assert_eq!(rows.values().shape().dims(), [3, 4]);
/// assert_eq!(gradient.sum(&[1])?.to_vec::<f32>()?[7], 8.0);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    table: TensorType,
    indices: Tensor,
    values: Tensor,
    /// The indices, each once and −1 in the places of the others, where no row has a value that is to be
    /// added to another's.
    own: Option<Tensor>,
}

impl Rows {
    pub(crate) fn new(table: TensorType, indices: Tensor, values: Tensor) -> Rows {
        Rows { table, indices: indices.unwatched(), values: values.unwatched(), own: None }
    }

    /// The type of the tensor that these are rows of.
    pub fn table(&self) -> TensorType {
        self.table
    }

    /// Which rows: a list, in which an index may stand several times.
    pub fn indices(&self) -> &Tensor {
        &self.indices
    }

    /// A row for each index.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    /// The same with the rows of equal indices added up, in their order, where the index stands first; those
    /// behind it are zero.
    #[track_caller]
    pub fn merged(&self) -> Result<Rows> {
        self.merged_by(&current_request(), line_of(Caller::here()))
    }

    pub(crate) fn merged_by(&self, request: &Request, caller: Caller) -> Result<Rows> {
        if self.own.is_some() {
            return Ok(self.clone());
        }
        let op = Distinct { rows: self.table.shape[0] };
        let made = apply_all(op.into(), &[&self.indices], request, caller)?;
        let [first, own] = &made[..] else { return Err(no_list(self.table)) };
        let zero = Scalar::of(self.table.dtype, 0.0);
        let zeros = Fill { shape: *self.values.shape(), value: zero };
        let zeros = match is_tracing() || !request.spec.is_empty() {
            true => apply_with(zeros.into(), &[], request, caller)?,
            false => apply_on(self.values.device(), zeros, &[], caller)?,
        };
        let inputs = [&zeros, first, &self.values];
        let values = apply_with(ScatterAdd { axis: 0 }.into(), &inputs, request, caller)?;
        Ok(Rows { values, own: Some(own.clone()), ..self.clone() })
    }

    /// Whether they are so few of the table's that it gains something to keep to them: by their number,
    /// whether or not some are the same.
    pub fn is_few(&self) -> bool {
        2 * self.indices.elements() <= self.table.shape[0]
    }

    /// The sum of two gradients by one table: the rows of the second behind those of the first.
    fn plus(&self, more: &Rows, request: &Request, caller: Caller) -> Result<Rows> {
        let is_wide = [self, more].iter().any(|rows| rows.indices.dtype() == DType::I64);
        let wide = |indices: &Tensor| match is_wide && indices.dtype() != DType::I64 {
            true => apply_with(Cast { to: DType::I64 }.into(), &[indices], request, caller),
            false => Ok(indices.clone()),
        };
        let join = |a: &Tensor, b: &Tensor| apply_with(Concat { axis: 0 }.into(), &[a, b], request, caller);
        let indices = join(&wide(&self.indices)?, &wide(&more.indices)?)?;
        Ok(Rows::new(self.table, indices, join(&self.values, &more.values)?))
    }

    /// A dense tensor of the table's type with the rows added to it; `None` for any other.
    fn added_to(&self, dense: &Tensor, request: &Request, caller: Caller) -> Result<Option<Tensor>> {
        if dense.unseen_type() != self.table {
            return Ok(None);
        }
        let inputs = [dense, &self.indices, &self.values];
        apply_with(ScatterAdd { axis: 0 }.into(), &inputs, request, caller).map(Some)
    }

    /// Other values for the same rows. Of [`Rows::merged`] ones, a function that gives zero for zero is as
    /// good on the rows as on all of the tensor.
    pub fn with_values(&self, values: &Tensor) -> Result<Rows> {
        if values.tensor_type() != self.values.tensor_type() {
            return Err(Error::operands(
                "rows",
                &[self.values.tensor_type(), values.tensor_type()],
                "other values for the same rows have their shape and dtype",
                "reshape or cast them",
            ));
        }
        Ok(Rows { values: values.unwatched(), ..self.clone() })
    }

    /// The indices, each once, and −1 in the places of those that have stood before; of merged rows only.
    pub(crate) fn own(&self) -> Result<&Tensor> {
        self.own.as_ref().ok_or_else(|| no_list(self.table))
    }

    /// The tensor that these are all rows of that are not zero, without a memory of being rows.
    #[track_caller]
    pub fn to_dense(&self) -> Result<Tensor> {
        let tensor = self.to_tensor()?;
        match tensor.traced() {
            Some(_) => Ok(tensor.with_rows(None)),
            None => Ok(Tensor::from_concrete(tensor.concrete()?.clone())),
        }
    }

    /// The tensor that these are all rows of that are not zero: dense when somebody wants it so.
    #[track_caller]
    pub fn to_tensor(&self) -> Result<Tensor> {
        self.clone().tensor(current_request(), line_of(Caller::here()))
    }

    pub(crate) fn tensor(self, request: Request, caller: Caller) -> Result<Tensor> {
        if !is_tracing() {
            let (dense, location) = (OnceLock::new(), caller.location());
            return Ok(Tensor::from_rows(Lazy { rows: self, dense, request, location }));
        }
        let zeros = Fill { shape: self.table.shape, value: Scalar::of(self.table.dtype, 0.0) };
        let zeros = apply_with(zeros.into(), &[], &request, caller)?;
        let inputs = [&zeros, &self.indices, &self.values];
        let dense = apply_with(ScatterAdd { axis: 0 }.into(), &inputs, &request, caller)?;
        Ok(dense.with_rows(Some(self)))
    }
}

/// Rows that are made dense when somebody wants them so.
#[derive(Debug)]
pub(crate) struct Lazy {
    pub(crate) rows: Rows,
    dense: OnceLock<DeviceTensor>,
    /// The scope and the line of the lookup.
    request: Request,
    location: Location,
}

impl Lazy {
    /// The tensor in memory, made now if it is not there yet: for an op, or for who reads it.
    pub(crate) fn dense(&self, op: Option<&'static str>) -> Result<&DeviceTensor> {
        if let Some(made) = self.dense.get() {
            return Ok(made);
        }
        let Rows { table, indices, values, .. } = &self.rows;
        let (indices, values) = (indices.concrete()?, values.concrete()?);
        let runtime = Runtime::of(values)?;
        runtime.log_placement(|| {
            let whom = op.map_or_else(|| "it is read".to_string(), |op| format!("{op} takes no rows"));
            format!("the gradient of a lookup, {} rows of {table}, is made dense: {whom}", indices.shape()[0])
        });
        let zeros = Fill { shape: table.shape, value: Scalar::of(table.dtype, 0.0) };
        let beside = Request { spec: on_device(values.device()), ..self.request.clone() };
        let at = if self.request.spec.is_empty() { &beside } else { &self.request };
        let caller = Caller::from(self.location);
        let zeros = runtime.eager(&zeros.into(), &[], at, caller)?;
        let add = ScatterAdd { axis: 0 }.into();
        let dense = runtime.eager(&add, &[&zeros, indices, values], &self.request, caller)?;
        Ok(self.dense.get_or_init(|| dense))
    }

    /// The tensor in memory, if it was made.
    pub(crate) fn made(&self) -> Option<&DeviceTensor> {
        self.dense.get()
    }
}

/// What an op makes of gradients that are rows, where that is rows again: sums and differences of two by one
/// table, and what turns one, or multiplies or divides it by a number. A sum with what is dense is dense, but
/// they are not.
pub(crate) fn kept(op: &Op, inputs: &[&Tensor], request: &Request, caller: Caller) -> Result<Option<Tensor>> {
    let minus = |rows: &Rows| -> Result<Rows> {
        let minus = Unary::new(UnaryKind::Neg);
        rows.with_values(&apply_with(minus.into(), &[&rows.values], request, caller)?)
    };
    let is_number = |t: &Tensor, rows: &Rows| t.unseen_shape().rank() == 0 && t.dtype() == rows.table.dtype;
    let made = match (op, inputs) {
        (Op::Unary(op), [one]) if op.kind == UnaryKind::Neg => match one.rows() {
            Some(rows) => minus(rows)?,
            None => return Ok(None),
        },
        (Op::Binary(op), [a, b]) => match (op.kind, a.rows(), b.rows()) {
            (BinaryKind::Add, Some(a), Some(b)) if a.table == b.table => a.plus(b, request, caller)?,
            (BinaryKind::Sub, Some(a), Some(b)) if a.table == b.table => {
                a.plus(&minus(b)?, request, caller)?
            }
            // What is dense gets them added, without another tensor of its size.
            (BinaryKind::Add, None, Some(rows)) => return rows.added_to(a, request, caller),
            (BinaryKind::Add, Some(rows), None) => return rows.added_to(b, request, caller),
            (BinaryKind::Mul | BinaryKind::Div, Some(rows), None) if is_number(b, rows) => {
                let inputs = [&rows.values, *b];
                rows.with_values(&apply_with((*op).into(), &inputs, request, caller)?)?
            }
            (BinaryKind::Mul, None, Some(rows)) if is_number(a, rows) => {
                let inputs = [*a, &rows.values];
                rows.with_values(&apply_with((*op).into(), &inputs, request, caller)?)?
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    made.tensor(request.clone(), caller).map(Some)
}

#[cold]
fn no_list(table: TensorType) -> Error {
    Error::operands("rows", &[table], "rows that are not merged have no list of distinct ones", "merge them")
}
