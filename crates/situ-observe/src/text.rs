//! Records as tables for people.

use crate::record::{Copy, Record, full_name};
use crate::table::Table;
use situ_core::reason::{bytes, seconds};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Rows of a table that are shown; the rest is counted.
const ROWS: usize = 12;
const OPS: &str = "Ops, by time";

impl Record {
    /// Everything worth reading, as text: devices, calls, ops, copies, what fell back or was compiled again,
    /// and what to do.
    pub fn tables(&self) -> String {
        let mut out = String::new();
        let title = if self.title.is_empty() { "A record" } else { &self.title };
        let launches = self.launches.len();
        let _ = writeln!(
            out,
            "{title}: {}, {} calls of functions, {launches} kernels, {} copies",
            seconds(self.seconds),
            self.calls.len(),
            self.copies.len()
        );
        if self.dropped > 0 {
            let _ = writeln!(out, "{} older events had no room and are not in it", self.dropped);
        }
        for (heading, table) in [
            ("Devices", self.device_table()),
            ("Functions: predicted and measured", self.call_table()),
            (OPS, self.op_table()),
            ("Copies, by bytes", self.copy_table()),
            ("Fallbacks", self.fallback_table()),
            ("Compiled again", self.retrace_table()),
            ("Placed anew", self.replacement_table()),
        ] {
            if !table.rows.is_empty() {
                let _ = write!(out, "\n{heading}\n{table}");
            }
            if heading == OPS && !self.passes.is_empty() {
                let _ = writeln!(
                    out,
                    "GPUs were asked for the times of passes: ops have the part of theirs that was expected. Profiler::detailed times each."
                );
            }
        }
        let found = self.finding_lines();
        if !found.is_empty() {
            let _ = write!(out, "\nWhat to do\n{found}");
        }
        out
    }

    fn device_table(&self) -> Table {
        let mut table =
            Table::new(&["device", "busy", "of the time", "kernels", "in", "out", "memory", "limit"]);
        let busy = self.busy();
        for (n, device) in self.devices.iter().enumerate() {
            let kernels = self.launches.iter().filter(|l| l.device == n).count();
            let moved = |pick: fn(&Copy) -> usize| -> u64 {
                self.copies.iter().filter(|c| pick(c) == n).map(|c| c.bytes).sum()
            };
            let peak = self.memory.iter().filter(|s| s.device == n).map(|s| s.in_use).max().unwrap_or(0);
            table.row([
                device.name.clone(),
                seconds(busy[n]),
                format!("{:.0}%", 100.0 * busy[n] / self.seconds.max(f64::MIN_POSITIVE)),
                kernels.to_string(),
                bytes(moved(|c| c.to) as usize),
                bytes(moved(|c| c.from) as usize),
                bytes(peak as usize),
                device.memory_limit.map_or_else(|| "-".to_string(), |limit| bytes(limit as usize)),
            ]);
        }
        table
    }

    fn call_table(&self) -> Table {
        let mut table =
            Table::new(&["function", "calls", "predicted", "median", "least", "best possible", "placed by"]);
        let lengths = self.call_lengths();
        for (n, plan) in self.plans.iter().enumerate() {
            let of_plan = (0..lengths.len()).filter(|&c| self.calls[c].plan == n);
            let mut took: Vec<f64> = of_plan.map(|c| lengths[c]).collect();
            took.sort_by(f64::total_cmp);
            let Some(least) = took.first() else { continue };
            table.row([
                format!("{}({})", plan.function, plan.signature),
                took.len().to_string(),
                seconds(plan.predicted),
                seconds(took[took.len() / 2]),
                seconds(*least),
                seconds(plan.lower_bound),
                plan.algorithm.clone(),
            ]);
        }
        table
    }

    fn op_table(&self) -> Table {
        let mut table = Table::new(&["op", "device", "times", "together", "each", "predicted", "line"]);
        let predicted = self.predicted();
        let totals = self.op_totals();
        for total in totals.iter().take(ROWS) {
            let key = (total.name.clone(), total.device, total.source.clone());
            table.row([
                total.name.clone(),
                self.devices[total.device].name.clone(),
                total.count.to_string(),
                seconds(total.seconds),
                seconds(total.seconds / total.count as f64),
                predicted.get(&key).map_or_else(|| "-".to_string(), |s| seconds(*s)),
                total.source.clone(),
            ]);
        }
        table.more = totals.len().saturating_sub(ROWS);
        table
    }

    /// What was predicted of ops in functions, by name, device and line.
    fn predicted(&self) -> HashMap<(String, usize, String), f64> {
        let nodes = self.plans.iter().flat_map(|plan| plan.nodes.iter().filter(|node| node.runs()));
        nodes.map(|node| ((node.full_name(), node.device, node.source.clone()), node.seconds)).collect()
    }

    fn copy_table(&self) -> Table {
        let mut table = Table::new(&["from", "to", "times", "bytes", "time", "for", "line"]);
        // By devices, op and line: how often, how much, how long.
        type Key<'r> = (usize, usize, &'r str, &'r str);
        let mut sums: BTreeMap<Key<'_>, (u64, u64, f64)> = BTreeMap::new();
        for copy in &self.copies {
            let sum = sums.entry((copy.from, copy.to, &copy.name, &copy.source)).or_default();
            *sum = (sum.0 + 1, sum.1 + copy.bytes, sum.2 + copy.end - copy.start);
        }
        let mut list: Vec<_> = sums.into_iter().collect();
        list.sort_by_key(|(_, (_, moved, _))| std::cmp::Reverse(*moved));
        for ((from, to, name, source), (count, moved, took)) in list.iter().take(ROWS) {
            table.row([
                self.devices[*from].name.clone(),
                self.devices[*to].name.clone(),
                count.to_string(),
                bytes(*moved as usize),
                seconds(*took),
                name.to_string(),
                source.to_string(),
            ]);
        }
        table.more = list.len().saturating_sub(ROWS);
        table
    }

    fn fallback_table(&self) -> Table {
        let mut table = Table::new(&["op", "asked for", "ran on", "times", "why", "line"]);
        for fallback in self.fallbacks.iter().take(ROWS) {
            table.row([
                full_name(&fallback.name, &fallback.op),
                fallback.wanted.clone(),
                self.devices[fallback.device].name.clone(),
                fallback.count.to_string(),
                fallback.reason.clone(),
                fallback.source.clone(),
            ]);
        }
        table.more = self.fallbacks.len().saturating_sub(ROWS);
        table
    }

    fn retrace_table(&self) -> Table {
        let mut table = Table::new(&["at", "function", "took", "because"]);
        for retrace in self.retraces.iter().take(ROWS) {
            let (function, cause) = (retrace.function.clone(), retrace.cause.clone());
            table.row([seconds(retrace.time), function, seconds(retrace.seconds), cause]);
        }
        table.more = self.retraces.len().saturating_sub(ROWS);
        table
    }

    fn replacement_table(&self) -> Table {
        let mut table = Table::new(&["at", "function", "before", "after", "because"]);
        for again in self.replacements.iter().take(ROWS) {
            let times = [again.before, again.after].map(seconds);
            let [before, after] = times;
            table.row([seconds(again.time), again.function.clone(), before, after, again.cause.clone()]);
        }
        table.more = self.replacements.len().saturating_sub(ROWS);
        table
    }

    fn finding_lines(&self) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            let total = finding.total();
            let gain =
                if total > 0.0 { format!(" [{} in this record]", seconds(total)) } else { String::new() };
            let _ = writeln!(out, "- {}{gain}", finding.text);
        }
        out
    }
}
