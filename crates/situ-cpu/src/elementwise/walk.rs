//! Walking several operands in step: their common shape with as few dimensions as their strides allow, and a
//! position in it.

use situ_core::MAX_RANK;

/// A shape with the strides of each of at most `N` operands, in elements. Dimensions of size 1 are gone, and
/// neighbours that every operand lays out as one are merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<const N: usize> {
    pub(super) rank: usize,
    pub(super) shape: [usize; MAX_RANK],
    pub(super) strides: [[isize; MAX_RANK]; N],
}

impl<const N: usize> Walk<N> {
    /// The walk over `shape` with these strides for each operand.
    pub(super) fn new<'a>(shape: &[usize], strides: impl ExactSizeIterator<Item = &'a [isize]>) -> Self {
        let inputs = strides.len();
        let mut given: [&[isize]; N] = [&[]; N];
        for (slot, strides) in given.iter_mut().zip(strides) {
            *slot = strides;
        }
        // Built from the innermost dimension out, then turned round.
        let mut walk = Walk { rank: 0, shape: [1; MAX_RANK], strides: [[0; MAX_RANK]; N] };
        for axis in (0..shape.len()).rev() {
            if shape[axis] == 1 {
                continue;
            }
            let fits = walk.rank > 0 && {
                let top = walk.rank - 1;
                let run = walk.shape[top] as isize;
                (0..inputs).all(|k| given[k][axis] == walk.strides[k][top].wrapping_mul(run))
            };
            if fits {
                walk.shape[walk.rank - 1] *= shape[axis];
            } else {
                walk.shape[walk.rank] = shape[axis];
                for (strides, given) in walk.strides.iter_mut().zip(&given[..inputs]) {
                    strides[walk.rank] = given[axis];
                }
                walk.rank += 1;
            }
        }
        walk.rank = walk.rank.max(1);
        walk.shape[..walk.rank].reverse();
        walk.strides[..inputs].iter_mut().for_each(|strides| strides[..walk.rank].reverse());
        walk
    }

    /// The size of the innermost dimension.
    pub(super) fn row(&self) -> usize {
        self.shape[self.rank - 1]
    }

    /// The stride of operand `k` within a row.
    pub(super) fn row_stride(&self, k: usize) -> isize {
        self.strides[k][self.rank - 1]
    }

    /// Operand `k` repeats every so many elements, and is dense within: the whole length for a dense operand,
    /// 1 for a scalar. `None` if it does neither.
    pub(super) fn period(&self, k: usize) -> Option<usize> {
        let mut axis = self.rank;
        let mut dense = 1;
        while axis > 0 && self.strides[k][axis - 1] == dense as isize {
            axis -= 1;
            dense *= self.shape[axis];
        }
        self.strides[k][..axis].iter().all(|stride| *stride == 0).then_some(dense)
    }
}

/// A position in a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    index: [usize; MAX_RANK],
}

impl Position {
    /// The position of the element of that row-major number.
    pub(super) fn at<const N: usize>(walk: &Walk<N>, mut element: usize) -> Position {
        let mut index = [0; MAX_RANK];
        for axis in (0..walk.rank).rev() {
            index[axis] = element % walk.shape[axis];
            element /= walk.shape[axis];
        }
        Position { index }
    }

    /// Where operand `k` is, in elements from its start.
    pub(super) fn offset<const N: usize>(&self, walk: &Walk<N>, k: usize) -> isize {
        (0..walk.rank).map(|axis| self.index[axis] as isize * walk.strides[k][axis]).sum()
    }

    /// Elements left in this row.
    pub(super) fn left_in_row<const N: usize>(&self, walk: &Walk<N>) -> usize {
        walk.row() - self.index[walk.rank - 1]
    }

