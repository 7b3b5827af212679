//! Convolutions of images with channels first, as matrix products: blocks of pixels are laid out as columns that stay in a core's
//! cache, and the products of [`crate::matmul`] do the rest.
//!
//! - [`Sliding`]: where a window's elements are read, for a convolution and for its gradient by the images alike;
//! - [`correlate`]: `out[image] = filters · columns(image)`;
//! - [`by_filter`]: `out = Σ upstream[image] · columns(image)ᵀ`;
//! - `deep`: both where a column is too long for a core's scratch memory, and is cut.
//!
//! Promises: the same bits for any number of threads, as the products have. Leaves to others: shapes, other formats, memory.

mod by_filter;
mod columns;
mod correlate;
mod deep;

pub use by_filter::{by_filter, partial_len};
pub use columns::{Axis, Sliding};
pub use correlate::correlate;

use crate::scratch::MOST_BYTES;

/// Bytes of columns that a task lays out at a time: they should stay in the second-level cache beside the filters.
const COLUMN_BYTES: usize = 320 << 10;
/// The products are fast where their columns are a multiple of this: blocks are filled up to it.
const PANEL: usize = 32;

/// Pixels of a block, for columns of `depth` elements of `size` bytes, which [`fits`], on images of `pixels`; at least one.
fn block_pixels(depth: usize, pixels: usize, size: usize) -> usize {
    // Beside its columns, a block has a strip of results.
    let most = (COLUMN_BYTES / ((depth + correlate::STRIP) * size)).max(1);
    let most = if most >= PANEL { most / PANEL * PANEL } else { most };
    if filled_up(pixels) <= most {
        return pixels;
    }
    filled_up(pixels.div_ceil(pixels.div_ceil(most))).min(most)
}

/// Columns of the product for a block of so many pixels.
fn filled_up(pixels: usize) -> usize {
    if pixels < PANEL { pixels } else { pixels.next_multiple_of(PANEL) }
}

/// Whether a column of `depth` elements of `size` bytes is laid out as a whole.
fn fits(depth: usize, size: usize) -> bool {
    depth.saturating_mul(size) <= MOST_BYTES / 2
}
