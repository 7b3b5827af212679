//! Which kernels a device is known to lack.
//!
//! The lists are files beside this crate's sources, one signature a line, or a dtype that no kernel takes. A
//! test compares them with what a run finds: a kernel that vanishes fails it, and so does a new one that
//! nobody took off the list.

use situ_core::DeviceKind;
use situ_device::Description;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The signatures for which a kind of device is known to have no kernel. A line `* f64` stands for those of
/// all ops of the suite on f64 alone.
pub fn expected(kind: DeviceKind) -> BTreeSet<String> {
    signatures(match kind {
        DeviceKind::Cpu => include_str!("../../absent/cpu.txt"),
        DeviceKind::Gpu => include_str!("../../absent/gpu.txt"),
    })
}

/// Those for which a device of this description has none.
fn expected_of(description: &Description) -> BTreeSet<String> {
    let mut expected = expected(description.kind);
    let computes = description.features.iter().any(|feature| feature == "64-bit integers");
    if description.kind == DeviceKind::Gpu && !computes {
        expected.extend(signatures(include_str!("../../absent/gpu-without-int64.txt")));
    }
    expected
}

fn signatures(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.flat_map(standing_for).collect()
}

fn standing_for(line: &str) -> Vec<String> {
    static SIGNATURES: OnceLock<BTreeSet<String>> = OnceLock::new();
    let Some(dtype) = line.strip_prefix("* ") else { return vec![line.to_string()] };
    let all = SIGNATURES.get_or_init(|| super::all().iter().map(super::Case::signature).collect());
    let is_of = |signature: &&String| signature.split_once(' ').is_some_and(|(_, rest)| rest == dtype);
    all.iter().filter(is_of).cloned().collect()
}

/// What differs between the list and a run; `None` where nothing does.
pub fn difference(description: &Description, found: &BTreeSet<String>) -> Option<String> {
    let (kind, expected) = (description.kind, expected_of(description));
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
