//! New values of variables that differ from the old ones in some rows: these are written over at the end of a
//! call, instead of a new value being made of all of it. And what is told of it: which variables are changed
//! so, and why others whose gradient is of a lookup are not.

use situ_ir::ops::{Update, UpdateKind};
use situ_ir::passes::{Note, Report};
use situ_ir::{Content, Graph, Node, NodeId, Op, Value};

/// The variables of a graph that get new rows by its end, with the nodes that say which: each puts rows into
/// what the variable was when the call began, and nobody but the variable reads the result.
pub(super) fn written_over(graph: &Graph) -> Vec<(u32, NodeId)> {
    let updates = graph.updates().iter();
    let over = updates.filter(|(variable, value)| why_copied(graph, *variable, *value) == Some(None));
    over.map(|(variable, value)| (*variable, value.node)).collect()
}

/// For a new value that is rows put into another: why all of that is copied, or nothing if it is not.
fn why_copied(graph: &Graph, variable: u32, value: Value) -> Option<Option<&'static str>> {
    let node = graph.node(value.node);
    let Content::Op(Op::PutRows(_)) = &node.content else { return None };
    if !matches!(graph.node(node.inputs[0].node).content, Content::Variable(n) if n == variable) {
        return Some(Some("the rows go into a value that the call has made, so all of it is copied"));
    }
    let reads = graph.nodes().iter().flat_map(|node| &node.inputs).chain(graph.outputs());
    let updates = graph.updates().iter().map(|(_, value)| value);
    let is_shared = reads.chain(updates).filter(|read| read.node == value.node).count() > 1;
    Some(is_shared.then_some("the call reads the new value too, so all of it is copied"))
}

/// What became of gradients that are rows, if a graph has any.
pub(super) fn report(graph: &Graph) -> Option<Report> {
    let mut report = Report::new("rows");
    for &(variable, value) in graph.updates() {
        let node = graph.node(value.node);
        match why_copied(graph, variable, value) {
            Some(None) => report.did.push(note(value.node, node, "rows are written over".into())),
            Some(Some(why)) => report.nearly.push(note(value.node, node, why.into())),
            None => {
                // Its first output is the weight, the others its state.
                if let Content::Op(Op::Update(update)) = &node.content
                    && value.slot() == 0
                    && let Some(why) = why_dense(graph, update, node.inputs[1])
                {
                    report.nearly.push(note(value.node, node, why));
                }
            }
        }
    }
    (!report.did.is_empty() || !report.nearly.is_empty()).then_some(report)
}

fn note(id: NodeId, node: &Node, text: String) -> Note {
    Note { node: id, within: String::new(), op: node.content.name(), source: node.source, text }
}

/// Why a step changes every row by a gradient of which some part is rows; `None` if no part is.
fn why_dense(graph: &Graph, update: &Update, gradient: Value) -> Option<String> {
    let ty = graph.type_of(gradient);
    let mut at = gradient;
    loop {
        let node = graph.node(at.node);
        match &node.content {
            Content::Op(Op::ScatterAdd(op)) if op.axis == 0 => {
                let base = graph.node(node.inputs[0].node);
                return match &base.content {
                    Content::Op(Op::Fill(_)) => Some(why_every_row(update).to_string()),
                    Content::Op(Op::ScatterAdd(_)) => why_dense(graph, update, node.inputs[0]),
                    other => Some(format!(
                        "the gradient of a lookup is added to that of {}, which is of every row",
                        other.name()
                    )),
                };
            }
            Content::Cond(cond) => {
                let ends_in_rows = |block: &Graph| {
                    let end = block.outputs().get(at.slot()).map(|end| &block.node(end.node).content);
                    matches!(end, Some(Content::Op(Op::ScatterAdd(_))))
                };
                let either = [&cond.then, &cond.otherwise].into_iter().any(ends_in_rows);
                return either.then(|| "the lookup is in a condition, which gives whole tensors".into());
            }
            // Clipping, and what else is done to each element.
            Content::Op(_) => {
                let mut large = node.inputs.iter().filter(|input| graph.type_of(**input) == ty);
                at = *large.next().filter(|_| large.clone().next().is_none())?;
            }
            _ => return None,
        }
    }
}

fn why_every_row(update: &Update) -> &'static str {
    match update.kind {
        _ if update.decay.0 != 0.0 => "weight decay is of every row, not only of those that were looked up",
        UpdateKind::Sgd { momentum, .. } if momentum.0 != 0.0 => {
            "momentum moves every row, not only those that were looked up"
        }
        UpdateKind::Adam { .. } => {
            "the means of Adam move every row, not only those that were looked up: lazy Adam leaves the others"
        }
        UpdateKind::RmsProp { .. } => {
            "the mean of squares is of every row, not only of those that were looked up"
        }
        UpdateKind::Sgd { .. } | UpdateKind::Adagrad { .. } => {
            "as many rows are looked up as half of the table has, so that to change all takes no longer"
        }
    }
}
