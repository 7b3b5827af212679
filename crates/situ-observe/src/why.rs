//! One op of a record: why it is where it is, and what else could be.

use crate::pattern::Pattern;
use crate::record::{Copy, Launch, OpRef, Record, full_name};
use situ_core::reason::{bytes, seconds};
use std::fmt::Write;

impl Record {
    /// What there is to say of the ops that a pattern matches: where each runs and why, what other devices
    /// would change, what is copied for it, and how long it took.
    pub fn why(&self, pattern: &Pattern) -> String {
        let mut out = String::new();
        for (number, plan) in self.plans.iter().enumerate() {
            let matching = (0..plan.nodes.len()).filter(|&n| pattern.matches_node(&plan.nodes[n]));
            matching.for_each(|n| out.push_str(&self.why_node(number, n)));
        }
        for (n, op) in self.eager.iter().enumerate() {
            if !pattern.matches(&full_name(&op.name, &op.op)) {
                continue;
            }
            let times = self.measured(|launch| launch == OpRef::Eager { eager: n });
            let asked = if op.requested.is_empty() { "nothing" } else { &op.requested };
            let _ = writeln!(
                out,
                "{} ({}{:?}), by itself, {}× at {}",
                full_name(&op.name, &op.op),
                op.dtype,
                op.shape,
                op.count,
                op.source
            );
            let device = &self.devices[op.device].name;
            let _ = writeln!(
                out,
                "  asked for {asked}, ran on {device}: {} ({})",
                op.reason.text, op.reason.rule
            );
            let _ = writeln!(out, "  {times}");
        }
        out
    }

    fn measured(&self, is_it: impl Fn(OpRef) -> bool) -> String {
        let mine: Vec<&Launch> = self.launches.iter().filter(|l| is_it(l.op)).collect();
        let measured = mine.iter().filter(|l| l.is_measured(&self.devices[l.device]));
        let mut took: Vec<f64> = measured.map(|l| l.end - l.start).collect();
        took.sort_by(f64::total_cmp);
        let ran = mine.len();
        match (took.first(), ran) {
            (None, 0) => "did not run".to_string(),
            (None, _) => format!("ran {ran}×, not timed by itself: Profiler::detailed does that"),
            (Some(least), _) => {
                let as_a_rule = seconds(took[took.len() / 2]);
                format!("ran {ran}×, {as_a_rule} as a rule, {} at least", seconds(*least))
            }
        }
    }

    fn why_node(&self, number: usize, n: usize) -> String {
        let plan = &self.plans[number];
        let node = &plan.nodes[n];
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{} ({}{:?}), in {}, at {}",
            node.full_name(),
            node.dtype,
            node.shape,
            plan.function,
            node.source
        );
        if !node.parts.is_empty() {
            let _ = writeln!(out, "  one kernel for {}", node.full_names().join(", "));
        }
        let asked = if node.requested.is_empty() { "nothing" } else { &node.requested };
        let device = &self.devices[node.device].name;
        let _ = writeln!(
            out,
            "  asked for {asked}, runs on {device}: {} ({})",
            node.reason.text, node.reason.rule
        );
        if node.runs() {
            let mine = |op: OpRef| matches!(op, OpRef::Node { call, node } if node == n && self.calls[call].plan == number);
            let _ = writeln!(out, "  predicted {}, {}", seconds(node.seconds), self.measured(mine));
        }
        for other in &node.alternatives {
            let sign = if other.seconds < 0.0 { "less" } else { "more" };
            let _ = write!(
                out,
                "  on {}: {} {sign} a call",
                self.devices[other.device].name,
                seconds(other.seconds.abs())
            );
            if let Some(over) = &other.over {
                let (missing, where_) = (bytes(over.bytes as usize), &self.devices[over.device].name);
                let _ = write!(out, ", and {missing} too much for {where_}");
            }
            out.push('\n');
        }
        for cost in &node.costs {
            if cost.device != node.device && !node.alternatives.iter().any(|a| a.device == cost.device) {
                let there = &self.devices[cost.device].name;
                let but = if node.requested.is_empty() { "" } else { ", but its scope asks otherwise" };
                let _ = writeln!(out, "  on {there}: {} for the op itself{but}", seconds(cost.seconds));
            }
        }
        for cost in &node.narrow_costs {
            let there = &self.devices[cost.device].name;
            let _ = writeln!(
                out,
                "  on {there}: no kernel for {}; {} with half as wide a type",
                node.dtype,
                seconds(cost.seconds)
            );
        }
        for (c, copy) in
            plan.copies.iter().enumerate().filter(|(_, c)| c.consumer == n || c.producer == Some(n))
        {
            let [from, to] = [copy.from, copy.to].map(|d| &self.devices[d].name);
            let mine = |m: &&Copy| {
                m.planned == Some(c) && m.call.is_some_and(|call| self.calls[call].plan == number)
            };
            let (count, took) =
                self.copies.iter().filter(mine).fold((0u32, 0.0), |(n, s), m| (n + 1, s + m.end - m.start));
            let what = if copy.consumer == n {
                let producer = copy.producer.map(|p| plan.nodes[p].full_name());
                format!("its input {}", producer.unwrap_or_default())
            } else {
                format!("its result, for {}", plan.nodes[copy.consumer].full_name())
            };
            let each = if count > 0 {
                format!(", {} each", seconds(took / f64::from(count)))
            } else {
                String::new()
            };
            let _ = writeln!(out, "  {what} is copied {from} -> {to}: {}{each}", bytes(copy.bytes as usize));
        }
        out
    }
}
