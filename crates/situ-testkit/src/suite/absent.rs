//! Which kernels a device is known to lack.
//!
//! The lists are files beside this crate's sources, one signature a line. A test compares them with what a run finds:
//! a kernel that vanishes fails it, and so does a new one that nobody took off the list.

use situ_core::DeviceKind;
use std::collections::BTreeSet;

/// The signatures for which a kind of device is known to have no kernel.
pub fn expected(kind: DeviceKind) -> BTreeSet<String> {
    let text = match kind {
        DeviceKind::Cpu => include_str!("../../absent/cpu.txt"),
        DeviceKind::Gpu => include_str!("../../absent/gpu.txt"),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_string).collect()
}

/// What differs between the list and a run; `None` where nothing does.
pub fn difference(kind: DeviceKind, found: &BTreeSet<String>) -> Option<String> {
    let expected = expected(kind);
    let vanished: Vec<&str> = found.difference(&expected).map(String::as_str).collect();
    let arrived: Vec<&str> = expected.difference(found).map(String::as_str).collect();
    if vanished.is_empty() && arrived.is_empty() {
        return None;
    }
    Some(format!(
        "kernels that {kind} should have and has not:\n  {}\nkernels that {kind} has and the list says it lacks:\n  {}",
        vanished.join("\n  "),
        arrived.join("\n  ")
    ))
}
