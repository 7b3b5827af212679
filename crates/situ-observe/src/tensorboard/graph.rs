//! The plans of a record as one TensorFlow graph, each op with its device.

use super::message::Message;
use crate::record::{Node, NodeKind, PlanRecord, Record};
use std::collections::HashSet;

/// `/job:localhost/replica:0/task:0/device:GPU:0`, which TensorBoard colours by.
pub(super) fn device(record: &Record, device: usize) -> String {
    format!("/job:localhost/replica:0/task:0/device:{}", record.devices[device].name)
}

/// A function's name as the outermost part of its nodes' names; plans of one function are numbered.
pub(super) fn function(record: &Record, plan: usize) -> String {
    let name = |plan: &PlanRecord| clean(if plan.function.is_empty() { "function" } else { &plan.function });
    let own = name(&record.plans[plan]);
    match record.plans[..plan].iter().filter(|p| name(p) == own).count() {
        0 => own,
        before => format!("{own}_{before}"),
    }
}

/// A name with no sign that TensorFlow has none of: a slash would be a group.
pub(super) fn clean(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let text: String = text.chars().map(allowed).collect();
    if text.starts_with(|c: char| c.is_ascii_alphanumeric()) { text } else { format!("n{text}") }
}

/// The names of a plan's nodes, each its own.
pub(super) fn names(record: &Record, plan: usize) -> Vec<String> {
    let mut taken = HashSet::new();
    let outer = function(record, plan);
    let name = |node: &Node| {
        let parts = node.name.split('/').filter(|part| !part.is_empty()).chain([node.op.as_str()]);
        let whole = std::iter::once(outer.clone()).chain(parts.map(clean)).collect::<Vec<_>>().join("/");
        let numbered = (1..).map(|n| format!("{whole}_{n}"));
        let free = std::iter::once(whole.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
        free.unwrap_or(whole)
    };
    record.plans[plan].nodes.iter().map(name).collect()
}

/// A GraphDef of all plans.
pub(super) fn of(record: &Record) -> Vec<u8> {
    let mut graph = Message::default();
    for (number, plan) in record.plans.iter().enumerate() {
        let names = names(record, number);
        for (node, name) in plan.nodes.iter().zip(&names) {
            graph.message(1, |out| {
                out.text(1, name);
                out.text(2, &operation(node));
                node.inputs.iter().for_each(|input| out.text(3, &names[input.node]));
                out.text(4, &device(record, node.device));
                attribute(out, "_output_shapes", |value| {
                    value.message(1, |list| list.message(7, |shape| shape_to(shape, &node.shape)));
                });
                for (key, text) in [
                    ("reason", node.reason.text.as_str()),
                    ("rule", node.reason.rule.name()),
                    ("requested", &node.requested),
                    ("line", &node.source),
                ] {
                    if !text.is_empty() {
                        attribute(out, key, |value| value.text(2, text));
                    }
                }
            });
        }
    }
    graph.message(4, |versions| versions.number(1, 1087));
    graph.0
}

/// A TensorShapeProto.
pub(super) fn shape_to(out: &mut Message, shape: &[usize]) {
    for size in shape {
        out.message(2, |dimension| dimension.number(1, *size as u64));
    }
}

fn attribute(node: &mut Message, key: &str, value: impl FnOnce(&mut Message)) {
    node.message(5, |entry| {
        entry.text(1, key);
        entry.message(2, value);
    });
}

/// The op's type: TensorBoard draws what it knows as a placeholder or a variable as such.
pub(super) fn operation(node: &Node) -> String {
    match node.kind {
        NodeKind::Input => "Placeholder".to_string(),
        NodeKind::Capture => "Const".to_string(),
        NodeKind::Variable => "VarHandleOp".to_string(),
        NodeKind::Op | NodeKind::View | NodeKind::Cond | NodeKind::While => clean(&node.op),
    }
}
