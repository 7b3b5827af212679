//! A vector times a matrix: bound by reading the matrix once, so it is read in the order it lies in memory.
//!
//! Two forms, by which way the matrix is contiguous. In both, the order in which an output's products are
//! added depends on the form and on k alone, not on how the outputs are cut into tasks.

use super::vector::Vector;

/// `out[j] = Σ x[k] · matrix[k, j]` for a range of outputs.
pub(super) struct MatVec<T> {
    /// Steps of k.
    pub(super) k: usize,
    /// The vector: `k` contiguous numbers.
    pub(super) x: *const T,
    /// The matrix at k = 0 and the first output.
    pub(super) matrix: *const T,
    /// By rows: from one k to the next (outputs are contiguous). By columns: from one output to the next (k
    /// is contiguous).
    pub(super) stride: isize,
    /// The first output; outputs are contiguous.
    pub(super) out: *mut T,
    /// Outputs, at least one.
    pub(super) outputs: usize,
    /// Added to the outputs where it is not null.
    pub(super) bias: *const T,
    /// From one output's bias to the next: 0 or 1.
    pub(super) bias_stride: usize,
    /// Whether negative results become zero.
    pub(super) relu: bool,
}

/// Rows taken together: the outputs are then loaded and stored once for eight rows of the matrix.
const ROWS: usize = 8;

/// Outputs by rows: `out += x[k] * row k`.
///
/// # Safety
/// The fields hold what they promise, and the processor has `V`'s instructions.
#[inline(always)]
pub(super) unsafe fn by_rows<V: Vector>(p: &MatVec<V::Elem>) {
    // SAFETY: steps below `k` and outputs below `outputs` are the caller's promise.
    unsafe {
        let whole = p.k - p.k % ROWS;
        let mut step = 0;
        while step < whole {
            add_rows::<V, ROWS>(p, step);
            step += ROWS;
        }
        while step < p.k {
            add_rows::<V, 1>(p, step);
            step += 1;
        }
        finish::<V>(p);
    }
}

/// Adds the products of `R` rows to the outputs; the first rows replace them.
#[inline(always)]
unsafe fn add_rows<V: Vector, const R: usize>(p: &MatVec<V::Elem>, step: usize) {
    // SAFETY: as in `by_rows`; the caller has `R` rows left.
    unsafe {
        let mut x = [V::zero(); R];
        let mut rows = [p.matrix; R];
        for r in 0..R {
            x[r] = V::splat(p.x.add(step + r));
            rows[r] = p.matrix.offset((step + r) as isize * p.stride);
        }
        let whole = p.outputs - p.outputs % V::LANES;
        let mut j = 0;
        while j < whole {
            let mut sum = if step == 0 { V::zero() } else { V::load(p.out.add(j)) };
            for r in 0..R {
                sum = V::mul_add(x[r], V::load(rows[r].add(j)), sum);
            }
            sum.store(p.out.add(j));
            j += V::LANES;
        }
        let left = p.outputs - whole;
        if left > 0 {
            let mut sum = if step == 0 { V::zero() } else { V::load_first(p.out.add(j), left) };
            for r in 0..R {
                sum = V::mul_add(x[r], V::load_first(rows[r].add(j), left), sum);
            }
            sum.store_first(p.out.add(j), left);
        }
    }
}

/// Outputs by columns: each is a dot product.
///
/// # Safety
/// The fields hold what they promise, and the processor has `V`'s instructions.
#[inline(always)]
pub(super) unsafe fn by_columns<V: Vector>(p: &MatVec<V::Elem>) {
    // SAFETY: steps below `k` and outputs below `outputs` are the caller's promise.
    unsafe {
        let mut j = 0;
        // Eight at once share the loads of the vector and keep the units busy, and the memory too: eight
        // columns are fetched ahead.
        while p.outputs - j >= 8 {
            dot::<V, 8>(p, j);
            j += 8;
        }
        while p.outputs - j >= 2 {
            dot::<V, 2>(p, j);
            j += 2;
        }
        if j < p.outputs {
            dot::<V, 1>(p, j);
        }
        finish::<V>(p);
    }
}

/// `C` dot products: a register of partial sums each, and then its lanes.
#[inline(always)]
unsafe fn dot<V: Vector, const C: usize>(p: &MatVec<V::Elem>, j: usize) {
    // SAFETY: as in `by_columns`; the caller has `C` outputs left.
    unsafe {
        let mut columns = [p.matrix; C];
        for (c, column) in columns.iter_mut().enumerate() {
            *column = p.matrix.offset((j + c) as isize * p.stride);
        }
        let mut sums = [V::zero(); C];
        let whole = p.k - p.k % V::LANES;
        let mut step = 0;
        while step < whole {
            let x = V::load(p.x.add(step));
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = V::mul_add(x, V::load(column.add(step)), *sum);
            }
            step += V::LANES;
        }
        let left = p.k - whole;
        if left > 0 {
            let x = V::load_first(p.x.add(step), left);
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = V::mul_add(x, V::load_first(column.add(step), left), *sum);
            }
        }
        for (c, sum) in sums.into_iter().enumerate() {
            *p.out.add(j + c) = sum.sum();
        }
    }
}

/// Bias and activation.
#[inline(always)]
unsafe fn finish<V: Vector>(p: &MatVec<V::Elem>) {
    if p.bias.is_null() && !p.relu {
        return;
    }
    for j in 0..p.outputs {
        // SAFETY: outputs and biases below `outputs` are the caller's promise.
        unsafe {
            let mut value = V::load_first(p.out.add(j), 1);
            if !p.bias.is_null() {
                value = V::add(value, V::load_first(p.bias.add(j * p.bias_stride), 1));
            }
            if p.relu {
                value = value.relu();
            }
            value.store_first(p.out.add(j), 1);
        }
    }
}
