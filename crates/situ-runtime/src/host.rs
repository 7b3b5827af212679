//! The host's own memory, for what programs read: as much as they ask for, or an error.
//!
//! Promises: a size that the system does not have is an error, never the end of the process.

use situ_core::{DeviceId, Error, OutOfMemory, Result};
use std::alloc::{Layout, alloc_zeroed};

/// So many zero bytes for what `op` reads; an error where the system has no memory for them.
pub fn zeroed(op: &'static str, bytes: usize) -> Result<Vec<u8>> {
    let Ok(layout) = Layout::array::<u8>(bytes) else { return Err(host_out_of_memory(op, bytes)) };
    if bytes == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the size is not zero. The system gives zeroed pages as they are touched, so nothing is written
    // twice.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(host_out_of_memory(op, bytes));
    }
    // SAFETY: allocated just now by the global allocator, with the layout of a vector of so many bytes, all
    // of which are zero.
    Ok(unsafe { Vec::from_raw_parts(start, bytes, bytes) })
}

/// The error of an `op` that asked the system for so many bytes and did not get them.
#[cold]
pub fn host_out_of_memory(op: &'static str, bytes: usize) -> Error {
    let mut report = OutOfMemory::new(op, bytes);
    report.device = Some(DeviceId::CPU0);
    report.cause = Some("the system has no memory for a copy of that size".into());
    report.remedies = vec!["reading a part of it (slice), or reducing it first"];
    Error::OutOfMemory(Box::new(report))
}
