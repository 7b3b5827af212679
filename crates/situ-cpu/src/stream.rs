//! What is told to the caches: copies that write past them, for results that would not stay in them anyway, and lines to fetch early.

/// Bytes of a cache line, on nearly every processor.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for a cache line that will be read soon; any address will do. Processors fetch ahead by themselves, but not across pages of
/// 4 KiB, and not while they are busy with the page before.
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

/// Copies `len` bytes from a small buffer in cache to memory, with streaming stores where the processor has them.
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
    use std::arch::x86_64::*;

    /// See [`super::copy_streaming`]. SSE2 suffices: memory, not the width of a store, is the limit.
    ///
    /// # Safety
    /// As for [`super::copy_streaming`].
    #[inline]
    pub(super) unsafe fn copy_streaming(from: *const u8, to: *mut u8, len: usize) {
        let head = to.align_offset(64).min(len);
        // SAFETY: the first `head` bytes are within both buffers.
        unsafe { std::ptr::copy_nonoverlapping(from, to, head) };
        let lines = (len - head) / 64;
        for line in 0..lines {
            // SAFETY: the line is within both buffers, and its destination is a multiple of 64 by the choice of `head`.
            unsafe {
                let from = from.add(head + line * 64).cast::<__m128i>();
                let to = to.add(head + line * 64).cast::<__m128i>();
                let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
                let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
                _mm_stream_si128(to, a);
                _mm_stream_si128(to.add(1), b);
                _mm_stream_si128(to.add(2), c);
                _mm_stream_si128(to.add(3), d);
            }
        }
        let done = head + lines * 64;
        // SAFETY: the last `len - done` bytes are within both buffers.
        unsafe { std::ptr::copy_nonoverlapping(from.add(done), to.add(done), len - done) };
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
