//! The host: versions, cores, memory, huge pages. On systems that do not tell, the finding says so.

use super::finding::Finding;
use crate::screen::ranges;
use situ::config::{Description, LogicalDevice};
use situ::reason::bytes;
use std::fs::read_to_string;
use std::sync::Arc;

/// Below this much free memory, a first model will not fit.
const LITTLE_MEMORY: usize = 1 << 30;

pub(super) fn versions() -> Finding {
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let found = format!(
        "situ {}, {} {} {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        kernel.trim(),
        std::env::consts::ARCH
    );
    Finding::fine("versions", found)
}

pub(super) fn cpu(description: &Description) -> Vec<Finding> {
    let cores = description.cores.len();
    let found = format!(
        "{}; {cores} cores ({}); {}",
        description.hardware,
        ranges(&description.cores),
        description.features.join(", ")
    );
    let portable = description.features.iter().any(|f| f == "portable");
    let mut findings = vec![match portable && cfg!(target_arch = "x86_64") {
        true => Finding::note(
            "cpu",
            found,
            "no AVX2: results are right, matmul is several times slower; a virtual machine may hide it (CPU type `host`)",
        ),
        false => Finding::fine("cpu", found),
    }];
    let quota = read_to_string("/sys/fs/cgroup/cpu.max").ok().and_then(|text| cpu_quota(&text));
    if let Some(quota) = quota.filter(|&q| q + 0.01 < cores as f64) {
        let threads = quota.ceil().max(1.0);
        findings.push(Finding::note(
            "cpu quota",
            format!("this control group gets the time of {quota:.1} cores, and sees {cores}"),
            format!(
                "more threads than that wait for each other: config::set_intra_op_threads(Some({threads}))"
            ),
        ));
    }
    findings
}

/// A calibration that was found for a device and is not used.
pub(super) fn calibration(device: &LogicalDevice) -> Option<Finding> {
    let ignored = device.ignored_calibration()?;
    let found = format!("{}: {} is not used: {}", device.id(), ignored.file.display(), ignored.why);
    Some(Finding::note("calibration", found, "delete the file, or run `situ calibrate` again"))
}

pub(super) fn memory(cpus: &[Arc<LogicalDevice>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(cpu) = cpus.first() else { return findings };
    let total = cpu.description().memory;
    let limit = cpu.memory_info().limit.map_or("no limit".to_string(), |l| format!("limit {}", bytes(l)));
    let free = read_to_string("/proc/meminfo").ok().and_then(|text| available_bytes(&text));
    let of = total.map_or("unknown".to_string(), bytes);
    findings.push(match free {
        Some(free) if free < LITTLE_MEMORY => Finding::note(
            "memory",
            format!("{of}, only {} free; {limit} for CPU tensors", bytes(free)),
            "end other programs, or lower the limit with config::set_logical_devices so that situ fails before the system does",
        ),
        Some(free) => Finding::fine("memory", format!("{of}, {} free; {limit} for CPU tensors", bytes(free))),
        None => Finding::fine("memory", format!("{of}; {limit} for CPU tensors")),
    });
    let space = read_to_string("/proc/self/limits").ok().and_then(|text| address_space(&text));
    if let Some(space) = space {
        findings.push(Finding::note(
            "address space",
            format!("this process may map {}", bytes(space)),
            "drivers and huge pages need room: ulimit -v unlimited",
        ));
    }
    findings
}

pub(super) fn huge_pages() -> Finding {
    let topic = "huge pages";
    let Ok(text) = read_to_string("/sys/kernel/mm/transparent_hugepage/enabled") else {
        return Finding::fine(topic, "this system does not say; situ asks for them where it can");
    };
    match chosen(&text) {
        Some(mode @ ("always" | "madvise")) => {
            Finding::fine(topic, format!("transparent huge pages: {mode}"))
        }
        mode => Finding::note(
            topic,
            format!("transparent huge pages: {}", mode.unwrap_or("unknown")),
            "large tensors are up to twice as slow in memory-bound ops: \
             echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    }
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

/// Cores' worth of time in `200000 100000`; `None` for `max`.
fn cpu_quota(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (period > 0.0).then_some(quota / period)
}

/// `MemAvailable` of /proc/meminfo.
fn available_bytes(text: &str) -> Option<usize> {
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok()?.checked_mul(1024)
}

/// The soft limit of the address space in /proc/self/limits; `None` where there is none.
fn address_space(text: &str) -> Option<usize> {
    let line = text.lines().find(|l| l.starts_with("Max address space"))?;
    line.trim_start_matches("Max address space").split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read_and_what_it_does_not_say_is_none() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("nothing chosen"), None);
        assert_eq!(cpu_quota("150000 100000\n"), Some(1.5));
        assert_eq!(cpu_quota("max 100000\n"), None);
        assert_eq!(cpu_quota("1 0"), None);
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(available_bytes("MemAvailable: soon kB"), None);
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space  1048576  unlimited  bytes\n";
        assert_eq!(address_space(limits), Some(1 << 20));
        assert_eq!(address_space("Max address space  unlimited  unlimited  bytes"), None);
    }
}
