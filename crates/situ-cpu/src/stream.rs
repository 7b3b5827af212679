//! What is told to the caches: copies that write past them, for results that would not stay in them anyway,
//! and lines to fetch early.

/// Bytes of a cache line, on nearly every processor.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for a cache line that will be read soon; any address will do. Processors fetch ahead by themselves,
/// but not across pages of 4 KiB, and not while they are busy with the page before.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE, and a prefetch neither faults nor changes anything.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// [`prefetch`] of so many bytes.
#[inline(always)]
pub(crate) fn prefetch_all(start: *const u8, bytes: usize) {
    for at in (0..bytes).step_by(LINE_BYTES) {
        prefetch(start.wrapping_add(at));
    }
}

/// Copies `len` bytes from a small buffer in cache to memory, with streaming stores where the processor has
/// them.
///
/// A caller that is done with a whole result must call [`fence`] before other threads may read it.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline]
pub(crate) unsafe fn copy_streaming(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as for this function.
    unsafe {
        x86::copy_streaming(from, to, len);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: as for this function.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, len);
    }
}

/// Orders this thread's streaming stores before whatever it does next.
#[inline]
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::level::Level;
    use std::arch::x86_64::*;

    /// See [`super::copy_streaming`].
    ///
    /// # Safety
    /// As for [`super::copy_streaming`].
    #[inline]
    pub(super) unsafe fn copy_streaming(from: *const u8, to: *mut u8, len: usize) {
        let head = to.align_offset(super::LINE_BYTES).min(len);
        let lines = (len - head) / super::LINE_BYTES;
        let done = head + lines * super::LINE_BYTES;
        // SAFETY: the first `head` bytes, the lines behind them and the rest are within both buffers; the
        // lines' destination is a multiple of a line by the choice of `head`, and the level is one that this
        // processor has.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to, head);
            match Level::detect() {
                Level::Portable => lines_sse2(from.add(head), to.add(head), lines),
                Level::Avx2 | Level::Avx512 => lines_avx2(from.add(head), to.add(head), lines),
            }
            std::ptr::copy_nonoverlapping(from.add(done), to.add(done), len - done);
        }
    }

    /// # Safety
    /// `lines` lines are readable and writable, the latter aligned to a line.
    unsafe fn lines_sse2(from: *const u8, to: *mut u8, lines: usize) {
        for line in 0..lines {
            // SAFETY: the caller's promise.
            unsafe {
                let from = from.add(line * super::LINE_BYTES).cast::<__m128i>();
                let to = to.add(line * super::LINE_BYTES).cast::<__m128i>();
                let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
                let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
                _mm_stream_si128(to, a);
                _mm_stream_si128(to.add(1), b);
                _mm_stream_si128(to.add(2), c);
                _mm_stream_si128(to.add(3), d);
            }
        }
    }

    /// # Safety
    /// As for [`lines_sse2`], on a processor with AVX2.
    #[target_feature(enable = "avx2")]
    unsafe fn lines_avx2(from: *const u8, to: *mut u8, lines: usize) {
        for line in 0..lines {
            // SAFETY: the caller's promise.
            unsafe {
                let from = from.add(line * super::LINE_BYTES).cast::<__m256i>();
                let to = to.add(line * super::LINE_BYTES).cast::<__m256i>();
                let (a, b) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
                _mm256_stream_si256(to, a);
                _mm256_stream_si256(to.add(1), b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_at_any_alignment_and_length_and_none_beyond() {
        let from: Vec<u8> = (0..1000).map(|i| (i % 251) as u8).collect();
        for start in 0..65 {
            for len in [0, 1, 15, 63, 64, 65, 127, 128, 200, 777] {
                let mut to = vec![255u8; 1100];
                // SAFETY: 64 + 777 bytes are within 1000 and 1100.
                unsafe { copy_streaming(from.as_ptr(), to.as_mut_ptr().add(start), len) };
                fence();
                assert_eq!(to[start..start + len], from[..len]);
                assert!(to[..start].iter().chain(&to[start + len..]).all(|b| *b == 255));
            }
        }
    }
}
