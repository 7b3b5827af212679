//! Copies and fills along one axis: the innermost loops of a part.

use crate::stream;
use std::mem::MaybeUninit;

/// Below this, a call to the library's memcpy costs more than the copy.
const SHORT: usize = 128;

/// Copies `bytes` bytes.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, without overlap.
#[inline(always)]
pub(super) unsafe fn copy_run(from: *const u8, to: *mut u8, bytes: usize) {
    /// Copies the first and the last `size_of::<T>()` bytes, which together are all.
    ///
    /// # Safety
    /// As for [`copy_run`], with `bytes` from one to two sizes of `T`.
    #[inline(always)]
    unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, bytes: usize) {
        let last = bytes - size_of::<T>();
        // SAFETY: both are within the run.
        unsafe {
            let (a, b) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
            to.cast::<T>().write_unaligned(a);
            to.add(last).cast::<T>().write_unaligned(b);
        }
    }
    // SAFETY: every copy below stays within the run.
    unsafe {
        match bytes {
            SHORT.. => std::ptr::copy_nonoverlapping(from, to, bytes),
            32.. => {
                let mut at = 0;
                while at + 32 <= bytes {
                    to.add(at)
                        .cast::<[u64; 4]>()
                        .write_unaligned(from.add(at).cast::<[u64; 4]>().read_unaligned());
                    at += 32;
                }
                let last = bytes - 32;
                to.add(last)
                    .cast::<[u64; 4]>()
                    .write_unaligned(from.add(last).cast::<[u64; 4]>().read_unaligned());
            }
            16.. => ends::<u128>(from, to, bytes),
            8.. => ends::<u64>(from, to, bytes),
            4.. => ends::<u32>(from, to, bytes),
            2.. => ends::<u16>(from, to, bytes),
            1 => to.write(from.read()),
            0 => (),
        }
    }
}

/// [`copy_run`], past the caches if `streaming`; a task that streams must fence when it ends.
///
/// # Safety
/// As for [`copy_run`].
#[inline(always)]
pub(super) unsafe fn copy_run_to(from: *const u8, to: *mut u8, bytes: usize, streaming: bool) {
    // SAFETY: as for this function.
    unsafe {
        if streaming {
            stream::copy_streaming(from, to, bytes);
        } else {
            copy_run(from, to, bytes);
        }
    }
}

/// Writes one unit of `size` bytes, at most a few hundred, `len` times, one after the other.
///
/// # Safety
/// `value` is readable for one unit and `to` writable for `len`; alignment does not matter.
pub(super) unsafe fn fill_run(value: *const u8, size: usize, to: *mut u8, len: usize, streaming: bool) {
    const TILE: usize = 4096;
    /// # Safety
    /// As for [`fill_run`].
    unsafe fn typed<T: Copy>(value: *const u8, to: *mut u8, len: usize) {
        // SAFETY: as for `fill_run`.
        unsafe {
            let value = value.cast::<T>().read_unaligned();
            for i in 0..len {
                to.cast::<T>().add(i).write_unaligned(value);
            }
        }
    }
    // SAFETY: as for this function; the tile holds a whole number of units, so every copy of it begins with
    // the first byte of one.
    unsafe {
        if streaming && len * size > TILE {
            let mut tile = MaybeUninit::<[u64; TILE / 8]>::uninit();
            let tile = tile.as_mut_ptr().cast::<u8>();
            let whole = TILE / size * size;
            fill_run(value, size, tile, TILE / size, false);
            let bytes = len * size;
            let mut at = 0;
            while at < bytes {
                let part = whole.min(bytes - at);
                stream::copy_streaming(tile, to.add(at), part);
                at += part;
            }
            return;
        }
        match size {
            1 => std::ptr::write_bytes(to, value.read(), len),
            2 => typed::<u16>(value, to, len),
            4 => typed::<u32>(value, to, len),
            8 => typed::<u64>(value, to, len),
            16 => typed::<u128>(value, to, len),
            _ => (0..len).for_each(|i| copy_run(value, to.add(i * size), size)),
        }
    }
}

/// Copies `len` units of `size` bytes that are `from_stride` and `to_stride` bytes apart.
///
/// # Safety
/// Every unit is readable and its destination writable, without overlap; alignment does not matter.
#[inline(always)]
pub(super) unsafe fn copy_strided(
    size: usize,
    from: *const u8,
    from_stride: isize,
    to: *mut u8,
    to_stride: isize,
    len: usize,
) {
    /// # Safety
    /// As for [`copy_strided`].
    #[inline(always)]
    unsafe fn typed<T: Copy>(from: *const u8, from_stride: isize, to: *mut u8, to_stride: isize, len: usize) {
        for i in 0..len as isize {
            // SAFETY: as for `copy_strided`.
            unsafe {
                let unit = from.offset(i * from_stride).cast::<T>().read_unaligned();
                to.offset(i * to_stride).cast::<T>().write_unaligned(unit);
            }
        }
    }
    // SAFETY: as for this function.
    unsafe {
        match size {
            1 => typed::<u8>(from, from_stride, to, to_stride, len),
            2 => typed::<u16>(from, from_stride, to, to_stride, len),
            4 => typed::<u32>(from, from_stride, to, to_stride, len),
            8 => typed::<u64>(from, from_stride, to, to_stride, len),
            16 => typed::<u128>(from, from_stride, to, to_stride, len),
            _ => (0..len as isize)
                .for_each(|i| copy_run(from.offset(i * from_stride), to.offset(i * to_stride), size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_any_length_arrives_whole_and_touches_nothing_beyond() {
        let from: Vec<u8> = (0..=255).collect();
        for bytes in 0..=200 {
            for start in [0, 1, 3] {
                let mut to = vec![77u8; 256];
                // SAFETY: 3 + 200 bytes are within both.
                unsafe { copy_run(from.as_ptr().add(start), to.as_mut_ptr().add(start), bytes) };
                assert_eq!(to[start..start + bytes], from[start..start + bytes], "{bytes}");
                assert!(to[..start].iter().chain(&to[start + bytes..]).all(|b| *b == 77), "{bytes}");
            }
        }
    }

    #[test]
    fn a_fill_repeats_whole_units_at_any_alignment_streaming_or_not() {
        let value: Vec<u8> = (1..=60).collect();
        for size in [1, 2, 4, 8, 12, 16, 60] {
            for len in [0, 1, 7, 300, 5000] {
                for (start, streaming) in [(0, false), (1, true), (3, false), (4, true)] {
                    let mut to = vec![77u8; start + len * size + 9];
                    // SAFETY: the vector has room for it.
                    unsafe { fill_run(value.as_ptr(), size, to.as_mut_ptr().add(start), len, streaming) };
                    stream::fence();
                    let (head, rest) = to.split_at(start);
                    let (units, tail) = rest.split_at(len * size);
                    assert!(units.chunks(size).all(|unit| unit == &value[..size]), "{size} × {len}");
                    assert!(head.iter().chain(tail).all(|b| *b == 77));
                }
            }
        }
    }
}
