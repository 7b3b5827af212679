//! Printing tensors: nested rows, long axes shortened in the middle. Of a large tensor, only what is printed
//! is read.

use crate::tensor::Tensor;
use situ_core::{Caller, DType, Element, MAX_RANK, Result, with_element};
use situ_runtime::Runtime;
use std::fmt;

/// Axes longer than this show only their ends.
const SHOWN: usize = 6;
/// Tensors of more bytes than this are read in parts, those that are shown.
const WHOLE: usize = 1 << 20;

fn element(dtype: DType, bytes: &[u8]) -> String {
    with_element!(dtype, T => T::from_bytes(bytes).to_string())
}

/// The parts of an axis that are shown, as starts and sizes.
fn ends(size: usize) -> Vec<(usize, usize)> {
    if size > SHOWN { vec![(0, SHOWN / 2), (size - SHOWN / 2, SHOWN / 2)] } else { vec![(0, size)] }
}

/// How many elements of an axis are shown.
fn shown(size: usize) -> usize {
    size.min(SHOWN)
}

/// The bytes of the elements that are shown, row-major.
fn shown_bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let concrete = tensor.concrete()?;
    let (dims, size) = (tensor.shape().dims(), tensor.dtype().size());
    let rank = dims.len();
    // Strides of what is shown, in bytes, and of a whole that is dense.
    let mut strides = [0; MAX_RANK];
    let mut count = size;
    for axis in (0..rank).rev() {
        strides[axis] = count;
        count *= shown(dims[axis]);
    }
    let mut bytes = vec![0; count];
    if count == 0 {
        return Ok(bytes);
    }
    let parts: Vec<Vec<(usize, usize)>> = match tensor.tensor_type().bytes() <= WHOLE {
        true => dims.iter().map(|&size| vec![(0, size)]).collect(),
        false => dims.iter().map(|&size| ends(size)).collect(),
    };
    let runtime = Runtime::of(concrete)?;
    for number in 0..parts.iter().map(Vec::len).product() {
        let (mut starts, mut sizes, mut rest) = ([0; MAX_RANK], [0; MAX_RANK], number);
        for axis in (0..rank).rev() {
            (starts[axis], sizes[axis]) = parts[axis][rest % parts[axis].len()];
            rest /= parts[axis].len();
        }
        let Some(part) = concrete.part(&starts[..rank], &sizes[..rank]) else { continue };
        let mut read = vec![0; part.tensor_type().bytes()];
        runtime.read(&part, &mut read, Caller::here())?;
        for (place, from) in read.chunks_exact(size).enumerate() {
            let (mut rest, mut to, mut is_shown) = (place, 0, true);
            for axis in (0..rank).rev() {
                let at = starts[axis] + rest % sizes[axis];
                rest /= sizes[axis];
                // Behind the gap, places are counted from the end.
                let gap = dims[axis] - shown(dims[axis]);
                is_shown &= gap == 0 || at < SHOWN / 2 || at >= dims[axis] - SHOWN / 2;
                to += (if at < SHOWN / 2 { at } else { at.saturating_sub(gap) }) * strides[axis];
            }
            if is_shown {
                bytes[to..to + size].copy_from_slice(from);
            }
        }
    }
    Ok(bytes)
}

/// Writes rows of the shown elements of axes of these sizes.
fn rows(
    f: &mut fmt::Formatter<'_>,
    dtype: DType,
    dims: &[usize],
    bytes: &[u8],
    indent: usize,
) -> fmt::Result {
    let [size, inner @ ..] = dims else { return f.write_str(&element(dtype, bytes)) };
    let each = bytes.len().checked_div(shown(*size)).unwrap_or(0);
    f.write_str("[")?;
    for i in 0..shown(*size) {
        if *size > SHOWN && i == SHOWN / 2 {
            f.write_str(if inner.is_empty() { ", …" } else { ",\n" })?;
            if !inner.is_empty() {
                write!(f, "{:1$}…", "", indent + 1)?;
            }
        }
        if i > 0 {
            f.write_str(if inner.is_empty() { ", " } else { ",\n" })?;
            if !inner.is_empty() {
                write!(f, "{:1$}", "", indent + 1)?;
            }
        }
        rows(f, dtype, inner, &bytes[i * each..(i + 1) * each], indent + 1)?;
    }
    f.write_str("]")
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match shown_bytes(self) {
            Ok(bytes) => rows(f, self.dtype(), self.shape(), &bytes, 0),
            Err(error) => write!(f, "<unreadable: {error}>"),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} on {}: {})", self.tensor_type(), self.device(), self.reason())
    }
}
