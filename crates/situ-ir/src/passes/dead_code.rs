//! Dead code: what no result needs goes, also arguments and results of conditions and parts of loops' states.
//!
//! An op that goes can no longer fail on its data: an index out of range is no error where nobody reads what
//! it selects.

use super::{Context, Report};
use crate::graph::{Cond, Content, Graph, GraphBuilder, Node, NodeId, Value, While};
use situ_core::Result;

/// Removes what is dead.
pub fn run(graph: &Graph, _: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("dead_code");
    let graph = live_part(graph, &mut report, "")?;
    Ok((graph, report))
}

/// The value that stands for each output of an old node, where it is live.
type Map = Vec<Vec<Option<Value>>>;

fn live_part(graph: &Graph, report: &mut Report, within: &str) -> Result<Graph> {
    let live = live(graph);
    let mut builder = GraphBuilder::like(graph);
    let mut map: Map = Vec::with_capacity(graph.nodes().len());
    for (id, node) in graph.iter() {
        let wanted = &live[id.index()];
        if !wanted.contains(&true) {
            report.did.push(Report::note(within, id, node, "nobody reads it"));
            map.push(vec![None; node.types.len()]);
            continue;
        }
        let place = format!("{within}%{}/", id.0);
        let mut site = Dead { map: &map, builder: &mut builder, report, within, id, place: &place };
        let values = match &node.content {
            Content::Cond(cond) => site.condition(node, cond, wanted)?,
            Content::While(repeated) => site.repetition(node, repeated, wanted)?,
            _ => {
                let inputs = site.inputs(&node.inputs);
                let copied = builder.copy(node, &inputs);
                (0..node.types.len()).map(|n| Some(Value::nth(copied, n))).collect()
            }
        };
        map.push(values);
    }
    let now = |v: Value| map[v.node.index()][v.slot()].unwrap_or(v);
    let outputs = graph.outputs().iter().map(|v| now(*v)).collect();
    let updates = graph.updates().iter().map(|(n, v)| (*n, now(*v))).collect();
    builder.finish(outputs, updates)
}

/// Which outputs of which nodes some result needs, through whatever reads them.
fn live(graph: &Graph) -> Vec<Vec<bool>> {
    let mut live: Vec<Vec<bool>> = graph.nodes().iter().map(|node| vec![false; node.types.len()]).collect();
    for value in graph.results() {
        live[value.node.index()][value.slot()] = true;
    }
    for (id, node) in graph.iter().collect::<Vec<_>>().into_iter().rev() {
        if !live[id.index()].contains(&true) {
            continue;
        }
        let read: Vec<bool> = match &node.content {
            Content::Cond(cond) => {
                let [then, otherwise] =
                    [&cond.then, &cond.otherwise].map(|side| arguments(side, &live[id.index()]));
                std::iter::once(true).chain(then.iter().zip(&otherwise).map(|(a, b)| *a || *b)).collect()
            }
            Content::While(repeated) => state(repeated, &live[id.index()]),
            _ => vec![true; node.inputs.len()],
        };
        for (input, read) in node.inputs.iter().zip(read) {
            live[input.node.index()][input.slot()] |= read;
        }
    }
    live
}

/// Which arguments a block needs for those of its results that are wanted.
fn arguments(graph: &Graph, wanted: &[bool]) -> Vec<bool> {
    let pairs = graph.outputs().iter().zip(wanted);
    let outputs = pairs.filter(|(_, wanted)| **wanted).map(|(value, _)| *value).collect();
    let mut needed = vec![false; graph.inputs().len()];
    let live = live(&Graph { outputs, ..graph.clone() });
    for ((_, node), live) in graph.iter().zip(live) {
        if let Content::Input(n) = node.content {
            needed[n as usize] |= live[0];
        }
    }
    needed
}

/// Which parts of a loop's state are needed: those that are wanted or tested, and those that a needed part is
/// made from.
fn state(repeated: &While, wanted: &[bool]) -> Vec<bool> {
    let tested = arguments(&repeated.condition, &[true]);
    let mut needed: Vec<bool> = wanted.iter().zip(&tested).map(|(a, b)| *a || *b).collect();
    loop {
        let read = arguments(&repeated.body, &needed);
        let next: Vec<bool> = needed.iter().zip(&read).map(|(a, b)| *a || *b).collect();
        if next == needed {
            return needed;
        }
        needed = next;
    }
}

