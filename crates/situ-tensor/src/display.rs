//! Printing tensors: nested rows, long axes shortened in the middle.

use crate::tensor::Tensor;
use situ_core::{DType, Element};
use std::fmt;

/// Axes longer than this show only their ends.
const SHOWN: usize = 6;

fn element(dtype: DType, bytes: &[u8]) -> String {
    match dtype {
        DType::F32 => format!("{}", f32::from_bytes(bytes)),
        DType::F64 => format!("{}", f64::from_bytes(bytes)),
        DType::I32 => i32::from_bytes(bytes).to_string(),
        DType::I64 => i64::from_bytes(bytes).to_string(),
        DType::U8 => u8::from_bytes(bytes).to_string(),
        DType::Bool => bool::from_bytes(bytes).to_string(),
    }
}

fn rows(
    f: &mut fmt::Formatter<'_>,
    dtype: DType,
    dims: &[usize],
    bytes: &[u8],
    indent: usize,
) -> fmt::Result {
    let [size, inner @ ..] = dims else { return f.write_str(&element(dtype, bytes)) };
    let each = bytes.len().checked_div(*size).unwrap_or(0);
    f.write_str("[")?;
    let mut first = true;
    for i in 0..*size {
        if *size > SHOWN && i == SHOWN / 2 {
            f.write_str(if inner.is_empty() { ", …" } else { ",\n" })?;
            if !inner.is_empty() {
                write!(f, "{:1$}…", "", indent + 1)?;
            }
        }
        if *size > SHOWN && (SHOWN / 2..size - SHOWN / 2).contains(&i) {
            continue;
        }
        if !first {
            f.write_str(if inner.is_empty() { ", " } else { ",\n" })?;
            if !inner.is_empty() {
                write!(f, "{:1$}", "", indent + 1)?;
            }
        }
        first = false;
        rows(f, dtype, inner, &bytes[i * each..(i + 1) * each], indent + 1)?;
    }
    f.write_str("]")
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_bytes() {
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
