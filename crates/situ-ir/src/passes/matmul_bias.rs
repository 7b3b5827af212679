//! A product or a convolution, the bias that follows it and the activation after that, as one op: the
//! elements are finished while they are still in registers, or in the nearest cache.

use super::rewrite::{Rule, Site, Values, rewrite};
use super::{Context, Report, Supports};
use crate::graph::{Content, Graph, NodeId, Value};
use crate::ops::{BinaryKind, Conv2d, Conv2dBias, Matmul, MatmulBias, Op, Unary};
use situ_core::{Result, Shape, TensorType};

/// Joins products with what follows them, where `supports` has the joined op.
pub fn run(graph: &Graph, context: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("matmul_bias");
    let graph = rewrite(graph, &mut Join { supports: context.supports }, &mut report, "")?;
    Ok((graph, report))
}

struct Join<'a> {
    supports: &'a Supports<'a>,
}

/// What a bias is added to.
#[derive(Clone, Copy)]
enum Product {
    Matmul(Matmul),
    Conv2d(Conv2d),
}

impl Product {
    fn of(op: &Op) -> Option<Product> {
        match op {
            Op::Matmul(op) => Some(Product::Matmul(*op)),
            Op::Conv2d(op) => Some(Product::Conv2d(*op)),
            _ => None,
        }
    }

    /// Whether a tensor of this shape, added to a result of that one, is a bias.
    fn is_bias(self, bias: &Shape, result: &Shape) -> bool {
        match self {
            Product::Matmul(_) => bias.rank() == 1 && bias[0] == result[result.rank() - 1],
            Product::Conv2d(conv) => Conv2dBias { conv, activation: None }.is_bias(bias, result),
        }
    }

    fn with(self, activation: Option<Unary>) -> Op {
        match self {
            Product::Matmul(matmul) => MatmulBias { matmul, activation }.into(),
            Product::Conv2d(conv) => Conv2dBias { conv, activation }.into(),
        }
    }
}

/// A product with its bias, in the graph as it was.
struct Biased {
    product: Product,
    inputs: [Value; 3],
    nodes: Vec<NodeId>,
}

impl Rule for Join<'_> {
    fn at(&mut self, site: &mut Site<'_>, _: &[Value]) -> Result<Option<Values>> {
        let here = Value::of(site.id);
        let (biased, activation) = match site.graph.node(site.id).content {
            Content::Op(Op::Unary(op)) => {
                let read = site.node().inputs[0];
                let found = if op.kind.is_activation() { biased(site, read) } else { None };
                let Some(biased) = found else {
                    return Ok(None);
                };
                if let Err(why) = biased.as_ref().map_err(Clone::clone).and_then(|b| joinable(site, &b.nodes))
                {
                    site.nearly(format!("kept beside its product: {why}"));
                    return Ok(None);
                }
                (biased, Some(op))
            }
            Content::Op(_) => {
                let Some(biased) = biased(site, here) else {
                    return Ok(None);
                };
                if self.waits_for_activation(site, &biased) {
                    return Ok(None);
                }
                (biased, None)
            }
            _ => return Ok(None),
        };
        let biased = match biased {
            Ok(biased) => biased,
            Err(why) => {
                site.nearly(format!("kept beside its product: {why}"));
                return Ok(None);
            }
        };
        let op = biased.product.with(activation);
        if !self.has(site, &op, &biased) {
            site.nearly("kept beside its product: no device at hand joins them");
            return Ok(None);
        }
        let mut nodes = biased.nodes;
        if activation.is_some() {
            nodes.push(site.id);
        }
        let parts = site.parts_of(&nodes);
        let inputs = biased.inputs.map(|v| site.now(v));
        let made = site.become_op(op, &inputs, &format!("{} ops become one product", nodes.len()))?;
        if let Some(values) = &made {
            site.builder.set_parts(values[0].node, parts);
        }
        Ok(made)
    }
}

impl Join<'_> {
    fn has(&self, site: &Site<'_>, op: &Op, biased: &Biased) -> bool {
        let types: Vec<TensorType> = biased.inputs.iter().map(|v| site.graph.type_of(*v)).collect();
        op.infer(&types).is_ok_and(|outputs| (self.supports)(op, &types, &outputs, &site.node().request))
    }

    /// Whether the one reader is an activation that will take the bias with it.
    fn waits_for_activation(&self, site: &Site<'_>, biased: &Result<Biased, String>) -> bool {
        let (true, Ok(biased)) = (site.used_once(Value::of(site.id)), biased) else {
            return false;
        };
        let reader =
            site.graph.nodes()[site.id.index()..].iter().find(|n| n.inputs.contains(&Value::of(site.id)));
        match reader.map(|node| (&node.content, node)) {
            Some((Content::Op(Op::Unary(op)), node)) if op.kind.is_activation() => {
                let whole = biased.product.with(Some(*op));
                node.request == site.node().request && self.has(site, &whole, biased)
            }
            _ => false,
        }
    }
}

/// The product and bias that make a value: `None` if none do, an error with the reason if they can't be one.
fn biased(site: &Site<'_>, value: Value) -> Option<Result<Biased, String>> {
    let (op, node) = site.old_op(value)?;
    let is_sum = match op {
        Op::BiasAdd(_) => true,
        Op::Binary(op) => op.kind == BinaryKind::Add,
        _ => false,
    };
    if !is_sum {
        return None;
    }
    let [a, b] = [node.inputs[0], node.inputs[1]];
    for (product, bias) in [(a, b), (b, a)] {
        let Some((made, inner)) = site.old_op(product).and_then(|(op, node)| Some((Product::of(op)?, node)))
        else {
            continue;
        };
        let [wide, narrow] = [product, bias].map(|v| site.graph.type_of(v).shape);
        if !made.is_bias(&narrow, &wide) {
            // A sum of a product and a whole tensor is no bias, and nothing was nearly done.
            continue;
        }
        if !site.used_once(product) {
            return Some(Err("the product is read elsewhere too".to_string()));
        }
        if inner.request != node.request {
            return Some(Err("the product stands under another scope".to_string()));
        }
        return Some(Ok(Biased {
            product: made,
            inputs: [inner.inputs[0], inner.inputs[1], bias],
            nodes: vec![product.node, value.node],
        }));
    }
    None
}

/// Whether an activation may be joined to the sum it reads.
fn joinable(site: &Site<'_>, nodes: &[NodeId]) -> Result<(), String> {
    let sum = nodes[nodes.len() - 1];
    if !site.used_once(Value::of(sum)) {
        return Err("the sum is read elsewhere too".to_string());
    }
    if site.graph.node(sum).request != site.node().request {
        return Err("the sum stands under another scope".to_string());
    }
    Ok(())
}
