//! How a tensor's elements lie in its memory: shape, strides and an offset, so that transposes, slices and
//! expansions are views that cost nothing.

use crate::{MAX_RANK, Shape};

/// Shape, strides and offset, all in elements. A stride may be zero (expanded) or negative (reversed).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Layout {
    shape: Shape,
    strides: [isize; MAX_RANK],
    offset: usize,
    dense: bool,
}

impl Layout {
    /// Dense, row-major, from the start of its memory.
    #[inline]
    pub fn dense(shape: Shape) -> Layout {
        Layout { strides: shape.dense_strides(), shape, offset: 0, dense: true }
    }

    /// A layout by its parts. The caller vouches that every element lies within its memory.
    pub fn strided(shape: Shape, strides: &[isize], offset: usize) -> Layout {
        let mut held = [0; MAX_RANK];
        held[..shape.rank()].copy_from_slice(&strides[..shape.rank()]);
        let dense = {
            let mut step = 1isize;
            let mut dense = true;
            for axis in (0..shape.rank()).rev() {
                if shape[axis] != 1 && held[axis] != step {
                    dense = false;
                }
                step = step.saturating_mul(shape[axis].max(1) as isize);
            }
            dense || shape.elements() == 0
        };
        Layout { shape, strides: held, offset, dense }
    }

    /// The sizes of the dimensions.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The distance, in elements, between neighbours along each axis.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.shape.rank()]
    }

    /// Where the first element lies, in elements from the start of the tensor's memory.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the elements lie one after the other in row-major order (from `offset`).
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.dense
    }

    /// The view with axes in the order `perm`.
    pub fn permute(&self, perm: &[usize], shape: Shape) -> Layout {
        let mut strides = [0; MAX_RANK];
        for (to, &from) in perm.iter().enumerate() {
            strides[to] = self.strides[from];
        }
        Layout::strided(shape, &strides, self.offset)
    }

    /// The view broadcast to `shape`, aligned at the last axis. The caller has checked that it fits.
    pub fn expand(&self, shape: Shape) -> Layout {
        let mut strides = [0; MAX_RANK];
        let lead = shape.rank() - self.shape.rank();
        for axis in 0..self.shape.rank() {
            strides[lead + axis] = if self.shape[axis] == 1 { 0 } else { self.strides[axis] };
        }
        Layout::strided(shape, &strides, self.offset)
    }

    /// The view that takes `shape[i]` elements of axis i from `starts[i]` in steps of `steps[i]`.
    pub fn slice(&self, starts: &[usize], steps: &[isize], shape: Shape) -> Layout {
        let mut strides = [0; MAX_RANK];
        let mut offset = self.offset as isize;
        for axis in 0..shape.rank() {
            if shape.elements() != 0 {
                offset += starts[axis] as isize * self.strides[axis];
            }
            strides[axis] = self.strides[axis] * steps[axis];
        }
        Layout::strided(shape, &strides, offset as usize)
    }

    /// The same elements under another shape, without moving them; `None` where strides do not allow it.
    pub fn reshape(&self, shape: Shape) -> Option<Layout> {
        debug_assert_eq!(shape.elements(), self.shape.elements());
        if self.dense || shape.elements() == 0 {
            let mut layout = Layout::dense(shape);
            layout.offset = self.offset;
            return Some(layout);
        }
        // Walk both shapes in runs whose element counts agree; a run of old axes must be laid out as one.
        let old: Vec<(usize, isize)> = (0..self.shape.rank())
            .filter(|&a| self.shape[a] != 1)
            .map(|a| (self.shape[a], self.strides[a]))
            .collect();
        let mut strides = [0; MAX_RANK];
        let mut at = 0;
        let mut axis = 0;
        while axis < shape.rank() {
            if shape[axis] == 1 {
                axis += 1;
                continue;
            }
            let first_new = axis;
            let first_old = at;
            let mut new_count = shape[axis];
            let mut old_count = old.get(at)?.0;
            axis += 1;
            at += 1;
            while new_count != old_count {
                if new_count < old_count {
                    new_count *= *shape.get(axis)?;
                    axis += 1;
                } else {
                    old_count *= old.get(at)?.0;
                    at += 1;
                }
            }
            for pair in old[first_old..at].windows(2) {
                if pair[0].1 != pair[1].1 * pair[1].0 as isize {
                    return None;
                }
            }
            let mut step = old[at - 1].1;
            for new in (first_new..axis).rev() {
                strides[new] = step;
                step *= shape[new] as isize;
            }
        }
        Some(Layout::strided(shape, &strides, self.offset))
    }

    /// The offset of every element in row-major order: for reference code and tests, not for kernels.
    pub fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        let rank = self.shape.rank();
        let mut index = [0usize; MAX_RANK];
        let mut at = self.offset as isize;
        (0..self.shape.elements()).map(move |_| {
            let here = at as usize;
            for axis in (0..rank).rev() {
                index[axis] += 1;
                at += self.strides[axis];
                if index[axis] < self.shape[axis] {
                    break;
                }
                at -= self.strides[axis] * self.shape[axis] as isize;
                index[axis] = 0;
            }
            here
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline]
    fn dense(dims: &[usize]) -> Layout {
        Layout::dense(Shape::new(dims).unwrap())
    }
    #[inline]
    fn shape(dims: &[usize]) -> Shape {
        Shape::new(dims).unwrap()
    }

    #[test]
    fn a_transpose_is_a_view_and_reshapes_only_where_strides_allow() {
        let t = dense(&[2, 3]).permute(&[1, 0], shape(&[3, 2]));
        assert_eq!(t.offsets().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
        assert!(!t.is_dense());
        assert!(t.reshape(shape(&[6])).is_none());
        let split = dense(&[2, 12]).permute(&[1, 0], shape(&[12, 2])).reshape(shape(&[3, 4, 2])).unwrap();
        assert_eq!(split.strides(), [4, 1, 12]);
    }

    #[test]
    fn an_expanded_axis_has_stride_zero() {
        let e = dense(&[3, 1]).expand(shape(&[2, 3, 2]));
        assert_eq!(e.offsets().collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_slice_may_step_backwards() {
        let s = dense(&[4]).slice(&[3], &[-2], shape(&[2]));
        assert_eq!(s.offsets().collect::<Vec<_>>(), [3, 1]);
        assert!(dense(&[4, 1]).slice(&[0, 0], &[1, 1], shape(&[4, 1])).is_dense());
    }
}
