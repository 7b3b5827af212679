//! Batches of any size through functions compiled for a few: rows are added before a call and taken off its
//! results.

use crate::apply::apply_on;
use crate::function::Function;
use crate::tensor::Tensor;
use crate::trace::Recorded;
use situ_core::{Caller, Error, Result, TensorType};
use situ_ir::graph::rows_apart;
use situ_ir::ops::{Concat, Expand};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The sizes of batch that a function is compiled for; see [`Function::bucketed`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Buckets {
    /// 1, 2, 4, 8 and so on: at most as many rows are added as there are.
    PowersOfTwo,
    /// These. A larger batch is called as it is.
    Sizes(Vec<usize>),
}

impl Buckets {
    /// The size that a batch of so many rows is filled up to.
    ///
    /// ```
    /// use situ_tensor::Buckets;
    /// assert_eq!(Buckets::PowersOfTwo.size(33), 64);
    /// assert_eq!(Buckets::Sizes(vec![100, 10]).size(7), 10);
    /// assert_eq!(Buckets::Sizes(vec![100, 10]).size(101), 101);
    /// ```
    pub fn size(&self, rows: usize) -> usize {
        match self {
            Buckets::PowersOfTwo => rows.checked_next_power_of_two().unwrap_or(rows),
            Buckets::Sizes(sizes) => sizes.iter().copied().filter(|size| *size >= rows).min().unwrap_or(rows),
        }
    }
}

/// Verdicts that are kept; beyond them all are asked for again.
const MOST_KNOWN: usize = 1 << 12;

/// The buckets of a function, and what is known of its signatures.
#[derive(Debug)]
pub(crate) struct Bucketed {
    buckets: Buckets,
    /// By the types of the arguments: which results have rows.
    apart: Mutex<HashMap<Signature, Arc<[bool]>>>,
}

type Signature = SmallVec<[TensorType; 2]>;

/// A call with rows added.
pub(crate) struct Padded {
    pub(crate) inputs: Vec<Tensor>,
    rows: usize,
    cut: Arc<[bool]>,
}

impl Padded {
    /// The results without the rows that were added.
    pub(crate) fn cut(&self, outputs: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let cut = |(output, has_rows): (Tensor, &bool)| match has_rows {
            true => output.narrow(0, 0, self.rows),
            false => Ok(output),
        };
        outputs.into_iter().zip(self.cut.iter()).map(cut).collect()
    }
}

impl Function {
    /// The same function, compiled for a few sizes of batch only: a batch in between is filled up with copies
    /// of its first row, and the rows that were added are taken off the results. A variant is then compiled
    /// for each bucket instead of each size.
    ///
    /// Every argument must have the batch in its first axis. Rows must be independent: row i of a result must
    /// depend on row i of the arguments alone, or on none. That is checked, op by op, the first time that a
    /// size of batch is seen: a function that takes a mean over the batch, draws random numbers, or uses the
    /// number of rows as a number, is refused with the op's line. What is computed is then what the call
    /// without buckets computes; to the bit where kernels round a row alike in batches of any size.
    ///
    /// While a tape runs, or inside another function, the closure sees the batch as it is.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_tensor::{Buckets, Function, arange, ones};
    /// use situ_core::DType;
    /// let double = Function::new(|x| x.add(x)).bucketed(Buckets::PowersOfTwo);
    /// for rows in [5, 6, 7, 8] {
    ///     assert_eq!(double.call(&ones(&[rows, 3], DType::F32)?)?.shape().dims(), [rows, 3]);
    /// }
    /// assert_eq!(double.variants(), 1);
    /// let centred = Function::new(|x| x.sub(&x.mean(&[0])?)).bucketed(Buckets::PowersOfTwo);
    /// assert!(centred.call(&ones(&[5, 3], DType::F32)?).is_err());
    /// # Ok(()) }
    /// ```
    pub fn bucketed(self, buckets: Buckets) -> Function {
        self.with_buckets(Bucketed { buckets, apart: Mutex::default() })
    }

    /// The arguments with rows added; `None` where there is nothing to add.
    pub(crate) fn padded(&self, inputs: &[&Tensor], at: Caller) -> Result<Option<Padded>> {
        let Some(bucketed) = self.buckets() else { return Ok(None) };
        let rows = rows_of(inputs)?;
        let size = bucketed.buckets.size(rows);
        // There is no row to copy in an empty batch.
        if rows == 0 || size == rows {
            return Ok(None);
        }
        let types: Signature = inputs.iter().map(|t| t.tensor_type()).collect();
        let lock = || bucketed.apart.lock().unwrap_or_else(|p| p.into_inner());
        let known = lock().get(&types).cloned();
        let cut = match known {
            Some(cut) => cut,
            None => {
                let cut = self.cut_of(&types, size)?;
                let mut apart = lock();
                if apart.len() >= MOST_KNOWN {
                    apart.clear();
                }
                apart.insert(types, cut.clone());
                cut
            }
        };
        let inputs = inputs.iter().map(|x| filled_up(x, size, at)).collect::<Result<_>>()?;
        Ok(Some(Padded { inputs, rows, cut }))
    }

    /// Which results have rows, if rows are independent.
    fn cut_of(&self, types: &[TensorType], size: usize) -> Result<Arc<[bool]>> {
        let mut more: Signature = SmallVec::new();
        for ty in types {
            more.push(TensorType::new(ty.dtype, ty.shape.with_dim(0, size)?));
        }
        let [few, many] = [self.recorded_apart(types)?, self.recorded_apart(&more)?];
        if !hold_equals(&few, &many)? {
            return Err(Error::argument(
                "bucketed",
                "rows can't be added to what the function is given: it captures other tensors for another number of rows",
                "make them outside of it, or call it without buckets",
            ));
        }
        Ok(rows_apart(&few.graph, &many.graph)?.into())
    }
}

/// Whether what two traces captured has the same elements.
fn hold_equals(a: &Recorded, b: &Recorded) -> Result<bool> {
    if a.holds_what(b) {
        return Ok(true);
    }
    let variables = a.variables.len() == b.variables.len()
        && a.variables.iter().zip(&b.variables).all(|(a, b)| a.is_same(b));
    if !variables || a.captures.len() != b.captures.len() {
        return Ok(false);
    }
    for (a, b) in a.captures.iter().zip(&b.captures) {
        let [one, other] = [a, b].map(|t| Tensor::from_concrete(t.clone()));
        let same = a.is_same_view(b)
            || (one.tensor_type() == other.tensor_type() && one.to_bytes()? == other.to_bytes()?);
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The number of rows that all arguments have.
fn rows_of(inputs: &[&Tensor]) -> Result<usize> {
    let first = inputs.first().and_then(|t| t.shape().first().copied());
    let has_rows = |t: &&Tensor| t.shape().first().copied() == first;
    match first.filter(|_| inputs.iter().all(has_rows)) {
        Some(rows) => Ok(rows),
        None => {
            let types: Vec<TensorType> = inputs.iter().map(|t| t.tensor_type()).collect();
            Err(Error::operands(
                "bucketed",
                &types,
                "its arguments do not all have the batch in their first axis",
                "capture what is no batch in the closure, or call the function without buckets",
            ))
        }
    }
}

/// A tensor with its first row behind its last, until there are so many.
fn filled_up(x: &Tensor, size: usize, at: Caller) -> Result<Tensor> {
    let device = x.device();
    let shape = x.shape().with_dim(0, size - x.shape()[0])?;
    let more = apply_on(device, Expand { shape }, &[&x.narrow(0, 0, 1)?], at)?;
    apply_on(device, Concat { axis: 0 }, &[x, &more], at)
}
