//! A graph as a drawing, for Graphviz: `dot -Tsvg`.

use super::{Content, Graph, Value};
use situ_core::Request;
use std::fmt::Write;

impl Graph {
    /// The graph in Graphviz' language. Edges carry types; blocks of conditions and loops are clusters; what
    /// asks for a device says so.
    pub fn to_dot(&self) -> String {
        let mut out = String::from("digraph {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];\n");
        draw(&mut out, self, "n", 1);
        out.push_str("}\n");
        out
    }
}

/// Draws the nodes of a graph, each called `prefix` and its number.
fn draw(out: &mut String, graph: &Graph, prefix: &str, depth: usize) {
    let pad = "  ".repeat(depth);
    let mut line = |text: String| {
        out.push_str(&pad);
        out.push_str(&text);
        out.push('\n');
    };
    let mut nested: Vec<(String, &'static str, &Graph)> = Vec::new();
    for (id, node) in graph.iter() {
        let mut label = format!("%{} {}", id.0, node.content.name());
        match &node.content {
            Content::Input(n) | Content::Capture(n) | Content::Variable(n) => {
                let _ = write!(label, " {n}");
            }
            Content::Op(_) => {}
            Content::Cond(cond) => {
                nested.push((format!("{prefix}{}_then_", id.0), "then", &cond.then));
                nested.push((format!("{prefix}{}_else_", id.0), "else", &cond.otherwise));
            }
            Content::While(repeated) => {
                nested.push((format!("{prefix}{}_while_", id.0), "while", &repeated.condition));
                nested.push((format!("{prefix}{}_do_", id.0), "do", &repeated.body));
            }
        }
        for ty in &node.types {
            let _ = write!(label, "\n{ty}");
        }
        if let Some(parts) = &node.parts.0 {
            let names: Vec<&str> = parts.iter().map(|part| part.op).collect();
            let _ = write!(label, "\n{}", names.join(" "));
        }
        if node.request != Request::default() {
            let _ = write!(label, "\n@ {:#}", node.request.spec);
        }
        let style = if node.content.is_source() { ", style=rounded" } else { "" };
        line(format!("{prefix}{} [label={}{style}];", id.0, quoted(&label)));
        for input in &node.inputs {
            line(format!("{prefix}{} -> {prefix}{}{};", input.node.0, id.0, which(*input)));
        }
        for (block, ..) in
            nested.iter().filter(|(block, ..)| block.starts_with(&format!("{prefix}{}_", id.0)))
        {
            line(format!("{prefix}{} -> {block}0 [style=dotted, arrowhead=none];", id.0));
        }
    }
    for (n, value) in graph.outputs().iter().enumerate() {
        line(format!("{prefix}out{n} [label=\"output {n}\", style=rounded];"));
        line(format!("{prefix}{} -> {prefix}out{n}{};", value.node.0, which(*value)));
    }
    for (variable, value) in graph.updates() {
        line(format!("{prefix}update{variable} [label=\"update v{variable}\", style=rounded];"));
        line(format!("{prefix}{} -> {prefix}update{variable}{};", value.node.0, which(*value)));
    }
    for (block, title, graph) in nested {
        out.push_str(&format!("{pad}subgraph cluster_{block} {{\n{pad}  label={};\n", quoted(title)));
        draw(out, graph, &block, depth + 1);
        out.push_str(&format!("{pad}}}\n"));
    }
}

fn which(value: Value) -> String {
    if value.output == 0 { String::new() } else { format!(" [label=\".{}\"]", value.output) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
