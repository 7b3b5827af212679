//! A graph as text that people read and [`str::parse`] reads back: the format of golden tests.
//!
//! ```text
//! function(%0: f32[32, 784]) captures(%1: f32[784, 128]) variables(%2: f32[128]) {
//!   %3 = matmul(%0, %1) : f32[32, 128] @ /GPU:0  // src/main.rs:12
//!   %4 = bias_add(%3, %2) : f32[32, 128]
//!   return %4
//!   update v0 = %2
//! }
//! ```
//!
//! A node is `%number = op(inputs) {attributes} : types @ request`. The numbers are the nodes' own. A node
//! that stands for an argument, a captured tensor or a variable is named at its table (`_` where no node
//! stands for it). `%3.1` is the second output of node 3. A comment says where the node was called; it is not
//! read back.

use super::{Content, Graph, Node, NodeId, Value};
use crate::ops::{Attribute, Attributes, Op, Program, Step};
use situ_core::{Real, Request, Scalar, TensorType};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Graph {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("function")?;
        block(f, self, 0)?;
        f.write_char('\n')
    }
}

/// What leads a table, the types in it, and the number of a content in it.
type Table<'a> = (&'a str, &'a [TensorType], fn(&Content) -> Option<u32>);

/// The tables, the nodes and the results, with nested blocks further in.
fn block(f: &mut Formatter<'_>, graph: &Graph, depth: usize) -> fmt::Result {
    let tables: [Table<'_>; 3] = [
        ("", graph.inputs(), |c| if let Content::Input(n) = c { Some(*n) } else { None }),
        (" captures", graph.captures(), |c| if let Content::Capture(n) = c { Some(*n) } else { None }),
        (" variables", graph.variables(), |c| if let Content::Variable(n) = c { Some(*n) } else { None }),
    ];
    let mut named = vec![false; graph.nodes().len()];
    for (word, types, number) in tables {
        if !word.is_empty() && types.is_empty() {
            continue;
        }
        write!(f, "{word}(")?;
        for (n, ty) in types.iter().enumerate() {
            f.write_str(if n == 0 { "" } else { ", " })?;
            let stands = |node: &Node| {
                number(&node.content) == Some(n as u32)
                    && node.request == Request::default()
                    && node.inputs.is_empty()
                    && node.types.as_slice() == [*ty]
            };
            match graph.nodes().iter().position(stands) {
                Some(at) => {
                    named[at] = true;
                    write!(f, "%{at}: {ty}")?;
                }
                None => write!(f, "_: {ty}")?,
            }
        }
        f.write_char(')')?;
    }
    f.write_str(" {\n")?;
    for (id, node) in graph.iter().filter(|(id, _)| !named[id.index()]) {
        statement(f, id, node, depth + 1)?;
    }
    let pad = Pad(depth + 1);
    write!(f, "{pad}return")?;
    for (i, value) in graph.outputs().iter().enumerate() {
        write!(f, "{} {value}", if i == 0 { "" } else { "," })?;
    }
    f.write_char('\n')?;
    for (variable, value) in graph.updates() {
        writeln!(f, "{pad}update v{variable} = {value}")?;
    }
    write!(f, "{}}}", Pad(depth))
}

fn statement(f: &mut Formatter<'_>, id: NodeId, node: &Node, depth: usize) -> fmt::Result {
    write!(f, "{}%{} = {}(", Pad(depth), id.0, node.content.name())?;
    match &node.content {
        Content::Input(n) | Content::Capture(n) | Content::Variable(n) => write!(f, "{n})")?,
        Content::Op(op) => {
            values(f, &node.inputs)?;
            attributes(f, &op.attributes(), depth)?;
        }
        Content::Cond(cond) => {
            values(f, &node.inputs)?;
            f.write_str(" then ")?;
            block(f, &cond.then, depth)?;
            f.write_str(" else ")?;
            block(f, &cond.otherwise, depth)?;
        }
        Content::While(repeated) => {
            values(f, &node.inputs)?;
            f.write_str(" while ")?;
            block(f, &repeated.condition, depth)?;
            f.write_str(" do ")?;
            block(f, &repeated.body, depth)?;
        }
    }
    match node.types.as_slice() {
        [one] => write!(f, " : {one}")?,
        several => write!(f, " : ({})", Listed(several))?,
    }
    request(f, &node.request)?;
    comment(f, node)?;
    f.write_char('\n')
}

fn values(f: &mut Formatter<'_>, list: &[Value]) -> fmt::Result {
    write!(f, "{})", Listed(list))
}

