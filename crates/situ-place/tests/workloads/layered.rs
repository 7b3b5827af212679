//! A large random graph in layers, as a compiler of big models sees it: for measuring how long placing takes.

use super::{Draft, hybrid};
use situ_place::GraphFile;

/// So many nodes on one CPU and seven GPUs, each with memory for a quarter of what all nodes hold.
pub(crate) fn layered(nodes: usize, seed: u64) -> GraphFile {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    let mut roll = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut draft = Draft::default();
    let width = 20;
    let mut held = 0.0;
    for i in 0..nodes {
        let work = (1 + roll(100)) as f64 * 1e-5;
        let node = draft.node(
            format!("op_{i}"),
            &[("cpu", work * (2 + roll(20)) as f64), ("gpu", work)],
            (1 + roll(64)) as f64 * 65536.0,
        );
        let bytes = (roll(8) * 1_000_000) as f64;
        held += bytes;
        draft.holds(node, bytes);
        for _ in 0..=roll(3) {
            if i >= width {
                draft.edge(i - width + roll(width) - i % width.min(i), node);
            }
        }
    }
    let mut machine = hybrid(4, 7);
    for device in machine.devices.iter_mut().skip(1) {
        device.memory = Some(held / 4.0);
    }
    draft.on(machine)
}
