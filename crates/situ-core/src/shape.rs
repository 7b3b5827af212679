//! Shapes of tensors: up to [`MAX_RANK`] dimensions, held inline so that an op allocates nothing for them.

use crate::{DType, Error, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The most dimensions a tensor may have.
pub const MAX_RANK: usize = 8;

/// The most elements a tensor may have: its bytes, at 8 an element, still fit an `isize`.
const MAX_ELEMENTS: usize = isize::MAX as usize / 8;

/// The sizes of a tensor's dimensions, outermost first. Dereferences to a slice.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The sizes, and zeros behind them.
    dims: [usize; MAX_RANK],
    elements: usize,
    rank: u8,
}

impl Shape {
    /// The shape of a scalar: no dimensions, one element.
    pub const SCALAR: Shape = Shape { dims: [0; MAX_RANK], elements: 1, rank: 0 };

    /// A shape; an error where the rank or the number of elements is beyond what a tensor can hold.
    #[inline]
    pub fn new(dims: &[usize]) -> Result<Shape> {
        if dims.len() > MAX_RANK {
            return Err(Error::argument(
                "shape",
                format!("{dims:?} has {} dimensions; a tensor has at most {MAX_RANK}", dims.len()),
                "merge dimensions with reshape",
            ));
        }
        // A zero anywhere makes the tensor empty, whatever the other sizes are; they must still not overflow
        // when a later op drops the zero, so the product is taken over the non-zero sizes.
        let mut product = 1usize;
        for &d in dims.iter().filter(|&&d| d != 0) {
            product = match product.checked_mul(d) {
                Some(p) if p <= MAX_ELEMENTS => p,
                _ => {
                    return Err(Error::argument(
                        "shape",
                        format!("{dims:?} has more elements than memory can address"),
                        "use smaller dimensions",
                    ));
                }
            };
        }
        Ok(Shape::unchecked(dims))
    }

    /// A shape whose dims are a subset, permutation or reduction of a valid shape's, so that it is valid too.
    #[inline]
    fn unchecked(dims: &[usize]) -> Shape {
        let mut held = [0; MAX_RANK];
        held[..dims.len()].copy_from_slice(dims);
        Shape { dims: held, elements: dims.iter().product(), rank: dims.len() as u8 }
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The number of elements: the product of the sizes, 1 for a scalar.
    #[inline]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The sizes, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank as usize]
    }

    /// The shape without the axes for which `drop` says true.
    pub fn without(&self, drop: impl Fn(usize) -> bool) -> Shape {
        let mut kept = [0; MAX_RANK];
        let mut rank = 0;
        for (axis, &d) in self.dims().iter().enumerate() {
            if !drop(axis) {
                kept[rank] = d;
                rank += 1;
            }
        }
        Shape::unchecked(&kept[..rank])
    }

    /// The shape with axis `axis` of size `size`; an error where that has too many elements.
    pub fn with_dim(&self, axis: usize, size: usize) -> Result<Shape> {
        let mut dims = self.dims;
        dims[axis] = size;
        Shape::new(&dims[..self.rank()])
    }

    /// NumPy's broadcast of two shapes, aligned at the last axis; `None` where they do not fit.
    #[inline]
    pub fn broadcast(&self, other: &Shape) -> Option<Result<Shape>> {
        if self == other {
            return Some(Ok(*self));
        }
        let rank = self.rank().max(other.rank());
        let mut dims = [1; MAX_RANK];
        for back in 1..=rank {
            let a = if back <= self.rank() { self[self.rank() - back] } else { 1 };
            let b = if back <= other.rank() { other[other.rank() - back] } else { 1 };
            dims[rank - back] = match (a, b) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => return None,
            };
        }
        Some(Shape::new(&dims[..rank]))
    }

    /// Strides, in elements, of a dense row-major tensor of this shape.
    #[inline]
    pub fn dense_strides(&self) -> [isize; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut step = 1isize;
        for axis in (0..self.rank()).rev() {
            strides[axis] = step;
            step = step.saturating_mul(self.dims[axis].max(1) as isize);
        }
        strides
    }

    /// `axis`, which may count from the end if negative, as an index; an error naming `op` where there is
    /// none.
    pub fn axis(&self, op: &'static str, axis: isize) -> Result<usize> {
        let rank = self.rank() as isize;
        let index = if axis < 0 { axis + rank } else { axis };
        if (0..rank).contains(&index) {
            return Ok(index as usize);
        }
        Err(Error::argument(
            op,
            format!("axis {axis} is out of range for shape {self}"),
            if rank == 0 {
                "a scalar has no axes".to_string()
            } else {
                format!("use an axis from {} to {}", -rank, rank - 1)
            },
        ))
    }
}

