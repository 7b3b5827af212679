//! Convolutions of images, in both formats, as matrix products whose operands are read where they lie:
//! nothing is laid out as columns.
//!
//! - [`correlate`]: filters slide over images: a convolution, and its gradient by the images;
//! - [`by_filter`]: the gradient by the filters;
//! - `tile` is the product itself, a tile of results in registers whose rows are read at distances from a
//!   table; `tile_x86` the same for the levels of x86;
//! - `few`, `dots` and `by_few_filters` do both where filters are few and pixels fill the registers,
//!   `channels` and `depthwise` where there is one for each channel and channels do;
//! - `on_image` says which elements of windows are beside the image: they are passed over where that changes
//!   nothing;
//! - `region` copies part of an image with the zeros around, `filters` lays filters side by side,
//!   `store_rows` and `transpose_block` bring results to where they belong, `finish` does what follows them;
//!   `blocks` and `by_filter_cuts` decide how work is cut;
//! - `windows`: where a window's elements are read. With a stride, pixels of different residues meet
//!   different elements of the filter on the way back: the gradient by the images is a correlation for each.
//!
//! Promises: the same bits for any number of threads; nothing is skipped because it is zero, and the zeros
//! around an image only where all that they would be multiplied by is finite; no memory but what the caller
//! gives and the threads' scratch, whatever the sizes. Leaves to others: shapes, and memory.

mod blocks;
mod by_few_filters;
mod by_filter;
mod by_filter_cuts;
mod by_filter_part;
mod channels;
mod correlate;
mod correlate_part;
mod depthwise;
mod dots;
mod few;
mod filters;
mod finish;
mod on_image;
mod region;
mod store_rows;
mod tile;
#[cfg(target_arch = "x86_64")]
mod tile_x86;
mod transpose_block;
mod windows;

pub use by_filter::{ByFilter, by_filter};
pub use correlate::{Correlation, correlate};
pub use filters::packed_len;
pub use finish::Finish;
pub use tile::Number;
pub use windows::{Axis, Forward, Windows, back};
