//! Text back to graphs: the format of `graph::text`, strictly.
//!
//! Promises: whatever the text, the answer is a graph that passes [`Graph::verify`], or an error with line
//! and column; never a panic.

mod attribute;
mod cursor;

use super::{Cond, Content, Graph, Node, NodeId, Parts, Source, Value, While};
use crate::ops::{Op, Outputs};
use cursor::Cursor;
use situ_core::{DType, Error, Policy, Request, Result, Shape, TensorType};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::str::FromStr;

impl FromStr for Graph {
    type Err = Error;

    fn from_str(text: &str) -> Result<Graph> {
        let mut at = Cursor::new(text);
        at.word("function")?;
        let graph = block(&mut at)?;
        at.end()?;
        graph.verify()?;
        Ok(graph)
    }
}

type Named = fn(u32) -> Content;

/// The nodes so far, by their number.
#[derive(Default)]
struct Nodes {
    by_number: BTreeMap<u32, Node>,
}

impl Nodes {
    fn add(&mut self, at: &Cursor<'_>, place: usize, number: u32, node: Node) -> Result<()> {
        match self.by_number.insert(number, node) {
            None => Ok(()),
            Some(_) => {
                Err(at.error(place, format!("%{number} is made twice"), "give each node its own number"))
            }
        }
    }

    /// The type of a value that must be made before node `before`.
    fn type_of(&self, at: &Cursor<'_>, place: usize, value: Value, before: u32) -> Result<TensorType> {
        let made = self.by_number.get(&value.node.0).filter(|_| value.node.0 < before);
        match made.and_then(|node| node.types.get(value.slot())) {
            Some(ty) => Ok(*ty),
            None => Err(at.error(
                place,
                format!("{value} is not made before it is read"),
                "name a value of a node with a smaller number",
            )),
        }
    }
}

/// `(inputs) captures(..) variables(..) { statements }`
fn block(at: &mut Cursor<'_>) -> Result<Graph> {
    at.enter()?;
    let start = at.place();
    let mut graph = Graph::default();
    let mut nodes = Nodes::default();
    graph.inputs = table(at, &mut nodes, Content::Input)?;
    if at.take_word("captures") {
        graph.captures = table(at, &mut nodes, Content::Capture)?;
    }
    if at.take_word("variables") {
        graph.variables = table(at, &mut nodes, Content::Variable)?;
    }
    at.expect("{")?;
    while at.peek("%") {
        statement(at, &graph, &mut nodes)?;
    }
    at.word("return")?;
    let end = nodes.by_number.keys().next_back().map_or(0, |last| last.saturating_add(1));
    if at.peek("%") {
        graph.outputs = at.list(|at| result(at, &nodes, end))?;
    }
    while at.take_word("update") {
        at.expect("v")?;
        let variable = at.number()?;
        at.expect("=")?;
        graph.updates.push((variable, result(at, &nodes, end)?));
    }
    at.expect("}")?;
    if end as usize != nodes.by_number.len() {
        let free = (0..end).find(|n| !nodes.by_number.contains_key(n)).unwrap_or_default();
        return Err(at.error(
            start,
            format!("there is no node %{free}"),
            "number the nodes from 0 on, without gaps",
        ));
    }
    graph.nodes = nodes.by_number.into_values().collect();
    at.leave();
    Ok(graph)
}

fn result(at: &mut Cursor<'_>, nodes: &Nodes, end: u32) -> Result<Value> {
    let place = at.place();
    let value = value(at)?;
    nodes.type_of(at, place, value, end)?;
    Ok(value)
}

/// `(%0: f32[3], _: bool[])`: the types, and the nodes that stand for them.
fn table(at: &mut Cursor<'_>, nodes: &mut Nodes, named: Named) -> Result<Vec<TensorType>> {
    at.expect("(")?;
    let mut types = Vec::new();
    if !at.take(")") {
        types = at.list(|at| {
            let place = at.place();
            let number = if at.take("_") {
                None
            } else {
                at.expect("%")?;
                Some(at.number()?)
            };
            at.expect(":")?;
            let ty = tensor_type(at)?;
            Ok((place, number, ty))
        })?;
        at.expect(")")?;
    }
    let mut table = Vec::new();
    for (n, (place, number, ty)) in types.into_iter().enumerate() {
        table.push(ty);
        if let Some(number) = number {
            let content = named(n as u32);
            nodes.add(at, place, number, node(content, &[], Outputs::from_buf([ty]), Request::default()))?;
        }
    }
    Ok(table)
}

fn node(content: Content, inputs: &[Value], types: Outputs, request: Request) -> Node {
    Node {
        content,
        inputs: inputs.iter().copied().collect(),
        types,
        request,
        source: Source::default(),
        parts: Parts::default(),
    }
}

