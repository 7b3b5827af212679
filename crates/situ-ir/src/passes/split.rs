//! The reverse of joining: an op that passes joined becomes its parts again, for a device that has these and
//! not the whole.
//!
//! It is no pass that runs by itself: who places a graph says which nodes, once it knows their devices.

use super::Report;
use super::rewrite::{Rule, Site, Values, rewrite};
use crate::graph::{Content, Graph, Node, NodeId, Part, Value};
use crate::ops::{Expand, Op, Read};
use situ_core::{Error, Request, Result, TensorType};
use smallvec::SmallVec;

/// The name of its reports.
pub const SPLIT: &str = "split";

/// Why a node is to be split, if it is: asked of every op that passes joined, with the node of the outermost
/// graph whose block it is in, if it is in one.
pub type Apart<'a> = dyn Fn(&Graph, NodeId, Option<NodeId>) -> Option<String> + 'a;

/// The graph with the nodes that `apart` names as the ops that they were made of.
pub fn split(graph: &Graph, apart: &Apart<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new(SPLIT);
    let graph = rewrite(graph, &mut Split { apart, around: None }, &mut report, "")?;
    Ok((graph, report))
}

struct Split<'a> {
    apart: &'a Apart<'a>,
    /// The node of the outermost graph whose blocks are being written.
    around: Option<NodeId>,
}

impl Rule for Split<'_> {
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        let node = site.graph.node(site.id);
        let Content::Op(op) = &node.content else { return Ok(None) };
        if node.parts.0.is_none() {
            return Ok(None);
        }
        let Some(why) = (self.apart)(site.graph, site.id, self.around) else { return Ok(None) };
        let Some(values) = written(site, op, node, inputs)? else { return Ok(None) };
        site.did(why);
        Ok(Some(values))
    }

    fn blocks(&mut self, site: &mut Site<'_>, _: &[Value]) -> Result<Content> {
        let mut inner = Split { apart: self.apart, around: self.around.or(Some(site.id)) };
        site.each_block(|graph, report, within| rewrite(graph, &mut inner, report, within))
    }
}

/// The parts of an op in its place, each with the name and the line that it had before they were joined;
/// `None` if it has no parts.
fn written(site: &mut Site<'_>, op: &Op, node: &Node, inputs: &[Value]) -> Result<Option<Values>> {
    let types: SmallVec<[TensorType; 4]> = node.inputs.iter().map(|v| site.graph.type_of(*v)).collect();
    let parts = op.parts(&types, &node.types);
    if parts.is_empty() {
        return Ok(None);
    }
    let traced = node.parts();
    let mut next = 0;
    let mut made: Vec<Value> = Vec::with_capacity(parts.len());
    let mut outputs: SmallVec<[Option<Value>; 2]> = SmallVec::from_elem(None, node.types.len());
    for part in parts {
        // Simplified programs have fewer steps than ops were traced, in the same order.
        let known = traced[next..].iter().position(|t| t.op == part.op.name()).map(|n| next + n);
        next = known.map_or(next, |n| n + 1);
        let (request, source) = match known.map(|n| &traced[n]) {
            Some(Part { name, source, .. }) => {
                (Request { name: name.clone(), ..node.request.clone() }, *source)
            }
            None => (node.request.clone(), node.source),
        };
        let read = |read: &Read| match *read {
            Read::Input(n) => inputs.get(n).copied(),
            Read::Part(n) => made.get(n).copied(),
        };
        let reads: Option<SmallVec<[Value; 3]>> = part.reads.iter().map(read).collect();
        let reads = reads.ok_or_else(|| broken(op, "a part reads what is not there"))?;
        let value = site.builder.op_with(part.op, &reads, request.clone(), source)?;
        made.push(value);
        for n in part.gives {
            let wanted = *node.types.get(n).ok_or_else(|| broken(op, "a part gives what is not there"))?;
            // A constant of one element stands for one of every element.
            let value = match site.builder.type_of(value) == wanted {
                true => value,
                false => {
                    let wide = Expand { shape: wanted.shape };
                    site.builder.op_with(wide.into(), &[value], request.clone(), source)?
                }
            };
            outputs[n] = Some(value);
        }
    }
    let outputs: Option<Values> = outputs.into_iter().collect();
    outputs.map(Some).ok_or_else(|| broken(op, "its parts do not give all its outputs"))
}

#[cold]
fn broken(op: &Op, why: &str) -> Error {
    Error::argument("split", format!("{}: {why}", op.name()), "this is a defect of the op's parts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::{Options, group};

    const GRAPH: &str = "\
function(%0: f32[2, 3], %1: f32[3, 4], %2: f32[4]) {
  %3 = matmul(%0, %1)
  %4 = bias_add(%3, %2)
  %5 = relu(%4)
  %6 = fill() {value=f32(2.0), shape=[]}
  %7 = mul(%5, %6)
  %8 = tanh(%7)
  return %8
}";

    fn names(graph: &Graph) -> Vec<&'static str> {
        let ops = graph.nodes().iter().filter(|node| !node.content.is_source());
        ops.map(|node| node.content.name()).collect()
    }

    fn joined() -> Graph {
        let graph: Graph = GRAPH.parse().unwrap_or_else(|error| panic!("{error}"));
        let (joined, _) = group(&graph, &Options::default(), &|_, _, _, _| true).unwrap();
        joined
    }

    #[test]
    fn what_is_split_is_what_was_joined() {
        let joined = joined();
        assert_eq!(names(&joined), ["matmul_bias", "fused"]);
        let (apart, report) = split(&joined, &|_, _, _| Some("asked for".to_string())).unwrap();
        apart.verify().unwrap();
        assert_eq!(names(&apart), ["matmul", "bias_add", "relu", "fill", "mul", "tanh"]);
        assert_eq!(report.did.len(), 2);
        let (again, _) = group(&apart, &Options::default(), &|_, _, _, _| true).unwrap();
        assert_eq!(names(&again), names(&joined));
    }

    #[test]
    fn a_node_that_nobody_names_stays_joined() {
        let only = |graph: &Graph, id: NodeId, _: Option<NodeId>| {
            (graph.node(id).content.name() == "fused").then(|| "asked for".to_string())
        };
        let (apart, report) = split(&joined(), &only).unwrap();
        assert_eq!(names(&apart), ["matmul_bias", "fill", "mul", "tanh"]);
        assert_eq!(report.did[0].text, "asked for");
    }
}
