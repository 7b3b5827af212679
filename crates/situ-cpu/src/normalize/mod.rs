//! Ops that look at a whole row before they write any of it: softmax, cross-entropy, layer norm.
//!
//! Each row is shifted by its maximum, so that nothing overflows. A row with a NaN or a +inf, or of -inf
//! alone, gives NaN. Rows are independent and sums are the trees of [`reduce`](crate::reduce), so results do
//! not depend on the number of threads.

mod batch_norm;
mod cross_entropy;
mod layer_norm;
mod softmax;
mod softmax_columns;

pub use batch_norm::{BatchNorm, batch_norm};
pub use cross_entropy::{BadLabel, cross_entropy, sparse_cross_entropy};
pub use layer_norm::layer_norm;
pub use softmax::softmax;
pub use softmax_columns::softmax_columns;

use crate::level::Isa;
use crate::math::Float;
use std::mem::MaybeUninit;

/// About how many elements are worth a task.
const TASK: usize = 1 << 14;

/// Exponentials are computed and added up in pieces that stay in the first-level cache.
const PIECE: usize = 1024;

/// `Σ e^(x - shift)`, piece by piece.
#[inline(always)]
fn sum_of_exponentials<I: Isa, T: Float>(x: &[T], shift: T) -> T {
    let mut buffer = [MaybeUninit::uninit(); PIECE];
    let mut total = T::ZERO;
    for x in x.chunks(PIECE) {
        total = total + T::exponentials_row::<I>(x, shift, &mut buffer[..x.len()], PIECE);
    }
    total
}

/// A row that is about to be written whole.
#[inline(always)]
fn unwritten<T>(row: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: only written values ever go through the result: it stays within this module, which writes to it
    // alone.
    unsafe { &mut *(std::ptr::from_mut(row) as *mut [MaybeUninit<T>]) }
}

#[cfg(test)]
mod tests;
