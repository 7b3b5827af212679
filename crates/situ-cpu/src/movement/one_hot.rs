//! Rows with one element set, at an index.

use super::fill::rows_with_one;
use super::gather::Index;
use crate::exec::Exec;

/// Writes a row of `depth` elements of `size` bytes for each index: `on` at the index, `off` elsewhere; all
/// `off` for an index that is out of range. Values are given by their bits.
///
/// # Safety
/// `to` is writable for a row for each index, aligned, and overlaps no index.
pub unsafe fn one_hot<X: Index>(
    exec: &Exec<'_>,
    size: usize,
    indices: &[X],
    depth: usize,
    [on, off]: [u64; 2],
    to: *mut u8,
) {
    // SAFETY: the caller's promise; an index that does not fit is beyond any depth.
    unsafe {
        rows_with_one(exec, size, indices.len(), depth, [on, off], to, |row| {
            indices[row].place().unwrap_or(usize::MAX)
        });
    }
}
