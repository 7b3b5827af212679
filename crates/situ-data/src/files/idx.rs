//! IDX files, as the MNIST digits come in: two zero bytes, the type, the number of axes, their sizes and the
//! elements, big-endian.

use crate::dataset::Dataset;
use crate::files::{system, tensor_of};
use situ_core::{DType, Error, MAX_RANK, Result, replace_file};
use situ_tensor::Tensor;
use std::io::Write;
use std::path::Path;

impl Dataset<(Tensor, Tensor)> {
    /// Images and labels, each from an IDX file.
    pub fn from_idx(images: impl AsRef<Path>, labels: impl AsRef<Path>) -> Result<Dataset<(Tensor, Tensor)>> {
        Dataset::from_tensors((read_idx(images)?, read_idx(labels)?))
    }
}

/// The tensor of an IDX file, in the dtype of its elements.
pub fn read_idx(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|e| system(path, &e))?;
    let bad = |at: usize, why: String, help: &str| {
        Error::file(path.display().to_string(), format!("byte {at}"), why, help)
    };
    let &[0, 0, kind, rank, ref rest @ ..] = &bytes[..] else {
        let help = match bytes.get(..2) {
            Some([0x1f, 0x8b]) => "it is compressed: unpack it with gunzip first",
            _ => "an IDX file begins with two zero bytes, a type and a number of axes",
        };
        return Err(bad(0, "this is no IDX file".to_string(), help));
    };
    let rank = usize::from(rank);
    if rank > MAX_RANK {
        return Err(bad(3, format!("{rank} axes, and a tensor has at most {MAX_RANK}"), "reshape the data"));
    }
    if rest.len() < rank * 4 {
        return Err(bad(bytes.len(), format!("ends within the sizes of {rank} axes"), "fetch it again"));
    }
    let (sizes, data) = rest.split_at(rank * 4);
    let dims: Vec<usize> = words::<4>(sizes).map(|w| u32::from_be_bytes(w) as usize).collect();
    let (size, dtype) = match kind {
        0x08 => (1, DType::U8),
        0x09 => (1, DType::I8),
        0x0b => (2, DType::I16),
        0x0c => (4, DType::I32),
        0x0d => (4, DType::F32),
        0x0e => (8, DType::F64),
        other => {
            let help = "types are 8, 9, 11, 12, 13 and 14 (bytes, signed bytes, i16, i32, f32, f64)";
            return Err(bad(2, format!("no type has the number {other}"), help));
        }
    };
    let want = dims.iter().try_fold(size, |product: usize, &d| product.checked_mul(d));
    if want != Some(data.len()) {
        return Err(bad(
            4 + rank * 4,
            format!("sizes {dims:?} do not fit the {} bytes of elements that follow", data.len()),
            "the file is cut short or damaged: fetch it again",
        ));
    }
    match kind {
        0x08 | 0x09 => tensor_of(dtype, &dims, words::<1>(data)),
        0x0b => tensor_of(dtype, &dims, words::<2>(data).map(|w| u16::from_be_bytes(w).to_ne_bytes())),
        0x0e => tensor_of(dtype, &dims, words::<8>(data).map(|w| u64::from_be_bytes(w).to_ne_bytes())),
        _ => tensor_of(dtype, &dims, words::<4>(data).map(|w| u32::from_be_bytes(w).to_ne_bytes())),
    }
}

fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// Writes a tensor of u8, i8, i16, i32, f32 or f64 as an IDX file.
pub fn write_idx(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let kind = match tensor.dtype() {
        DType::U8 => 0x08,
        DType::I8 => 0x09,
        DType::I16 => 0x0b,
        DType::I32 => 0x0c,
        DType::F32 => 0x0d,
        DType::F64 => 0x0e,
        _ => {
            return Err(Error::operands(
                "write_idx",
                &[tensor.tensor_type()],
                "IDX files have no such type",
                "cast to u8, i8, i16, i32, f32 or f64",
            ));
        }
    };
    let mut bytes = vec![0, 0, kind, tensor.rank() as u8];
    for &dim in tensor.shape().dims() {
        let dim = u32::try_from(dim).map_err(|_| {
            Error::operands(
                "write_idx",
                &[tensor.tensor_type()],
                "an axis has more than 2^32 − 1 elements",
                "split it",
            )
        })?;
        bytes.extend_from_slice(&dim.to_be_bytes());
    }
    let elements = tensor.to_bytes()?;
    replace_file(path, |file| {
        file.write_all(&bytes)?;
        match tensor.dtype().size() {
            8 => words::<8>(&elements).try_for_each(|w| file.write_all(&u64::from_ne_bytes(w).to_be_bytes())),
            2 => words::<2>(&elements).try_for_each(|w| file.write_all(&u16::from_ne_bytes(w).to_be_bytes())),
            4 => words::<4>(&elements).try_for_each(|w| file.write_all(&u32::from_ne_bytes(w).to_be_bytes())),
            _ => file.write_all(&elements),
        }
    })
}
