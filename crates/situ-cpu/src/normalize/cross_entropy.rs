//! Cross-entropy of logits, row by row, without forming the probabilities.

use super::{TASK, sum_of_exponentials};
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::multiversion;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `-Σ labels · log_softmax(logits)` of each row. A label of 0 contributes nothing, even beside a logit of
/// -inf.
///
/// # Safety
/// `logits` and `labels` are readable for `rows · columns` elements, `output` writable for `rows`, without
/// overlap.
pub unsafe fn cross_entropy<T: Float>(
    exec: &Exec<'_>,
    logits: *const T,
    labels: *const T,
    output: *mut T,
    rows: usize,
    columns: usize,
) {
    let (logits, labels, to) = (Shared(logits), Shared(labels), Shared(output));
    exec.for_ranges(rows, TASK / columns.max(1), |first, last| {
        for row in first..last {
            // SAFETY: the row is within the tensors, and no other task writes its result.
            unsafe {
                let x = std::slice::from_raw_parts(logits.get().add(row * columns), columns);
                let weights = std::slice::from_raw_parts(labels.get().add(row * columns), columns);
                *to.get().add(row) = weighted_row(exec.level, x, weights);
            }
        }
    });
}

/// A label that is no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLabel {
    /// The row that has the label.
    pub row: usize,
    /// The label, which is no class.
    pub label: i64,
}

/// `-log_softmax(logits)[label]` of each row. The error is the first label out of range; other rows are
/// written all the same.
///
/// # Safety
/// `logits` is readable for `rows · columns` elements, `labels` for `rows`, `output` writable for `rows`,
/// without overlap.
pub unsafe fn sparse_cross_entropy<T: Float, L: Copy + Into<i64>>(
    exec: &Exec<'_>,
    logits: *const T,
    labels: *const L,
    output: *mut T,
    rows: usize,
    columns: usize,
) -> Result<(), BadLabel> {
    let (logits, labels, to) = (Shared(logits), Shared(labels), Shared(output));
    let bad = AtomicUsize::new(usize::MAX);
    exec.for_ranges(rows, TASK / columns.max(1), |first, last| {
        for row in first..last {
            // SAFETY: the row is within the tensors, and no other task writes its result.
            unsafe {
                let x = std::slice::from_raw_parts(logits.get().add(row * columns), columns);
                let label: i64 = (*labels.get().add(row)).into();
                match usize::try_from(label).ok().filter(|label| *label < columns) {
                    Some(label) => *to.get().add(row) = labelled_row(exec.level, x, label),
                    None => {
                        *to.get().add(row) = T::ZERO;
                        bad.fetch_min(row, Ordering::Relaxed);
                    }
                }
            }
        }
    });
    match bad.into_inner() {
        usize::MAX => Ok(()),
        // SAFETY: `row` is one of the rows.
        row => Err(BadLabel { row, label: unsafe { *labels.get().add(row) }.into() }),
    }
}

multiversion! {
    fn labelled_row[I, T: (Float)](x: &[T], label: usize) -> T {
        let shift = T::largest_in_row::<I>(x);
        sum_of_exponentials::<I, T>(x, shift).log::<I>() - (x[label] - shift)
    }
}

multiversion! {
    fn weighted_row[I, T: (Float)](x: &[T], weights: &[T]) -> T {
        // Running sums side by side, as in a reduction; a row of classes is short enough for one block.
        const LANES: usize = 32;
        let shift = T::largest_in_row::<I>(x);
        let log = sum_of_exponentials::<I, T>(x, shift).log::<I>();
        let mut lanes = [T::ZERO; LANES];
        for (x, weights) in x.chunks(LANES).zip(weights.chunks(LANES)) {
            for ((lane, x), weight) in lanes.iter_mut().zip(x).zip(weights) {
                let loss = *weight * (log - (*x - shift));
                *lane = *lane + if *weight == T::ZERO { T::ZERO } else { loss };
            }
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for i in 0..width {
                lanes[i] = lanes[i] + lanes[i + width];
            }
        }
        // A NaN among the logits is in `log`; a row of zero labels would hide it.
        if log.is_nan() { log } else { lanes[0] }
    }
}
