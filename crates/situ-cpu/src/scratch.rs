//! A small buffer of each thread's own, kept from call to call: a row being normalised, columns being summed.
//!
//! It is at most [`MOST_BYTES`] a thread, so it is not counted against a device's memory; larger scratch
//! memory is a kernel's workspace, which is.

use std::cell::Cell;
use std::mem::MaybeUninit;

/// The most that may be asked for.
pub(crate) const MOST_BYTES: usize = 512 << 10;

thread_local! {
    static BUFFER: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// A cache line, for alignment.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [MaybeUninit<u8>; 64]);

/// Calls `f` with a buffer of `len` elements of this thread's own, with contents undefined.
///
/// # Panics
/// If that is more than [`MOST_BYTES`]; a caller asks for sizes it has bounded.
pub(crate) fn with_scratch<T: Copy, R>(len: usize, f: impl FnOnce(&mut [MaybeUninit<T>]) -> R) -> R {
    let bytes = len * size_of::<T>();
    assert!(bytes <= MOST_BYTES && align_of::<T>() <= align_of::<Line>(), "scratch of {bytes} bytes");
    // Taken out while it is used: a nested call gets a buffer of its own, and the larger of the two is kept.
    let mut buffer = BUFFER.take();
    let lines = bytes.div_ceil(size_of::<Line>());
    if buffer.len() < lines {
        buffer.resize(lines, Line([MaybeUninit::uninit(); 64]));
    }
    // SAFETY: the buffer has at least `bytes` bytes, aligned for any element, and may be uninitialised.
    let result = f(unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), len) });
    BUFFER.with(|held| {
        let other = held.take();
        held.set(if other.len() > buffer.len() { other } else { buffer });
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_nested_calls_do_not_overlap_and_are_aligned() {
        with_scratch::<u64, _>(100, |outer| {
            outer.fill(MaybeUninit::new(7));
            with_scratch::<u8, _>(5000, |inner| {
                assert!(inner.as_ptr().addr().is_multiple_of(64));
                inner.fill(MaybeUninit::new(255));
            });
            // SAFETY: all were written above.
            assert!(outer.iter().all(|x| unsafe { x.assume_init() } == 7));
        });
        with_scratch::<f32, _>(0, |empty| assert!(empty.is_empty()));
    }
}
