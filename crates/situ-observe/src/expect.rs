//! Budgets as code: what a part of a program may do, so that a test can hold a placement.

use crate::pattern::Pattern;
use crate::profile::Profiler;
use crate::record::{CopyCause, Record};
use situ_core::reason::bytes;
use situ_core::{DeviceSpec, Error, Result};

/// What is expected of a part of a program: say what, then run it with [`Expectations::during`].
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Function, name_scope, tensor};
/// let f = Function::new(|x| {
///     let _layer = name_scope("dense");
///     x.matmul(x)
/// });
/// let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
/// situ_observe::expect(|e| e.no_fallback().max_bytes_moved(0).on("/CPU:0", "dense/*"))
///     .during(|| f.call(&x))?;
/// let error = situ_observe::expect(|e| e.on("/GPU:7", "dense/*")).during(|| f.call(&x)).unwrap_err();
/// assert!(error.to_string().contains("dense/matmul ran on CPU:0"), "{error}");
/// # Ok(()) }
/// ```
// Inlined, two calls in one function share one default value: rustc 1.95 merges the temporaries
// (rust-lang/rust#155241), and what the one frees the other uses.
#[inline(never)]
pub fn expect(conditions: impl FnOnce(Expectations) -> Expectations) -> Expectations {
    conditions(Expectations::default())
}

/// What is expected; see [`expect`].
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is expected of anything until `during` is called"]
pub struct Expectations {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
enum Condition {
    NoFallback,
    NoRetrace,
    NoCopy,
    MaxCopies(usize),
    MaxBytesMoved(u64),
    MaxMemory(String, u64),
    On(String, Pattern),
}

impl Expectations {
    fn and(mut self, condition: Condition) -> Expectations {
        self.conditions.push(condition);
        self
    }

    /// Every op runs where it is asked to.
    pub fn no_fallback(self) -> Expectations {
        self.and(Condition::NoFallback)
    }

    /// No function is compiled again for other shapes or dtypes, with or without a new trace. (A first time
    /// is none.)
    pub fn no_retrace(self) -> Expectations {
        self.and(Condition::NoRetrace)
    }

    /// No op needs an input that is on another device. Copies that the program asks for, host data and reads
    /// are none.
    pub fn no_implicit_copy(self) -> Expectations {
        self.and(Condition::NoCopy)
    }

    /// At most so many copies between memories, uploads and reads among them.
    pub fn max_copies(self, copies: usize) -> Expectations {
        self.and(Condition::MaxCopies(copies))
    }

    /// At most so many bytes are copied between memories, uploads and reads among them.
    pub fn max_bytes_moved(self, bytes: u64) -> Expectations {
        self.and(Condition::MaxBytesMoved(bytes))
    }

    /// The devices of that name never hold more than so many bytes each.
    pub fn max_memory(self, device: &str, bytes: u64) -> Expectations {
        self.and(Condition::MaxMemory(device.to_string(), bytes))
    }

    /// Every op whose name matches the [`Pattern`] runs on such a device; and there is one.
    pub fn on(self, device: &str, pattern: &str) -> Expectations {
        self.and(Condition::On(device.to_string(), Pattern::new(pattern)))
    }

    /// Runs `body`, and fails with a list of what was not as expected. What other threads do meanwhile does
    /// not count.
    pub fn during<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<T> {
        for condition in &self.conditions {
            if let Condition::On(device, _) | Condition::MaxMemory(device, _) = condition {
                device.parse::<DeviceSpec>()?;
            }
        }
        let profiling = Profiler::new().title("expectations").host_times().this_thread().start();
        let value = body()?;
        let record = profiling.record();
        let violations = self.violations(&record)?;
        if violations.is_empty() { Ok(value) } else { Err(Error::unmet(violations)) }
    }

    /// What of a record is not as expected.
    pub fn violations(&self, record: &Record) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for condition in &self.conditions {
            condition.check(record, &mut all)?;
        }
        if record.dropped > 0 {
            all.push(format!(
                "{} events had no room in the record: expect less of a shorter part",
                record.dropped
            ));
        }
        Ok(all)
    }
}

