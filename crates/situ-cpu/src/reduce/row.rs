//! One run of neighbouring elements reduced to one.

use super::kind::Reducer;
use crate::level::Isa;
use crate::multiversion;

/// Running results side by side: several vectors of any level, so that additions overlap.
const LANES: usize = 32;
/// Elements reduced lane by lane; above, blocks are combined in pairs.
const BLOCK: usize = 4096;

multiversion! {
    /// The reduction of a row.
    pub(super) fn reduce_row[I, T: (Copy + 'static), R: (Reducer<T>)](row: &[T]) -> T {
        reduce_mapped::<I, T, R>(row, |x| x)
    }
}

/// The reduction of `f(x)` over a row, for code that is already inside a level.
///
/// Blocks are combined in pairs: after the n-th block, as many times as n has trailing zero bits, as carrying does when counting.
#[inline(always)]
pub(crate) fn reduce_mapped<I: Isa, T: Copy, R: Reducer<T>>(row: &[T], f: impl Fn(T) -> T + Copy) -> T {
    if row.len() <= BLOCK {
        return block::<I, T, R>(row, f);
    }
    let mut stack = [R::IDENTITY; usize::BITS as usize];
    let mut depth = 0;
    for (n, part) in row.chunks(BLOCK).enumerate() {
        let mut sum = block::<I, T, R>(part, f);
        for _ in 0..(n + 1).trailing_zeros() {
            depth -= 1;
            sum = R::combine::<I>(stack[depth], sum);
        }
        stack[depth] = sum;
        depth += 1;
    }
    let mut sum = stack[depth - 1];
    for left in stack[..depth - 1].iter().rev() {
        sum = R::combine::<I>(*left, sum);
    }
    sum
}

/// At most [`BLOCK`] elements, lane by lane.
#[inline(always)]
fn block<I: Isa, T: Copy, R: Reducer<T>>(row: &[T], f: impl Fn(T) -> T + Copy) -> T {
    let mut lanes = [R::IDENTITY; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = R::combine::<I>(*lane, f(*x));
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = R::combine::<I>(*lane, f(*x));
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = R::combine::<I>(lanes[i], lanes[i + width]);
        }
    }
    lanes[0]
}