/// `%3 = op(%1, %2) {attributes} : type @ request`
fn statement(at: &mut Cursor<'_>, graph: &Graph, nodes: &mut Nodes) -> Result<()> {
    let start = at.place();
    at.expect("%")?;
    let number: u32 = at.number()?;
    if number == u32::MAX {
        return Err(at.error(start, "the number of the node is too large", "number the nodes from 0 on"));
    }
    at.expect("=")?;
    let place = at.place();
    let name = at.name()?;
    at.expect("(")?;
    let given = match name {
        "input" => Some((Content::Input as Named, &graph.inputs)),
        "capture" => Some((Content::Capture as Named, &graph.captures)),
        "variable" => Some((Content::Variable as Named, &graph.variables)),
        _ => None,
    };
    let (content, inputs, inferred) = if let Some((named, table)) = given {
        let n: u32 = at.number()?;
        at.expect(")")?;
        let Some(ty) = table.get(n as usize) else {
            let why = format!("there is no {name} {n}");
            return Err(at.error(place, why, "name one that the head of the block lists"));
        };
        (named(n), Vec::new(), Outputs::from_buf([*ty]))
    } else {
        let inputs_place = at.place();
        let inputs = if at.peek(")") { Vec::new() } else { at.list(value)? };
        at.expect(")")?;
        let types = inputs
            .iter()
            .map(|v| nodes.type_of(at, inputs_place, *v, number))
            .collect::<Result<Vec<TensorType>>>()?;
        let (content, outputs) = operation(at, place, name, &types)?;
        (content, inputs, outputs)
    };
    if at.take(":") {
        let place = at.place();
        let said = types(at)?;
        if said != inferred {
            let why = format!("{name} gives {inferred:?} here, not {said:?}");
            return Err(at.error(place, why, "correct the type, or leave it out"));
        }
    }
    let request = request(at)?;
    nodes.add(at, start, number, node(content, &inputs, inferred, request))
}

/// What comes after the inputs, and the types that it gives.
fn operation(
    at: &mut Cursor<'_>,
    place: usize,
    name: &str,
    types: &[TensorType],
) -> Result<(Content, Outputs)> {
    match name {
        "cond" => {
            at.word("then")?;
            let then = block(at)?;
            at.word("else")?;
            let otherwise = block(at)?;
            let outputs = then.gives().into_iter().collect();
            Ok((Content::Cond(Box::new(Cond { then, otherwise })), outputs))
        }
        "while_loop" => {
            at.word("while")?;
            let condition = block(at)?;
            at.word("do")?;
            let body = block(at)?;
            let outputs = types.iter().copied().collect();
            Ok((Content::While(Box::new(While { condition, body })), outputs))
        }
        _ => {
            let attributes = attribute::attributes(at)?;
            let made = Op::read(name, attributes).and_then(|op| op.infer(types).map(|types| (op, types)));
            match made {
                Ok((op, outputs)) => Ok((Content::Op(op), outputs)),
                Err(error) => Err(at.error(place, error.to_string(), "")),
            }
        }
    }
}

/// `%3`, or `%3.1` for its second output.
fn value(at: &mut Cursor<'_>) -> Result<Value> {
    at.expect("%")?;
    let node = NodeId(at.number()?);
    let output = if at.follows(".") { at.number()? } else { 0 };
    Ok(Value { node, output })
}

/// One type, or several in parentheses.
fn types(at: &mut Cursor<'_>) -> Result<Outputs> {
    if !at.take("(") {
        return Ok(Outputs::from_buf([tensor_type(at)?]));
    }
    let types = if at.peek(")") { SmallVec::new() } else { at.list(tensor_type)?.into_iter().collect() };
    at.expect(")")?;
    Ok(types)
}

/// `f32[3, 4]`
fn tensor_type(at: &mut Cursor<'_>) -> Result<TensorType> {
    let place = at.place();
    let name = at.name()?;
    let Some(dtype) = DType::from_name(name) else {
        let why = format!("there is no dtype {name}");
        return Err(at.error(place, why, "use f32, f64, i32, i64, u8 or bool"));
    };
    at.expect("[")?;
    let dims: Vec<usize> = if at.peek("]") { Vec::new() } else { at.list(Cursor::number)? };
    at.expect("]")?;
    let shape = Shape::new(&dims).map_err(|error| at.error(place, error.to_string(), ""))?;
    Ok(TensorType { dtype, shape })
}

/// `@ /GPU:0 fallback=forbid copies=warn`, where it is asked for.
fn request(at: &mut Cursor<'_>) -> Result<Request> {
    let mut request = Request::default();
    if !at.take("@") {
        return Ok(request);
    }
    let place = at.place();
    request.spec = at.until_space().parse().map_err(|error| at.error(place, format!("{error}"), ""))?;
    if at.take_word("fallback") {
        request.fallback = Some(policy(at)?);
    }
    if at.take_word("copies") {
        request.copies = Some(policy(at)?);
    }
    Ok(request)
}

fn policy(at: &mut Cursor<'_>) -> Result<Policy> {
    at.expect("=")?;
    let place = at.place();
    let name = at.name()?;
    let all = [Policy::Allow, Policy::Warn, Policy::Forbid];
    let found = all.into_iter().find(|policy| policy.to_string() == name);
    found.ok_or_else(|| at.error(place, format!("there is no policy {name}"), "use allow, warn or forbid"))
}