impl Condition {
    fn check(&self, record: &Record, violations: &mut Vec<String>) -> Result<()> {
        match self {
            Condition::NoFallback => violations.extend(record.fallbacks.iter().map(|f| {
                let (name, device) =
                    (crate::record::full_name(&f.name, &f.op), &record.devices[f.device].name);
                format!("{name} fell back to {device}, {}×: {} ({})", f.count, f.reason, f.source)
            })),
            Condition::NoRetrace => violations.extend(
                record.retraces.iter().map(|r| format!("{} was compiled again: {}", r.function, r.cause)),
            ),
            Condition::NoCopy => {
                let implicit = record.copies.iter().filter(|c| c.cause == CopyCause::Implicit);
                violations.extend(implicit.map(|copy| described(record, copy)));
            }
            Condition::MaxCopies(most) => {
                if record.copies.len() > *most {
                    violations.push(format!(
                        "{} copies, at most {most} expected{}",
                        record.copies.len(),
                        worst(record)
                    ));
                }
            }
            Condition::MaxBytesMoved(most) => {
                let (moved, _) = record.bytes_moved();
                if moved > *most {
                    let [moved, most] = [moved, *most].map(|n| bytes(n as usize));
                    violations.push(format!("{moved} were moved, at most {most} expected{}", worst(record)));
                }
            }
            Condition::MaxMemory(device, most) => {
                let meant = meant(record, device)?;
                for (n, device) in record.devices.iter().enumerate().filter(|(n, _)| meant.contains(n)) {
                    let peak = record.memory.iter().filter(|s| s.device == n).map(|s| s.in_use).max();
                    if let Some(peak) = peak.filter(|peak| peak > most) {
                        let [peak, most] = [peak, *most].map(|n| bytes(n as usize));
                        violations.push(format!("{} held {peak}, at most {most} expected", device.name));
                    }
                }
            }
            Condition::On(device, pattern) => on(record, device, pattern, violations)?,
        }
        Ok(())
    }
}

fn on(record: &Record, device: &str, pattern: &Pattern, violations: &mut Vec<String>) -> Result<()> {
    let meant = meant(record, device)?;
    let mut found = false;
    let mut seen: Vec<(usize, usize)> = Vec::new();
    let mut elsewhere = |name: String, on: usize, reason: &str, source: &str| {
        let there = &record.devices[on].name;
        violations.push(format!("{name} ran on {there}, expected on {device}: {reason} ({source})"));
    };
    for call in &record.calls {
        for (n, node) in record.plans[call.plan].nodes.iter().enumerate().filter(|(_, node)| node.runs()) {
            if !pattern.matches_node(node) {
                continue;
            }
            found = true;
            if !meant.contains(&node.device) && !seen.contains(&(call.plan, n)) {
                seen.push((call.plan, n));
                let name = node.full_names().into_iter().find(|name| pattern.matches(name));
                let name = name.unwrap_or_else(|| node.full_name());
                elsewhere(name, node.device, &node.reason.text, &node.source);
            }
        }
    }
    for op in &record.eager {
        let name = crate::record::full_name(&op.name, &op.op);
        if pattern.matches(&name) {
            found = true;
            if !meant.contains(&op.device) {
                elsewhere(name, op.device, &op.reason.text, &op.source);
            }
        }
    }
    if !found {
        let names = record.op_names();
        let some = names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
        let text = if names.is_empty() { "no op ran".to_string() } else { format!("the ops were {some}") };
        violations.push(format!("no op matches {}: {text}", pattern.as_str()));
    }
    Ok(())
}

/// The devices of a record that a name means.
fn meant(record: &Record, name: &str) -> Result<Vec<usize>> {
    let asked: DeviceSpec = name.parse()?;
    let is_meant = |device: &str| {
        let Ok(device) = device.parse::<DeviceSpec>() else { return false };
        (asked.kind.is_none() || asked.kind == device.kind)
            && (asked.index.is_none() || asked.index == device.index)
    };
    Ok((0..record.devices.len()).filter(|&n| is_meant(&record.devices[n].name)).collect())
}

fn described(record: &Record, copy: &crate::record::Copy) -> String {
    let [from, to] = [copy.from, copy.to].map(|d| &record.devices[d].name);
    format!(
        "{} were copied from {from} to {to} for {} ({})",
        bytes(copy.bytes as usize),
        copy.name,
        copy.source
    )
}

fn worst(record: &Record) -> String {
    let worst = record.copies.iter().max_by_key(|copy| copy.bytes);
    worst.map_or_else(String::new, |copy| format!("; the largest: {}", described(record, copy)))
}
