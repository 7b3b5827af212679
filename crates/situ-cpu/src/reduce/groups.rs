//! Any set of axes as a sequence of middle-axis reductions.
//!
//! Neighbouring axes that are all reduced, or all kept, are one group. A tensor whose axes are permuted but
//! lie without gaps is read in the order of its memory, if the kept axes come out in their own order.

use super::Extent;
use situ_core::{Axes, Layout, MAX_RANK};

/// Groups of axes in the order of memory, outermost first: kept and reduced ones in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    sizes: [usize; MAX_RANK],
    reduced: [bool; MAX_RANK],
    count: usize,
}

impl Groups {
    /// The groups of a tensor reduced over `axes`; `None` if its layout must be made dense first.
    pub fn new(layout: &Layout, axes: Axes) -> Option<Groups> {
        let (shape, strides) = (layout.shape(), layout.strides());
        let mut order = [0; MAX_RANK];
        let mut rank = 0;
        for axis in (0..shape.rank()).filter(|axis| shape[*axis] != 1) {
            order[rank] = axis;
            rank += 1;
        }
        let order = &mut order[..rank];
        if !layout.is_dense() {
            order.sort_by_key(|axis| std::cmp::Reverse(strides[*axis]));
            let mut step = 1;
            for axis in order.iter().rev() {
                if strides[*axis] != step {
                    return None;
                }
                step *= shape[*axis] as isize;
            }
            // Positions among reduced axes do matter, to argmax; so both sorts of axes must be in their own
            // order.
            let in_order = |kept: bool| order.iter().filter(|axis| axes.contains(**axis) != kept).is_sorted();
            if !in_order(true) || !in_order(false) {
                return None;
            }
        }
        let mut groups = Groups { sizes: [1; MAX_RANK], reduced: [false; MAX_RANK], count: 0 };
        for axis in order.iter() {
            let reduced = axes.contains(*axis);
            if groups.count == 0 || groups.reduced[groups.count - 1] != reduced {
                groups.reduced[groups.count] = reduced;
                groups.count += 1;
            }
            groups.sizes[groups.count - 1] *= shape[*axis];
        }
        Some(groups)
    }

    /// How many groups are still to be reduced.
    pub fn reductions(&self) -> usize {
        self.reduced[..self.count].iter().filter(|reduced| **reduced).count()
    }

    /// Elements that are reduced to one.
    pub fn reduced_elements(&self) -> usize {
        (0..self.count).filter(|group| self.reduced[*group]).map(|group| self.sizes[group]).product()
    }

    /// The innermost reduction, and the groups that are left after it; `None` if nothing is reduced.
    pub fn innermost(&self) -> Option<(Extent, Groups)> {
        let group = (0..self.count).rev().find(|group| self.reduced[*group])?;
        let product = |range: std::ops::Range<usize>| self.sizes[range].iter().product();
        let extent = Extent {
            outer: product(0..group),
            length: self.sizes[group],
            inner: product(group + 1..self.count),
        };
        let mut left = *self;
        left.sizes[group] = 1;
        left.reduced[group] = false;
        Some((extent, left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_core::Shape;

    fn axes(list: &[usize]) -> Axes {
        let shape = Shape::new(&[1; MAX_RANK]).unwrap();
        Axes::of("test", &shape, &list.iter().map(|a| *a as isize).collect::<Vec<_>>()).unwrap()
    }
    fn dense(dims: &[usize]) -> Layout {
        Layout::dense(Shape::new(dims).unwrap())
    }

    #[test]
    fn neighbouring_axes_are_one_reduction() {
        let groups = Groups::new(&dense(&[2, 3, 4, 5]), axes(&[1, 2])).unwrap();
        let (extent, left) = groups.innermost().unwrap();
        assert_eq!(extent, Extent { outer: 2, length: 12, inner: 5 });
        assert_eq!((groups.reductions(), left.reductions()), (1, 0));
        assert_eq!(groups.reduced_elements(), 12);
    }

    #[test]
    fn separated_axes_are_reduced_from_the_inside_out() {
        let groups = Groups::new(&dense(&[2, 3, 4, 5]), axes(&[0, 2])).unwrap();
        let (first, left) = groups.innermost().unwrap();
        assert_eq!(first, Extent { outer: 6, length: 4, inner: 5 });
        let (second, left) = left.innermost().unwrap();
        assert_eq!(second, Extent { outer: 1, length: 2, inner: 15 });
        assert!(left.innermost().is_none());
    }

    #[test]
    fn axes_of_size_one_do_not_separate() {
        let groups = Groups::new(&dense(&[2, 1, 4, 1]), axes(&[0, 2])).unwrap();
        assert_eq!(groups.innermost().unwrap().0, Extent { outer: 1, length: 8, inner: 1 });
    }

    #[test]
    fn a_transposed_matrix_is_reduced_in_place_and_a_gapped_one_is_not() {
        let shape = Shape::new(&[3, 4]).unwrap();
        let transposed = Layout::strided(shape, &[1, 3], 0);
        let groups = Groups::new(&transposed, axes(&[1])).unwrap();
        assert_eq!(groups.innermost().unwrap().0, Extent { outer: 1, length: 4, inner: 3 });
        assert!(Groups::new(&Layout::strided(shape, &[8, 1], 0), axes(&[1])).is_none());
        assert!(Groups::new(&Layout::strided(shape, &[0, 1], 0), axes(&[1])).is_none());
        assert!(Groups::new(&Layout::strided(shape, &[-4, 1], 8), axes(&[1])).is_none());
    }

    #[test]
    fn a_layout_whose_kept_axes_would_come_out_transposed_is_refused() {
        let shape = Shape::new(&[2, 3, 4]).unwrap();
        assert!(Groups::new(&Layout::strided(shape, &[1, 2, 6], 0), axes(&[2])).is_none());
        assert!(Groups::new(&Layout::strided(shape, &[3, 1, 6], 0), axes(&[2])).is_some());
    }
}
