//! Slices of a tensor, taken at indices along one axis.

use super::TASK_BYTES;
use super::runs::copy_run;
use crate::exec::{Exec, Shared};
use std::sync::atomic::{AtomicBool, Ordering};

/// An integer that counts along an axis.
pub trait Index: Copy + Send + Sync + 'static {
    /// The index as a number of one type for all.
    fn value(self) -> i64;
    /// Where it points, unless that is before the start of everything.
    #[inline(always)]
    fn place(self) -> Option<usize> {
        usize::try_from(self.value()).ok()
    }
}

impl Index for i32 {
    #[inline(always)]
    fn value(self) -> i64 {
        i64::from(self)
    }
}

impl Index for i64 {
    #[inline(always)]
    fn value(self) -> i64 {
        self
    }
}

/// An index that is not one of the axis, and its position among the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Its position among the indices.
    pub position: usize,
    /// The index itself.
    pub value: i64,
}

/// The first index that is negative, or not below `limit`.
pub(super) fn first_out_of_range<X: Index>(indices: &[X], limit: usize) -> Result<(), OutOfRange> {
    match indices.iter().position(|index| index.place().is_none_or(|place| place >= limit)) {
        None => Ok(()),
        Some(position) => Err(OutOfRange { position, value: indices[position].value() }),
    }
}

/// A tensor seen as slices along an axis. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub struct Gather<'a> {
    /// The first element.
    pub start: *const u8,
    /// Bytes of an element.
    pub size: usize,
    /// The sizes of the axes before the one that is indexed, and their strides.
    pub outer: (&'a [usize], &'a [isize]),
    /// The size of the axis that is indexed, and its stride.
    pub axis: (usize, isize),
    /// Elements of a slice, one run in memory.
    pub slice: usize,
}

/// Writes, for each outer place and each index, the slice at that index. The error is the first index that is
/// out of range; no slice is read for it.
///
/// # Safety
/// Every element of the tensor is readable, and `to` is writable for as many slices as there are outer places
/// times indices, aligned, without overlap.
pub unsafe fn gather<X: Index>(
    exec: &Exec<'_>,
    from: Gather<'_>,
    indices: &[X],
    to: *mut u8,
) -> Result<(), OutOfRange> {
    let (limit, _) = from.axis;
    let outer: usize = from.outer.0.iter().product();
    let slice = from.slice * from.size;
    if outer * slice == 0 || limit == 0 || indices.is_empty() {
        return first_out_of_range(indices, limit);
    }
    // Long slices are cut, so that a few of them still keep every thread busy.
    let piece = slice.min(TASK_BYTES);
    let pieces = slice.div_ceil(piece);
    let faulty = AtomicBool::new(false);
    let shared = Shared((&from, to));
    exec.for_ranges(outer * indices.len() * pieces, TASK_BYTES / piece, |first, last| {
        let (from, to) = shared.get();
        // SAFETY: the caller's promise; every piece belongs to one task.
        let fine = unsafe {
            if pieces > 1 {
                (first..last).all(|step| gather_piece(from, indices, to, step, piece, pieces))
            } else {
                match from.size {
                    4 if from.slice == 1 => gather_units::<u32, X>(from, indices, to.cast(), first, last),
                    8 if from.slice == 1 => gather_units::<u64, X>(from, indices, to.cast(), first, last),
                    _ => gather_slices(from, indices, to, first, last),
                }
            }
        };
        if !fine {
            faulty.store(true, Ordering::Relaxed);
        }
    });
    if faulty.into_inner() { first_out_of_range(indices, limit) } else { Ok(()) }
}

/// Calls `f(address of the outer place, indices, number of the first slice)` for the slices `first..last`,
/// one outer place at a time.
#[inline(always)]
fn for_outer<X: Index>(
    from: &Gather<'_>,
    indices: &[X],
    first: usize,
    last: usize,
    mut f: impl FnMut(*const u8, &[X], usize),
) {
    let mut step = first;
    while step < last {
        let (place, index) = (step / indices.len(), step % indices.len());
        let end = indices.len().min(index + (last - step));
        f(from.start.wrapping_offset(from.outer_offset(place)), &indices[index..end], step);
        step += end - index;
    }
}

impl Gather<'_> {
    /// Where an outer place is, in bytes from the start.
    fn outer_offset(&self, mut place: usize) -> isize {
        let mut offset = 0;
        for (&size, &stride) in self.outer.0.iter().zip(self.outer.1).rev() {
            offset += (place % size) as isize * stride;
            place /= size;
        }
        offset * self.size as isize
    }

    /// Where the slice at an index is, in bytes from its outer place.
    #[inline(always)]
    fn slice_offset(&self, index: usize) -> isize {
        index as isize * self.axis.1 * self.size as isize
    }
}

/// Slices of one unit each.
///
/// # Safety
/// As for [`gather`], for slices `first..last`; the axis is not empty.
unsafe fn gather_units<T: Copy, X: Index>(
    from: &Gather<'_>,
    indices: &[X],
    to: *mut T,
    first: usize,
    last: usize,
) -> bool {
    let (limit, stride) = from.axis;
    let mut fine = true;
    for_outer(from, indices, first, last, |place, indices, step| {
        let mut all = true;
        for (i, index) in indices.iter().enumerate() {
            // A negative index is a huge one without its sign.
            let index = index.value() as u64;
            let inside = index < limit as u64;
            all &= inside;
            let index = if inside { index } else { 0 };
            // SAFETY: the index is within the axis: where it was not, the first element stands in for it.
            unsafe {
                let unit = place.cast::<T>().offset(index as isize * stride);
                to.add(step + i).write(unit.read());
            }
        }
        fine &= all;
    });
    fine
}

/// Slices of any length.
///
/// # Safety
/// As for [`gather`], for slices `first..last`.
unsafe fn gather_slices<X: Index>(
    from: &Gather<'_>,
    indices: &[X],
    to: *mut u8,
    first: usize,
    last: usize,
) -> bool {
    let (limit, bytes) = (from.axis.0, from.slice * from.size);
    let mut fine = true;
    for_outer(from, indices, first, last, |place, indices, step| {
        for (i, index) in indices.iter().enumerate() {
            match index.place() {
                Some(index) if index < limit => {
                    // SAFETY: the index is within the axis, and the slice's place is within the result.
                    unsafe {
                        copy_run(place.offset(from.slice_offset(index)), to.add((step + i) * bytes), bytes);
                    }
                }
                _ => fine = false,
            }
        }
    });
    fine
}

/// One piece of a long slice.
///
/// # Safety
/// As for [`gather`], for that piece.
unsafe fn gather_piece<X: Index>(
    from: &Gather<'_>,
    indices: &[X],
    to: *mut u8,
    step: usize,
    piece: usize,
    pieces: usize,
) -> bool {
    let (slice, part) = (step / pieces, step % pieces);
    let (place, index) = (slice / indices.len(), indices[slice % indices.len()]);
    let bytes = from.slice * from.size;
    match index.place() {
        Some(index) if index < from.axis.0 => {
            let first = part * piece;
            // SAFETY: the index is within the axis, and the piece within the slice.
            unsafe {
                let at = from.start.offset(from.outer_offset(place) + from.slice_offset(index));
                let len = piece.min(bytes - first);
                copy_run(at.add(first), to.add(slice * bytes + first), len);
            }
            true
        }
        _ => false,
    }
}
