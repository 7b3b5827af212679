//! What edges must be, and what follows from them: an order, and what each node sends.

use super::{CopyPrices, Csr, EdgeRow, NONE, Sent};
use crate::error::GraphError;

/// Checks that no two edges join the same nodes, and that a node's edges are priced all or none.
pub(super) fn check_out_edges(edges: &[EdgeRow], out_edges: &Csr, nodes: usize) -> Result<(), GraphError> {
    let mut seen = vec![NONE; nodes];
    let mut edge_to = vec![0u32; nodes];
    for node in 0..nodes {
        let row = out_edges.row(node);
        for &e in row {
            let edge = edges[e as usize];
            if seen[edge.to as usize] == node as u32 {
                let why = format!("joins the same nodes as edges[{}]", edge_to[edge.to as usize]);
                return Err(GraphError::at(format!("edges[{e}]"), why));
            }
            seen[edge.to as usize] = node as u32;
            edge_to[edge.to as usize] = e;
            let first = row[0];
            if (edges[first as usize].price == NONE) != (edge.price == NONE) {
                let why = format!(
                    "of one node's out-edges all have a cost or none; edges[{first}] differs from it"
                );
                return Err(GraphError::at(format!("edges[{e}]"), why));
            }
        }
    }
    Ok(())
}

/// What the readers of a node ask for, from the edges that leave it.
pub(super) fn sent(edges: &[EdgeRow], row: &[u32], prices: &CopyPrices) -> Sent {
    let Some((&first, rest)) = row.split_first() else {
        return Sent { bytes: 0.0, price: NONE, uniform: true };
    };
    let first = edges[first as usize];
    let uniform = rest.iter().map(|&e| edges[e as usize]).all(|e| match first.price {
        NONE => e.bytes == first.bytes,
        _ => prices.same(e.price, first.price),
    });
    Sent { bytes: first.bytes, price: first.price, uniform }
}

/// An order in which every node comes after its inputs; an error with the cycle if there is one.
pub(super) fn topological(
    edges: &[EdgeRow],
    out_edges: &Csr,
    in_edges: &Csr,
    id: impl Fn(u32) -> i64,
) -> Result<Vec<u32>, GraphError> {
    let count = in_edges.len();
    let mut waiting: Vec<u32> = (0..count).map(|n| in_edges.row(n).len() as u32).collect();
    let mut order: Vec<u32> = (0..count as u32).filter(|&n| waiting[n as usize] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        for &e in out_edges.row(order[at] as usize) {
            let to = edges[e as usize].to;
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                order.push(to);
            }
        }
        at += 1;
    }
    if order.len() == count {
        return Ok(order);
    }
    // Every node left has an input that is left too: walking backwards must come round.
    let mut path: Vec<u32> = Vec::new();
    let mut visited = vec![false; count];
    let mut node = (0..count as u32).find(|&n| waiting[n as usize] > 0).unwrap_or(0);
    while !visited[node as usize] {
        visited[node as usize] = true;
        path.push(node);
        let inputs = in_edges.row(node as usize).iter().map(|&e| edges[e as usize].from);
        node = inputs.into_iter().find(|&n| waiting[n as usize] > 0).unwrap_or(node);
    }
    let begin = path.iter().position(|&n| n == node).unwrap_or(0);
    let mut cycle: Vec<String> = path[begin..].iter().rev().map(|&n| id(n).to_string()).collect();
    cycle.push(cycle[0].clone());
    let (last, first) = (path[begin], path[path.len() - 1]);
    let closing = out_edges.row(last as usize).iter().find(|&&e| edges[e as usize].to == first);
    let place = closing.map_or_else(|| "edges".to_owned(), |e| format!("edges[{e}]"));
    Err(GraphError::at(place, format!("closes a cycle: {}", cycle.join(" -> "))))
}