fn attributes(f: &mut Formatter<'_>, list: &Attributes, depth: usize) -> fmt::Result {
    for (i, (name, value)) in list.iter().enumerate() {
        write!(f, "{}{name}=", if i == 0 { " {" } else { ", " })?;
        attribute(f, value, depth)?;
    }
    f.write_str(if list.is_empty() { "" } else { "}" })
}

fn attribute(f: &mut Formatter<'_>, value: &Attribute, depth: usize) -> fmt::Result {
    match value {
        Attribute::Flag(set) => write!(f, "{set}"),
        Attribute::Integer(n) => write!(f, "{n}"),
        Attribute::Real(Real(value)) => real(f, *value),
        Attribute::Scalar(value) => scalar(f, *value),
        Attribute::DType(dtype) => write!(f, "{dtype}"),
        Attribute::List(list) => write!(f, "[{}]", Listed(list)),
        Attribute::Program(list) => program(f, list, depth),
        Attribute::Op(op) => call(f, op, "", depth),
    }
}

fn call(f: &mut Formatter<'_>, op: &Op, arguments: &str, depth: usize) -> fmt::Result {
    write!(f, "{}({arguments})", op.name())?;
    attributes(f, &op.attributes(), depth)
}

/// `(f32, f32) { r2 = add(r0, r1) .. return r2 }`: registers are numbered, inputs first.
fn program(f: &mut Formatter<'_>, list: &Program, depth: usize) -> fmt::Result {
    writeln!(f, "({}) {{", Listed(list.inputs()))?;
    let pad = Pad(depth + 1);
    for (i, step) in list.steps().iter().enumerate() {
        write!(f, "{pad}r{} = ", list.inputs().len() + i)?;
        match (step, step.op()) {
            (Step::Constant(value), _) => scalar(f, *value)?,
            (_, Some(op)) => {
                let reads: Vec<String> = step.reads().map(|r| format!("r{}", r.0)).collect();
                call(f, &op, &reads.join(", "), depth + 1)?;
            }
            (_, None) => {}
        }
        f.write_char('\n')?;
    }
    let given: Vec<String> = list.outputs().iter().map(|r| format!("r{}", r.0)).collect();
    write!(f, "{pad}return {}\n{}}}", given.join(", "), Pad(depth))
}

/// The shortest digits that read back to the same float; a NaN that is not Rust's own with its bits.
fn real(f: &mut Formatter<'_>, value: f64) -> fmt::Result {
    if value.is_nan() && value.to_bits() != f64::NAN.to_bits() {
        return write!(f, "NaN({:#x})", value.to_bits());
    }
    write!(f, "{value:?}")
}

fn scalar(f: &mut Formatter<'_>, value: Scalar) -> fmt::Result {
    write!(f, "{}(", value.dtype())?;
    // A NaN that is not the one its name reads back to, with its bits.
    if value.is_nan() && Scalar::parse(value.dtype(), "NaN") != Some(value) {
        write!(f, "NaN({:#x})", value.bits())?;
    } else {
        write!(f, "{value}")?;
    }
    f.write_char(')')
}

/// ` @ /GPU:0 fallback=forbid copies=warn`, of which only what was asked for.
fn request(f: &mut Formatter<'_>, request: &Request) -> fmt::Result {
    if *request == Request::default() {
        return Ok(());
    }
    let spec = format!("{:#}", request.spec);
    write!(f, " @ {}{spec}", if spec.starts_with('/') { "" } else { "/" })?;
    if let Some(policy) = request.fallback {
        write!(f, " fallback={policy}")?;
    }
    if let Some(policy) = request.copies {
        write!(f, " copies={policy}")?;
    }
    Ok(())
}

fn comment(f: &mut Formatter<'_>, node: &Node) -> fmt::Result {
    let at = |source: super::Source| match source.0 {
        // A line break in a file's name would end the comment.
        Some(_) => source.to_string().replace(char::is_control, "?"),
        None => String::new(),
    };
    match &node.parts.0 {
        Some(parts) => {
            let part = |p: &super::Part| format!("{} {}", p.op, at(p.source)).trim_end().to_string();
            write!(f, "  // {}", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        None if node.source.0.is_some() => write!(f, "  // {}", at(node.source)),
        None => Ok(()),
    }
}

/// Two spaces for each level.
#[derive(Clone, Copy)]
struct Pad(usize);
impl Display for Pad {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (0..self.0).try_for_each(|_| f.write_str("  "))
    }
}

/// Separated by commas.
struct Listed<'a, T>(&'a [T]);
impl<T: Display> Display for Listed<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
