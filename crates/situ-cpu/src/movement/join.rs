//! Copies of whole tensors and what is joined of them: concat, pad, tile. Each is a list of [`Part`]s.

use super::fill::element;
use super::part;
use super::{Axis, Part};
use crate::exec::Exec;

/// A tensor to read from: its first element, its shape, and its strides in elements.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The first element.
    pub start: *const u8,
    /// The sizes of its dimensions.
    pub shape: &'a [usize],
    /// The distance between neighbours along each axis.
    pub strides: &'a [isize],
}

impl Source<'_> {
    /// The part that copies it to `to`, where its axes are these many elements apart.
    fn to(&self, size: usize, to: *mut u8, strides: &[isize]) -> Part {
        let unit = size as isize;
        let axes = self.shape.iter().zip(self.strides).zip(strides);
        let axes = axes.map(|((&size, &from), &to)| Axis { size, from: from * unit, to: to * unit });
        Part::new(size, axes, self.start, to)
    }
}

/// Strides, in elements, of a dense tensor.
fn dense_strides(shape: &[usize]) -> [isize; situ_core::MAX_RANK] {
    let mut strides = [0; situ_core::MAX_RANK];
    let mut step = 1isize;
    for (stride, &size) in strides[..shape.len()].iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size as isize);
    }
    strides
}

/// Copies a tensor of elements of `size` bytes to dense memory.
///
/// # Safety
/// Every element of the source is readable, and `to` is writable for as many, without overlap.
pub unsafe fn copy(exec: &Exec<'_>, size: usize, from: Source<'_>, to: *mut u8) {
    let bytes = from.shape.iter().product::<usize>() * size;
    let part = from.to(size, to, &dense_strides(from.shape)[..from.shape.len()]);
    // SAFETY: the caller's promise; a dense tensor has a place for every element.
    unsafe { part::run(exec, &[part], bytes) };
}

/// Joins tensors along `axis` to a dense tensor of shape `shape`.
///
/// # Safety
/// Every element of the sources is readable; their shapes are `shape` but for `axis`, where their sizes add
/// up to it. `to` is writable for all of `shape`, and overlaps no source.
pub unsafe fn concat(
    exec: &Exec<'_>,
    size: usize,
    axis: usize,
    sources: &[Source<'_>],
    shape: &[usize],
    to: *mut u8,
) {
    let strides = dense_strides(shape);
    let mut done = 0;
    let parts: Vec<Part> = sources
        .iter()
        .map(|source| {
            let first = done * strides[axis] * size as isize;
            done += source.shape[axis] as isize;
            // Past the end only if the source is empty, and then nothing is written.
            source.to(size, to.wrapping_offset(first), &strides[..shape.len()])
        })
        .collect();
    // SAFETY: the caller's promise; each source has its own range of the axis.
    unsafe { part::run(exec, &parts, shape.iter().product::<usize>() * size) };
}

/// Copies a tensor into the midst of a dense one: `before` elements in front of it along each axis, `after`
/// behind it, all of `value`.
///
/// # Safety
/// Every element of the source is readable; `to` is writable for the padded shape, without overlap; `before`
/// and `after` have one entry for each axis.
pub unsafe fn pad(
    exec: &Exec<'_>,
    size: usize,
    from: Source<'_>,
    before: &[usize],
    after: &[usize],
    value: u64,
    to: *mut u8,
) {
    let rank = from.shape.len();
    let mut shape = [0; situ_core::MAX_RANK];
    for (axis, padded) in shape[..rank].iter_mut().enumerate() {
        *padded = before[axis] + from.shape[axis] + after[axis];
    }
    let shape = &shape[..rank];
    let strides = dense_strides(shape);
    let value = element(value, size);
    let mut parts = Vec::with_capacity(1 + 2 * rank);
    // A slab before and one behind the source along each axis: within the source along the axes further out,
    // and whole along those further in. Together with the source they are the padded shape.
    let mut inside = 0isize;
    for axis in 0..rank {
        let slab = |first: usize, len: usize| {
            let axes = (0..rank).map(|a| Axis {
                size: match a.cmp(&axis) {
                    std::cmp::Ordering::Less => from.shape[a],
                    std::cmp::Ordering::Equal => len,
                    std::cmp::Ordering::Greater => shape[a],
                },
                from: 0,
                to: strides[a] * size as isize,
            });
            let start = (inside + first as isize * strides[axis]) * size as isize;
            Part::new(size, axes, value.as_ptr(), to.wrapping_offset(start))
        };
        if before[axis] > 0 {
            parts.push(slab(0, before[axis]));
        }
        if after[axis] > 0 {
            parts.push(slab(before[axis] + from.shape[axis], after[axis]));
        }
        inside += before[axis] as isize * strides[axis];
    }
    parts.push(from.to(size, to.wrapping_offset(inside * size as isize), &strides[..rank]));
    // SAFETY: the caller's promise; the slabs and the source do not overlap.
    unsafe { part::run(exec, &parts, shape.iter().product::<usize>() * size) };
}

/// Repeats a tensor `repeats` times along each axis, to dense memory.
///
/// # Safety
/// Every element of the source is readable; `to` is writable for the repeated shape, without overlap;
/// `repeats` has one entry for each axis.
pub unsafe fn tile(exec: &Exec<'_>, size: usize, from: Source<'_>, repeats: &[usize], to: *mut u8) {
    let rank = from.shape.len();
    let mut shape = [0; situ_core::MAX_RANK];
    for (axis, repeated) in shape[..rank].iter_mut().enumerate() {
        *repeated = from.shape[axis] * repeats[axis];
    }
    let shape = &shape[..rank];
    let strides = dense_strides(shape);
    let unit = size as isize;
    let axes = (0..2 * rank).map(|twice| {
        let axis = twice / 2;
        if twice % 2 == 0 {
            Axis { size: repeats[axis], from: 0, to: strides[axis] * from.shape[axis] as isize * unit }
        } else {
            Axis { size: from.shape[axis], from: from.strides[axis] * unit, to: strides[axis] * unit }
        }
    });
    let part = Part::new(size, axes, from.start, to);
    // SAFETY: the caller's promise; every place of the repeated shape is one of a repeat and an element.
    unsafe { part::run(exec, &[part], shape.iter().product::<usize>() * size) };
}
