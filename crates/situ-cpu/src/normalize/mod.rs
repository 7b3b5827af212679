//! Ops that look at a whole row before they write any of it: softmax, cross-entropy, layer norm.
//!
//! Each row is shifted by its maximum, so that nothing overflows. A row with a NaN or a +inf, or of -inf alone, gives NaN.
//! Rows are independent and sums are the trees of [`reduce`](crate::reduce), so results do not depend on the number of threads.

mod cross_entropy;
mod layer_norm;
mod softmax;
mod softmax_columns;

pub use cross_entropy::{BadLabel, cross_entropy, sparse_cross_entropy};
pub use layer_norm::layer_norm;
pub use softmax::softmax;
pub use softmax_columns::softmax_columns;

use crate::level::Isa;
use crate::math::Float;
use crate::reduce::row::reduce_mapped;
use crate::reduce::{Reducer, Sum};

/// About how many elements are worth a task.
const TASK: usize = 1 << 13;

/// The largest element, for shifting a row. NaN need not come through here: it does in the exponentials.
#[derive(Clone, Copy)]
struct Largest;

impl<T: Float> Reducer<T> for Largest {
    const IDENTITY: T = T::NEG_INFINITY;
    #[inline(always)]
    fn combine<I: Isa>(a: T, b: T) -> T {
        // In this order it is one instruction.
        if a > b { a } else { b }
    }
}

#[inline(always)]
fn largest<I: Isa, T: Float>(row: &[T]) -> T {
    reduce_mapped::<I, T, Largest>(row, |x| x)
}

/// `Σ e^(x - shift)`.
#[inline(always)]
fn sum_of_exponentials<I: Isa, T: Float>(row: &[T], shift: T) -> T
where
    Sum: Reducer<T>,
{
    reduce_mapped::<I, T, Sum>(row, |x| (x - shift).exp_nonpositive::<I>())
}

#[cfg(test)]
mod tests;
