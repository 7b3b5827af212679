//! Binding a thread to a core.

use std::io;

/// Pins the calling thread to one core.
#[cfg(target_os = "linux")]
pub(super) fn pin_to_core(core: usize) -> io::Result<()> {
    let refused = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot pin a thread to core {core}: {error}"))
    };
    if core >= libc::CPU_SETSIZE as usize {
        return Err(refused(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    // SAFETY: an all-zero `cpu_set_t` is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `core` is below CPU_SETSIZE, checked above.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: thread 0 is the caller, and the size is that of the set.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    if result == 0 { Ok(()) } else { Err(refused(io::Error::last_os_error())) }
}

/// Only Linux lets us pin threads; elsewhere a core list is refused rather than quietly ignored.
#[cfg(not(target_os = "linux"))]
pub(super) fn pin_to_core(core: usize) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("cannot pin a thread to core {core}: not on this system"),
    ))
}