    /// Moves on by `len` elements, at most to the end of the row; says whether a new row begins.
    pub(super) fn advance<const N: usize>(&mut self, walk: &Walk<N>, len: usize) -> bool {
        let inner = walk.rank - 1;
        self.index[inner] += len;
        if self.index[inner] < walk.shape[inner] {
            return false;
        }
        self.index[inner] = 0;
        for axis in (0..inner).rev() {
            self.index[axis] += 1;
            if self.index[axis] < walk.shape[axis] {
                break;
            }
            self.index[axis] = 0;
        }
        true
    }
}

/// Copies `len` elements of operand `k`, from `position` on, to a dense buffer.
///
/// # Safety
/// Every element of the operand is readable at `source`, and `to` is writable for `len` elements.
pub(super) unsafe fn gather<T: Copy, const N: usize>(
    walk: &Walk<N>,
    k: usize,
    mut position: Position,
    source: *const T,
    to: *mut T,
    len: usize,
) {
    let stride = walk.row_stride(k);
    let mut done = 0;
    while done < len {
        let run = position.left_in_row(walk).min(len - done);
        // SAFETY: the run is within one row of the operand, and within `len` elements of `to`.
        unsafe {
            let from = source.offset(position.offset(walk, k));
            let to = to.add(done);
            match stride {
                0 => std::slice::from_raw_parts_mut(to.cast(), run).fill(std::mem::MaybeUninit::new(*from)),
                1 => std::ptr::copy_nonoverlapping(from, to, run),
                _ => (0..run).for_each(|i| *to.add(i) = *from.offset(i as isize * stride)),
            }
        }
        position.advance(walk, run);
        done += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(shape: &[usize], strides: &[&[isize]]) -> Walk<3> {
        Walk::new(shape, strides.iter().copied())
    }

    #[test]
    fn dimensions_merge_only_where_every_operand_allows_it() {
        let both_dense = walk(&[2, 3, 4], &[&[12, 4, 1], &[12, 4, 1]]);
        assert_eq!((both_dense.rank, both_dense.row()), (1, 24));
        let one_transposed = walk(&[2, 3, 4], &[&[12, 4, 1], &[12, 1, 3]]);
        assert_eq!(one_transposed.shape[..one_transposed.rank], [2, 3, 4]);
        let row_repeats = walk(&[2, 3, 4], &[&[12, 4, 1], &[0, 0, 1]]);
        assert_eq!(row_repeats.shape[..row_repeats.rank], [6, 4]);
    }

    #[test]
    fn dimensions_of_size_one_vanish_whatever_their_stride() {
        let w = walk(&[1, 5, 1], &[&[77, 1, -3]]);
        assert_eq!((w.rank, w.row(), w.row_stride(0)), (1, 5, 1));
        let scalar = walk(&[], &[&[]]);
        assert_eq!((scalar.rank, scalar.row()), (1, 1));
        assert_eq!(walk(&[1, 1], &[&[9, 9]]).period(0), Some(1));
    }

    #[test]
    fn a_period_is_found_for_dense_scalar_and_repeating_operands() {
        let w = walk(&[6, 4], &[&[4, 1], &[0, 1], &[0, 0]]);
        assert_eq!((w.period(0), w.period(1), w.period(2)), (Some(24), Some(4), Some(1)));
        assert_eq!(walk(&[6, 4], &[&[1, 0]]).period(0), None);
        assert_eq!(walk(&[6, 4], &[&[1, 6]]).period(0), None);
    }

    #[test]
    fn gathering_from_any_start_gives_the_elements_in_row_major_order() {
        let data: Vec<u32> = (0..24).collect();
        let w = walk(&[4, 2, 3], &[&[1, 12, 4]]);
        let all: Vec<u32> =
            (0..4).flat_map(|i| (0..2).flat_map(move |j| (0..3).map(move |k| i + 12 * j + 4 * k))).collect();
        for start in 0..24 {
            let mut to = vec![0; 24 - start];
            // SAFETY: the strides stay within 24 elements.
            unsafe { gather(&w, 0, Position::at(&w, start), data.as_ptr(), to.as_mut_ptr(), 24 - start) };
            assert_eq!(to, all[start..]);
        }
    }
}
