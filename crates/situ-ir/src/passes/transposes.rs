//! Transposes before matrix products: the product reads its sides either way round, so they need not be made.

use super::rewrite::{Rule, Site, Values, rewrite};
use super::{Context, Report};
use crate::graph::{Content, Graph, Value};
use crate::ops::{Matmul, MatmulInteger, Op, Permute};
use situ_core::Result;

/// Sinks transposes into products.
pub fn run(graph: &Graph, _: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("transposes");
    let graph = rewrite(graph, &mut Sink, &mut report, "")?;
    Ok((graph, report))
}

struct Sink;

/// What an order of axes does to the last two.
enum Turn {
    /// It changes places of the last two, and nothing else.
    LastTwo,
    /// It moves others as well.
    Others,
}

fn turn(order: &Permute) -> Turn {
    let rank = order.order().len();
    let swapped = |axis: usize| match rank - axis {
        1 => rank - 2,
        2 => rank - 1,
        _ => axis,
    };
    let is_swap = rank >= 2 && order.order().enumerate().all(|(to, from)| from == swapped(to));
    if is_swap { Turn::LastTwo } else { Turn::Others }
}

impl Rule for Sink {
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        let Content::Op(old) = &site.graph.node(site.id).content else {
            return Ok(None);
        };
        let (Op::Matmul(mut op) | Op::MatmulInteger(MatmulInteger { matmul: mut op })) = *old else {
            return Ok(None);
        };
        let integer = matches!(old, Op::MatmulInteger(_));
        let mut sides = [inputs[0], inputs[1]];
        let mut sunk = Vec::new();
        for (side, name) in ["left", "right"].into_iter().enumerate() {
            let Some((Op::Permute(order), node)) = site.op(sides[side]) else {
                continue;
            };
            let read = node.inputs[0];
            match turn(order) {
                Turn::LastTwo => {
                    sides[side] = read;
                    let Matmul { transpose_a, transpose_b } = &mut op;
                    let flag = if side == 0 { transpose_a } else { transpose_b };
                    *flag = !*flag;
                    sunk.push(name);
                }
                Turn::Others => {
                    site.nearly(format!(
                        "kept: the transpose on its {name} moves more than the last two axes"
                    ));
                }
            }
        }
        if sunk.is_empty() {
            return Ok(None);
        }
        let op = if integer { Op::from(MatmulInteger { matmul: op }) } else { Op::from(op) };
        site.become_op(op, &sides, &format!("reads its {} side transposed in place", sunk.join(" and ")))
    }
}