/// A node with blocks, of which a part may be dead.
struct Dead<'a> {
    map: &'a Map,
    builder: &'a mut GraphBuilder,
    report: &'a mut Report,
    within: &'a str,
    id: NodeId,
    place: &'a str,
}

impl Dead<'_> {
    /// The live ones among old values, in the new graph.
    fn inputs(&self, old: &[Value]) -> Vec<Value> {
        old.iter().filter_map(|v| self.map[v.node.index()][v.slot()]).collect()
    }

    fn condition(&mut self, node: &Node, cond: &Cond, wanted: &[bool]) -> Result<Vec<Option<Value>>> {
        let sides = [&cond.then, &cond.otherwise].map(|side| arguments(side, wanted));
        let read: Vec<bool> = sides[0].iter().zip(&sides[1]).map(|(a, b)| *a || *b).collect();
        let then = self.block(&cond.then, "then", &read, wanted)?;
        let otherwise = self.block(&cond.otherwise, "else", &read, wanted)?;
        self.said(node, &read, wanted);
        let mut inputs = self.inputs(&node.inputs[..1]);
        inputs.extend(self.kept(&node.inputs[1..], &read));
        Ok(self.rebuilt(node, Content::Cond(Box::new(Cond { then, otherwise })), &inputs, wanted))
    }

    fn repetition(&mut self, node: &Node, repeated: &While, wanted: &[bool]) -> Result<Vec<Option<Value>>> {
        let needed = state(repeated, wanted);
        let condition = self.block(&repeated.condition, "while", &needed, &[true])?;
        let body = self.block(&repeated.body, "do", &needed, &needed)?;
        self.said(node, &needed, &needed);
        let inputs = self.kept(&node.inputs, &needed);
        Ok(self.rebuilt(node, Content::While(Box::new(While { condition, body })), &inputs, &needed))
    }

    fn kept(&self, old: &[Value], keep: &[bool]) -> Vec<Value> {
        let kept: Vec<Value> = old.iter().zip(keep).filter(|(_, keep)| **keep).map(|(v, _)| *v).collect();
        self.inputs(&kept)
    }

    fn said(&mut self, node: &Node, arguments: &[bool], results: &[bool]) {
        let dead = |list: &[bool]| list.iter().filter(|live| !**live).count();
        let (arguments, results) = (dead(arguments), dead(results));
        if arguments + results > 0 {
            let text =
                format!("{arguments} of its arguments and {results} of its results go: nobody reads them");
            self.report.did.push(Report::note(self.within, self.id, node, text));
        }
    }

    /// The node with other blocks and fewer inputs and outputs.
    fn rebuilt(
        &mut self,
        node: &Node,
        content: Content,
        inputs: &[Value],
        wanted: &[bool],
    ) -> Vec<Option<Value>> {
        let pairs = node.types.iter().zip(wanted);
        let types = pairs.filter(|(_, wanted)| **wanted).map(|(ty, _)| *ty).collect();
        let id = self.builder.copy(&Node { content, types, ..node.clone() }, inputs);
        let mut output = 0;
        let mut value = |wanted: &bool| {
            wanted.then(|| {
                output += 1;
                Value { node: id, output: output - 1 }
            })
        };
        wanted.iter().map(&mut value).collect()
    }

    /// A block with only some of its arguments and results, and what they need.
    fn block(&mut self, graph: &Graph, name: &str, arguments: &[bool], results: &[bool]) -> Result<Graph> {
        let pairs = graph.outputs().iter().zip(results);
        let outputs: Vec<Value> = pairs.filter(|(_, wanted)| **wanted).map(|(v, _)| *v).collect();
        let inner = Graph { outputs, ..graph.clone() };
        let mut inner = live_part(&inner, self.report, &format!("{}{name}/", self.place))?;
        let mut number = vec![None; arguments.len()];
        let kept = number.iter_mut().zip(arguments).filter(|(_, kept)| **kept);
        for (next, (number, _)) in kept.enumerate() {
            *number = Some(next as u32);
        }
        let pairs = inner.inputs.iter().zip(arguments);
        inner.inputs = pairs.filter(|(_, kept)| **kept).map(|(ty, _)| *ty).collect();
        for node in &mut inner.nodes {
            if let Content::Input(n) = &mut node.content {
                // Nodes of arguments that go are dead, and so are gone.
                *n = number[*n as usize].unwrap_or(*n);
            }
        }
        Ok(inner)
    }
}