impl Deref for Shape {
    type Target = [usize];
    #[inline]
    fn deref(&self) -> &[usize] {
        self.dims()
    }
}
impl PartialEq for Shape {
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        // Behind the sizes there are zeros in both: a comparison of known length needs no call.
        self.rank == other.rank && self.dims == other.dims
    }
}
impl Eq for Shape {}
impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dims().hash(state);
    }
}
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.dims().iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of axes, each below [`MAX_RANK`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Axes(u8);

impl Axes {
    /// All axes of a tensor of that rank.
    pub fn all(rank: usize) -> Axes {
        Axes(if rank >= MAX_RANK { u8::MAX } else { (1 << rank) - 1 })
    }

    /// The one axis.
    pub fn one(axis: usize) -> Axes {
        Axes(1 << axis)
    }

    /// The axes named in `list` (negative: from the end) of `shape`; an error naming `op` for one that is not
    /// there, or is there twice.
    pub fn of(op: &'static str, shape: &Shape, list: &[isize]) -> Result<Axes> {
        let mut set = Axes::default();
        for &axis in list {
            let index = shape.axis(op, axis)?;
            if set.contains(index) {
                return Err(Error::argument(
                    op,
                    format!("axis {axis} is named twice in {list:?}"),
                    "name each axis once",
                ));
            }
            set.0 |= 1 << index;
        }
        Ok(set)
    }

    /// Whether `axis` is in the set.
    #[inline]
    pub fn contains(self, axis: usize) -> bool {
        axis < MAX_RANK && self.0 & (1 << axis) != 0
    }

    /// How many axes are in the set.
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The axes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MAX_RANK).filter(move |&a| self.contains(a))
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
impl fmt::Debug for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The dtype and shape of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The element type.
    pub dtype: DType,
    /// The sizes of its dimensions.
    pub shape: Shape,
}

impl TensorType {
    /// That dtype and shape together.
    #[inline]
    pub fn new(dtype: DType, shape: Shape) -> TensorType {
        TensorType { dtype, shape }
    }

    /// Bytes of a dense tensor of this type.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.shape.elements() * self.dtype.size()
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}
impl fmt::Debug for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dims: &[usize]) -> Shape {
        Shape::new(dims).expect("valid")
    }

    #[test]
    fn broadcast_follows_numpy() {
        assert_eq!(shape(&[3, 1]).broadcast(&shape(&[4])).unwrap().unwrap(), shape(&[3, 4]));
        assert_eq!(shape(&[0, 1]).broadcast(&shape(&[1, 5])).unwrap().unwrap(), shape(&[0, 5]));
        assert_eq!(Shape::SCALAR.broadcast(&shape(&[2])).unwrap().unwrap(), shape(&[2]));
        assert!(shape(&[3]).broadcast(&shape(&[4])).is_none());
        assert!(shape(&[0]).broadcast(&shape(&[2])).is_none());
    }

    #[test]
    fn too_many_elements_or_dimensions_are_errors_even_beside_a_zero() {
        assert!(Shape::new(&[usize::MAX, 2]).is_err());
        assert!(Shape::new(&[0, usize::MAX, usize::MAX]).is_err());
        assert!(Shape::new(&[1; 9]).is_err());
        assert_eq!(shape(&[0, 7]).elements(), 0);
    }

    #[test]
    fn an_axis_may_count_from_the_end() {
        assert_eq!(shape(&[2, 3]).axis("sum", -1).unwrap(), 1);
        let text = shape(&[2, 3]).axis("sum", 2).unwrap_err().to_string();
        assert!(text.contains("sum") && text.contains("[2, 3]"), "{text}");
        assert!(Axes::of("sum", &shape(&[2, 3]), &[1, -1]).is_err());
    }
}
