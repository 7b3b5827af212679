//! Transformers on GPUs alone: a forward pass, or a training step over several micro-batches.

use super::{Draft, gpus};
use situ_place::GraphFile;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub layers: usize,
    /// Attention heads that are nodes of their own.
    pub heads: usize,
    /// Micro-batches that are independent of each other.
    pub batches: usize,
    /// Whether there is a backward pass.
    pub training: bool,
    /// Bytes of each GPU's memory; none: no limit.
    pub memory: Option<f64>,
    /// Bytes per second between GPUs.
    pub bandwidth: f64,
}

const MILLI: f64 = 1e-3;
/// Bytes of a micro-batch's activations at the width of the model.
const ACTIVATION: f64 = 16.0e6;
const WEIGHTS: f64 = 50.0e6;

pub(crate) fn transformer(shape: Shape, count: usize) -> GraphFile {
    let mut draft = Draft::default();
    for batch in 0..shape.batches {
        let mut last = task(&mut draft, &format!("embed_{batch}"), 0.3, ACTIVATION, &[]);
        let mut saved = Vec::new();
        for layer in 0..shape.layers {
            last = forward(&mut draft, shape, layer, batch, last);
            saved.push(last);
        }
        last = task(&mut draft, &format!("head_{batch}"), 2.5, ACTIVATION, &[last]);
        if shape.training {
            for layer in (0..shape.layers).rev() {
                last = backward(&mut draft, shape, layer, batch, last, saved[layer]);
            }
        }
    }
    draft.on(gpus(count, shape.memory, shape.bandwidth))
}

fn task(draft: &mut Draft, name: &str, millis: f64, bytes: f64, reads: &[usize]) -> usize {
    let node = draft.node(name.to_owned(), &[("gpu", millis * MILLI)], bytes);
    for &from in reads {
        draft.edge(from, node);
    }
    node
}

fn forward(draft: &mut Draft, shape: Shape, layer: usize, batch: usize, input: usize) -> usize {
    let name = |what: &str| format!("{what}_{layer}_{batch}");
    let norm = task(draft, &name("norm1"), 0.08, ACTIVATION, &[input]);
    let share = ACTIVATION / shape.heads as f64;
    let heads: Vec<usize> = (0..shape.heads)
        .map(|head| {
            let scale = 1.0 / shape.heads as f64;
            let part = |draft: &mut Draft, what: &str, millis: f64, reads: &[usize]| {
                task(draft, &format!("{what}_{head}_{layer}_{batch}"), millis * scale + 0.01, share, reads)
            };
            let query = part(draft, "query", 0.5, &[norm]);
            let key = part(draft, "key", 0.5, &[norm]);
            let value = part(draft, "value", 0.5, &[norm]);
            let scores = part(draft, "scores", 0.6, &[query, key]);
            let softmax = part(draft, "softmax", 0.2, &[scores]);
            part(draft, "mix", 0.6, &[softmax, value])
        })
        .collect();
    let projection = task(draft, &name("project"), 0.5, ACTIVATION, &heads);
    let sum = task(draft, &name("add1"), 0.06, ACTIVATION, &[projection, input]);
    let norm = task(draft, &name("norm2"), 0.08, ACTIVATION, &[sum]);
    let wide = task(draft, &name("wide"), 2.0, 4.0 * ACTIVATION, &[norm]);
    let gelu = task(draft, &name("gelu"), 0.2, 4.0 * ACTIVATION, &[wide]);
    let narrow = task(draft, &name("narrow"), 2.0, ACTIVATION, &[gelu]);
    if batch == 0 {
        for node in [projection, wide, narrow] {
            draft.holds(node, WEIGHTS);
        }
    }
    task(draft, &name("add2"), 0.06, ACTIVATION, &[narrow, sum])
}

fn backward(
    draft: &mut Draft,
    shape: Shape,
    layer: usize,
    batch: usize,
    gradient: usize,
    saved: usize,
) -> usize {
    let name = |what: &str| format!("{what}_{layer}_{batch}");
    let mlp = task(draft, &name("mlp_input"), 4.2, ACTIVATION, &[gradient, saved]);
    task(draft, &name("mlp_weights"), 4.0, WEIGHTS, &[gradient, saved]);
    let share = ACTIVATION / shape.heads as f64;
    let heads: Vec<usize> = (0..shape.heads)
        .map(|head| {
            let millis = 3.0 / shape.heads as f64 + 0.02;
            task(draft, &format!("attention_{head}_{layer}_{batch}"), millis, share, &[mlp])
        })
        .collect();
    task(draft, &name("attention_weights"), 1.8, WEIGHTS, &heads);
    task(draft, &name("attention_input"), 1.6, ACTIVATION, &heads)
}
