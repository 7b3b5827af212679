//! Fusion: groups of elementwise ops become one op that reads its inputs once and writes only what is needed
//! outside.
//!
//! A group keeps the list of the ops it was made of ([`crate::graph::Parts`]), for explanations. Random
//! numbers and integer divisions are never fused. `group` says which ops join.

use super::group::{Groups, Why};
use super::{Context, Report, Supports};
use crate::graph::{Cond, Content, Graph, GraphBuilder, Node, NodeId, Value, While};
use crate::ops::{Fused, Op, Program, Register, Step, Viewing};
use situ_core::{Error, Result, Scalar, Shape, TensorType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Fuses what `supports` would run fused.
pub fn run(graph: &Graph, context: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("fuse");
    let graph = fused(graph, context.supports, context.options.fused_steps, &mut report, "")?;
    Ok((graph, report))
}

/// A group as one op.
pub(super) struct Joined {
    /// The op, or what is wrong with it.
    pub(super) op: Result<Op>,
    pub(super) inputs: Vec<Value>,
    pub(super) outputs: Vec<Value>,
    /// How many of its steps compute.
    pub(super) steps: usize,
}

/// The nodes of a group as one program. Constants of one value become steps; whatever is read outside becomes
/// an output.
pub(super) fn join(
    graph: &Graph,
    members: &[NodeId],
    readers: &[Vec<NodeId>],
    results: &HashSet<Value>,
) -> Result<Joined, Why> {
    let shape = graph.node(members[0]).types[0].shape;
    // A fill that alone has the full shape must stay an input, or the program would not know the shape.
    let program = written(graph, members, readers, results, true);
    if program.shape == Some(shape) || program.joined.op.is_err() {
        // What is wrong with the op (too many tensors, no reader) is for the caller to say.
        return Ok(program.joined);
    }
    let program = written(graph, members, readers, results, false);
    match program.shape {
        Some(found) if found == shape => Ok(program.joined),
        _ => Err(Why::Broken("their inputs do not broadcast to their result".to_string())),
    }
}

struct Written {
    joined: Joined,
    shape: Option<Shape>,
}

/// A program under construction.
struct Writer<'a> {
    graph: &'a Graph,
    registers: HashMap<Value, Register>,
    constants: HashMap<Scalar, Register>,
    steps: Vec<Step>,
    inputs: usize,
}

impl Writer<'_> {
    fn push(&mut self, step: Step) -> Register {
        self.steps.push(step);
        Register((self.inputs + self.steps.len() - 1) as u16)
    }

    fn constant(&mut self, value: Scalar) -> Register {
        if let Some(register) = self.constants.get(&value) {
            return *register;
        }
        let register = self.push(Step::Constant(value));
        self.constants.insert(value, register);
        register
    }

    /// The register of a value that is an input, a constant, or made by a step before.
    fn read(&mut self, value: Value) -> Register {
        match (self.registers.get(&value), fill(self.graph, value)) {
            (Some(register), _) => *register,
            (None, Some(scalar)) => self.constant(scalar),
            // Unreachable by construction; a register that is not made yet is refused by `Program::new`.
            (None, None) => Register(u16::MAX),
        }
    }

    fn node(&mut self, id: NodeId, node: &Node) {
        let reads: Vec<Register> = node.inputs.iter().map(|v| self.read(*v)).collect();
        let Content::Op(op) = &node.content else {
            return;
        };
        if let Some(program) = op.program() {
            return self.program(id, program, &reads);
        }
        // An op that is no step is refused by `Program::new`, for want of a register that its readers read.
        let Some(step) = op.step(&reads) else { return };
        let made = self.push(step);
        self.registers.insert(Value::of(id), made);
    }

    /// The steps of a program that was fused before.
    fn program(&mut self, id: NodeId, program: &Program, reads: &[Register]) {
        let mut now: Vec<Register> = reads.to_vec();
        for step in program.steps() {
            now.push(match step.at(|r| now[r.index()]) {
                Step::Constant(value) => self.constant(value),
                step => self.push(step),
            });
        }
        for (n, register) in program.outputs().iter().enumerate() {
            self.registers.insert(Value::nth(id, n), now[register.index()]);
        }
    }
}

/// The element that fills a value, if it is made of one.
fn fill(graph: &Graph, value: Value) -> Option<Scalar> {
    match &graph.node(value.node).content {
        Content::Op(op) if op.viewing() != Viewing::Never => fill(graph, graph.node(value.node).inputs[0]),
        Content::Op(op) => op.constant(),
        _ => None,
    }
}

