//! Blocks of host memory, straight from the system, on huge pages where they are large enough.
//!
//! Large buffers on small pages cost up to twice the time of memory-bound kernels, so blocks of 2 MiB and
//! more are aligned to huge pages and the kernel is advised to use them.

use situ_device::Block;
use std::ptr::NonNull;

/// The size of a huge page.
const HUGE: usize = 2 << 20;

/// A mapping, unmapped on drop.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping is owned memory; moving or sharing the owner between threads changes nothing about it.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

/// A block of at least `bytes` bytes, aligned to a page at least, zeroed by the system.
pub(crate) fn allocate(bytes: usize) -> Result<Block, String> {
    let mapping = Mapping::new(bytes.max(1))?;
    let start = mapping.start;
    // SAFETY: the mapping is readable and writable for its whole size, and lives as long as the block's
    // handle.
    Ok(unsafe { Block::on_host(start, bytes, Box::new(mapping)) })
}

#[cfg(unix)]
impl Mapping {
    fn new(bytes: usize) -> Result<Mapping, String> {
        let slack = if bytes >= HUGE { HUGE } else { 0 };
        let total = bytes.checked_add(slack).ok_or("more bytes than there are addresses")?;
        // SAFETY: an anonymous private mapping at an address of the system's choice touches no existing
        // memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                total,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(format!("the system refused the memory: {}", std::io::Error::last_os_error()));
        }
        let base = base as usize;
        let start = if slack > 0 { base.next_multiple_of(HUGE) } else { base };
        let end = start + bytes.next_multiple_of(page());
        // SAFETY: what is cut off lies within the mapping just made, outside of what is kept.
        unsafe {
            if start > base {
                libc::munmap(base as *mut _, start - base);
            }
            if base + total > end {
                libc::munmap(end as *mut _, base + total - end);
            }
            #[cfg(target_os = "linux")]
            if slack > 0 {
                // Advice only: where it is refused, small pages do.
                libc::madvise(start as *mut _, bytes, libc::MADV_HUGEPAGE);
            }
        }
        let start = NonNull::new(start as *mut u8).ok_or("the system mapped address 0")?;
        Ok(Mapping { start, bytes: end - start.as_ptr() as usize })
    }
}

#[cfg(unix)]
fn page() -> usize {
    // SAFETY: a query without side effects.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(unix)]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` and nothing uses it once its owner is dropped.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.bytes);
        }
    }
}

#[cfg(not(unix))]
impl Mapping {
    fn layout(bytes: usize) -> Result<std::alloc::Layout, String> {
        std::alloc::Layout::from_size_align(bytes, 4096).map_err(|e| e.to_string())
    }

    fn new(bytes: usize) -> Result<Mapping, String> {
        let layout = Mapping::layout(bytes)?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) });
        Ok(Mapping { start: start.ok_or("the system refused the memory")?, bytes })
    }
}

#[cfg(not(unix))]
impl Drop for Mapping {
    fn drop(&mut self) {
        if let Ok(layout) = Mapping::layout(self.bytes) {
            // SAFETY: allocated with the same layout in `new`.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_block_is_aligned_to_huge_pages_and_writable_to_its_end() {
        for bytes in [1, 4096, HUGE - 1, HUGE, 3 * HUGE + 5] {
            let block = allocate(bytes).unwrap();
            let start = block.host().unwrap();
            assert!(bytes < HUGE || (start.as_ptr() as usize).is_multiple_of(HUGE));
            // SAFETY: within the block.
            unsafe {
                start.add(bytes - 1).write(7);
                assert_eq!(start.add(bytes - 1).read(), 7);
            }
        }
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert!(allocate(usize::MAX).is_err());
        assert!(allocate(isize::MAX as usize / 2).is_err());
    }
}
