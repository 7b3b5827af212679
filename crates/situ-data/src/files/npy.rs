//! NPY files, as NumPy's `save` writes them: a magic string, a version, a header that is the text of a Python
//! dictionary, the elements.
//!
//! The header is read here rather than by a crate: those there are bring a parser of all of Python's
//! literals, and a C compiler with it.

use crate::dataset::Dataset;
use crate::files::{system, tensor_of};
use situ_core::{DType, Error, Result, Shape, replace_file};
use situ_tensor::Tensor;
use std::io::Write;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

impl Dataset<Tensor> {
    /// The rows of an NPY file.
    pub fn from_npy(path: impl AsRef<Path>) -> Result<Dataset<Tensor>> {
        Dataset::from_tensors(read_npy(path)?)
    }
}

/// The tensor of an NPY file, in the dtype of its elements. Two bytes without a meaning, `V2`, are bf16:
/// NumPy has no name for it.
pub fn read_npy(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|e| system(path, &e))?;
    let bad = |at: usize, why: String, help: &str| {
        Error::file(path.display().to_string(), format!("byte {at}"), why, help)
    };
    let save = "write it with numpy.save";
    let Some((&[major, _], rest)) = bytes.strip_prefix(MAGIC).and_then(|b| b.split_first_chunk()) else {
        return Err(bad(0, "this is no NPY file".to_string(), save));
    };
    let (length, rest) = match (major, rest) {
        (1, &[a, b, ref rest @ ..]) => (usize::from(u16::from_le_bytes([a, b])), rest),
        (2 | 3, &[a, b, c, d, ref rest @ ..]) => (u32::from_le_bytes([a, b, c, d]) as usize, rest),
        _ => {
            return Err(bad(MAGIC.len(), format!("version {major} is unknown, or the file ends here"), save));
        }
    };
    let at = bytes.len() - rest.len();
    let Some((text, data)) = rest.split_at_checked(length) else {
        return Err(bad(bytes.len(), format!("ends within its header of {length} bytes"), "fetch it again"));
    };
    let text = std::str::from_utf8(text).map_err(|_| bad(at, "the header is no text".to_string(), save))?;
    let header = Header::parse(text).ok_or_else(|| {
        bad(at, format!("the header has no descr, fortran_order and shape: {}", text.trim()), save)
    })?;
    let (big, kind) = header.descr.split_at_checked(1).unwrap_or_default();
    let known = DType::ALL.into_iter().find(|dtype| dtype.npy_name() == kind);
    let Some(dtype) = known else {
        let help = "save it as bool, float16, float32, float64 or an integer of at most 64 bits, with astype";
        return Err(bad(at, format!("there is no dtype for elements of '{}'", header.descr), help));
    };
    let size = dtype.size();
    let mut dims = header.shape;
    let want = dims.iter().try_fold(size, |product: usize, &d| product.checked_mul(d));
    if want.is_none_or(|want| want != data.len()) {
        let why = format!(
            "shape {dims:?} of '{}' does not fit the {} bytes of elements that follow",
            header.descr,
            data.len()
        );
        return Err(bad(at + length, why, "the file is cut short or damaged"));
    }
    if header.fortran_order {
        dims.reverse();
    }
    Shape::new(&dims).map_err(|e| bad(at, e.to_string(), "save it under another shape"))?;
    let big = big == ">" || (cfg!(target_endian = "big") && big != "<");
    let tensor = match size {
        _ if dtype == DType::Bool => tensor_of(dtype, &dims, data.iter().map(|&b| [u8::from(b != 0)])),
        8 => tensor_of(dtype, &dims, words(data, big).map(|w| u64::from_le_bytes(w).to_ne_bytes())),
        4 => tensor_of(dtype, &dims, words(data, big).map(|w| u32::from_le_bytes(w).to_ne_bytes())),
        2 => tensor_of(dtype, &dims, words(data, big).map(|w| u16::from_le_bytes(w).to_ne_bytes())),
        _ => tensor_of(dtype, &dims, data.iter().map(|&b| [b])),
    }?;
    if header.fortran_order { tensor.transpose(&[]) } else { Ok(tensor) }
}

/// Elements of N bytes, lowest byte first.
fn words<const N: usize>(bytes: &[u8], big: bool) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.as_chunks::<N>().0.iter().map(move |word| {
        let mut word = *word;
        if big {
            word.reverse();
        }
        word
    })
}

/// What the header says.
struct Header<'t> {
    descr: &'t str,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl<'t> Header<'t> {
    fn parse(text: &'t str) -> Option<Header<'t>> {
        let after = |key: &str| {
            let start = text.find(&format!("'{key}'"))? + key.len() + 2;
            text[start..].trim_start().strip_prefix(':').map(str::trim_start)
        };
        let descr = after("descr")?.strip_prefix('\'')?.split('\'').next()?;
        let fortran_order = match after("fortran_order")? {
            t if t.starts_with("True") => true,
            t if t.starts_with("False") => false,
            _ => return None,
        };
        let list = after("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let sizes = list.split(',').map(str::trim).filter(|size| !size.is_empty());
        // Python 2 wrote long integers with an L.
        let shape = sizes.map(|size| size.trim_end_matches('L').parse().ok()).collect::<Option<_>>()?;
        Some(Header { descr, fortran_order, shape })
    }
}

/// Writes a tensor as an NPY file.
pub fn write_npy(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let dtype = tensor.dtype();
    let descr = format!("{}{}", if dtype.size() == 1 { '|' } else { '<' }, dtype.npy_name());
    let sizes: String = tensor.shape().dims().iter().map(|d| format!("{d}, ")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The elements begin at a multiple of 64 bytes, after a line end.
    let before = MAGIC.len() + 4;
    header.push_str(&" ".repeat(63 - (before + header.len()) % 64));
    header.push('\n');
    let bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    let elements = tensor.to_bytes()?;
    replace_file(path, |file| {
        file.write_all(&bytes)?;
        match tensor.dtype().size() {
            8 if cfg!(target_endian = "big") => {
                words::<8>(&elements, true).try_for_each(|w| file.write_all(&w))
            }
            4 if cfg!(target_endian = "big") => {
                words::<4>(&elements, true).try_for_each(|w| file.write_all(&w))
            }
            2 if cfg!(target_endian = "big") => {
                words::<2>(&elements, true).try_for_each(|w| file.write_all(&w))
            }
            _ => file.write_all(&elements),
        }
    })
}
