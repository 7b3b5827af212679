//! Iteration spaces: the axes over which a kernel walks several tensors at once, as few as possible.
//!
//! Pure functions. Fewer axes mean fewer divisions per element, and one axis of stride 1 means that a dense
//! kernel will do.

use situ_core::MAX_RANK;

/// Axes shared by `N` operands: for each axis a size, and the stride of each operand in elements. Strides are
/// two's complement, so that negative ones work with the kernels' unsigned arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space<const N: usize> {
    pub(crate) rank: usize,
    pub(crate) sizes: [u32; MAX_RANK],
    pub(crate) strides: [[u32; MAX_RANK]; N],
}

impl<const N: usize> Space<N> {
    /// The axes of `sizes`, without those of size 1, and with neighbours merged wherever every operand lies
    /// so that the two axes are one.
    pub(crate) fn merged(sizes: &[usize], strides: [&[isize]; N]) -> Space<N> {
        let mut space = Space { rank: 0, sizes: [1; MAX_RANK], strides: [[0; MAX_RANK]; N] };
        for (axis, &size) in sizes.iter().enumerate() {
            if size == 1 {
                continue;
            }
            let step = strides.map(|s| s[axis] as u32);
            let size = size as u32;
            if let Some(last) = space.rank.checked_sub(1) {
                let joins = (0..N).all(|i| space.strides[i][last] == step[i].wrapping_mul(size));
                if joins {
                    space.sizes[last] *= size;
                    for (held, step) in space.strides.iter_mut().zip(step) {
                        held[last] = step;
                    }
                    continue;
                }
            }
            space.sizes[space.rank] = size;
            for (held, step) in space.strides.iter_mut().zip(step) {
                held[space.rank] = step;
            }
            space.rank += 1;
        }
        space
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_operands_become_one_axis() {
        let s = Space::merged(&[2, 3, 1, 4], [&[12, 4, 9, 1], &[12, 4, 4, 1]]);
        assert_eq!((s.rank, s.sizes[0], s.strides[0][0], s.strides[1][0]), (1, 24, 1, 1));
    }

    #[test]
    fn a_scalar_merges_with_anything_and_a_row_only_with_itself() {
        let s = Space::merged(&[2, 3], [&[3, 1], &[0, 0]]);
        assert_eq!((s.rank, s.sizes[0], s.strides[1][0]), (1, 6, 0));
        let s = Space::merged(&[2, 3], [&[3, 1], &[0, 1]]);
        assert_eq!((s.rank, &s.sizes[..2], &s.strides[1][..2]), (2, &[2, 3][..], &[0, 1][..]));
    }

    #[test]
    fn negative_strides_merge_too() {
        let s = Space::merged(&[2, 3], [&[-3, -1]]);
        assert_eq!((s.rank, s.sizes[0], s.strides[0][0]), (1, 6, u32::MAX));
    }

    #[test]
    fn a_single_element_has_no_axes() {
        assert_eq!(Space::merged(&[1, 1], [&[5, 7]]).rank, 0);
        assert_eq!(Space::merged(&[], [&[]]).rank, 0);
    }
}