fn written(
    graph: &Graph,
    members: &[NodeId],
    readers: &[Vec<NodeId>],
    results: &HashSet<Value>,
    constants: bool,
) -> Written {
    let inside: HashSet<NodeId> = members.iter().copied().collect();
    let mut inputs: Vec<Value> = Vec::new();
    for value in members.iter().flat_map(|id| graph.node(*id).inputs.iter().copied()) {
        let is_constant = constants && fill(graph, value).is_some();
        if !inside.contains(&value.node) && !is_constant && !inputs.contains(&value) {
            inputs.push(value);
        }
    }
    let registers = inputs.iter().enumerate().map(|(n, v)| (*v, Register(n as u16))).collect();
    let mut writer =
        Writer { graph, registers, constants: HashMap::new(), steps: Vec::new(), inputs: inputs.len() };
    let mut outputs: Vec<Value> = Vec::new();
    for id in members {
        let node = graph.node(*id);
        writer.node(*id, node);
        for output in 0..node.types.len() {
            let value = Value::nth(*id, output);
            let outside =
                |reader: &&NodeId| !inside.contains(reader) && graph.node(**reader).inputs.contains(&value);
            if results.contains(&value) || readers[id.index()].iter().any(|r| outside(&r)) {
                outputs.push(value);
            }
        }
    }
    let given: Vec<Register> = outputs.iter().map(|v| writer.read(*v)).collect();
    let types: Vec<TensorType> = inputs.iter().map(|v| graph.type_of(*v)).collect();
    let (steps, given) = pruned(writer.steps, given, inputs.len());
    let count = steps.iter().filter(|step| !matches!(step, Step::Constant(_))).count();
    let program = Program::new(types.iter().map(|t| t.dtype).collect(), steps, given);
    let op = program.map(|program| Op::from(Fused { program: Arc::new(program) }));
    let shape = op.as_ref().ok().and_then(|op| op.infer(&types).ok()).map(|types| types[0].shape);
    Written { joined: Joined { op, inputs, outputs, steps: count }, shape }
}

/// The steps that the outputs need, numbered anew.
fn pruned(steps: Vec<Step>, outputs: Vec<Register>, inputs: usize) -> (Vec<Step>, Vec<Register>) {
    let mut needed = vec![false; inputs + steps.len()];
    let mark = |needed: &mut Vec<bool>, r: Register| {
        if let Some(slot) = needed.get_mut(r.index()) {
            *slot = true;
        }
    };
    outputs.iter().for_each(|r| mark(&mut needed, *r));
    for (n, step) in steps.iter().enumerate().rev() {
        if needed[inputs + n] {
            step.reads().for_each(|r| mark(&mut needed, r));
        }
    }
    let mut number: Vec<Register> = (0..inputs).map(|n| Register(n as u16)).collect();
    let mut kept = Vec::new();
    for (n, step) in steps.into_iter().enumerate() {
        number.push(Register((inputs + kept.len()) as u16));
        if needed[inputs + n] {
            kept.push(step.at(|r| number.get(r.index()).copied().unwrap_or(r)));
        }
    }
    let outputs = outputs.into_iter().map(|r| number.get(r.index()).copied().unwrap_or(r)).collect();
    (kept, outputs)
}

/// The graph with its groups as one op each, in its blocks too.
fn fused(
    graph: &Graph,
    supports: &Supports<'_>,
    max_steps: usize,
    report: &mut Report,
    within: &str,
) -> Result<Graph> {
    let mut groups = Groups::new(graph, supports, max_steps);
    groups.grow(report, within);
    let mut joined: HashMap<usize, (Joined, Vec<NodeId>)> = HashMap::new();
    for members in groups.several() {
        let group = join(graph, members, &groups.readers, &groups.results)
            .map_err(|why| Error::argument("fuse", why.to_string(), "this is a defect of grouping"))?;
        joined.insert(groups.of(members[0]), (group, members.to_vec()));
    }
    let mut builder = GraphBuilder::like(graph);
    let mut map: HashMap<Value, Value> = HashMap::new();
    for id in groups.order() {
        let now =
            |map: &HashMap<Value, Value>, list: &[Value]| list.iter().map(|v| map[v]).collect::<Vec<_>>();
        if let Some((group, members)) = joined.get(&groups.of(id)) {
            let last = graph.node(members[members.len() - 1]);
            let op = group.op.clone()?;
            let inputs = now(&map, &group.inputs);
            let made = builder.op_with(op, &inputs, last.request.clone(), last.source)?;
            builder.set_parts(made.node, members.iter().flat_map(|id| graph.node(*id).parts()).collect());
            for (n, value) in group.outputs.iter().enumerate() {
                map.insert(*value, Value::nth(made.node, n));
            }
            let names: Vec<&str> = members.iter().map(|id| graph.node(*id).content.name()).collect();
            let text = format!("{} ops become one: {}", names.len(), names.join(", "));
            let id = members[members.len() - 1];
            report.did.push(Report::note(within, id, graph.node(id), text));
            continue;
        }
        let node = graph.node(id);
        let mut block = |inner: &Graph, name: &str| {
            fused(inner, supports, max_steps, report, &format!("{within}%{}/{name}/", id.0))
        };
        let content = match &node.content {
            Content::Cond(cond) => Content::Cond(Box::new(Cond {
                then: block(&cond.then, "then")?,
                otherwise: block(&cond.otherwise, "else")?,
            })),
            Content::While(repeated) => Content::While(Box::new(While {
                condition: block(&repeated.condition, "while")?,
                body: block(&repeated.body, "do")?,
            })),
            other => other.clone(),
        };
        let copied = builder.copy(&Node { content, ..node.clone() }, &now(&map, &node.inputs));
        for output in 0..node.types.len() {
            map.insert(Value::nth(id, output), Value::nth(copied, output));
        }
    }
    let outputs = graph.outputs().iter().map(|v| map[v]).collect();
    let updates = graph.updates().iter().map(|(n, v)| (*n, map[v])).collect();
    builder.finish(outputs, updates)
}
