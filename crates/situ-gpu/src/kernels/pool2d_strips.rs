//! Pooling with small windows, and its gradient where no two windows overlap: an invocation makes up to four
//! results of a line. The window is part of the kernel's text, so that its loops are written out and nothing
//! is divided by what is known.

use super::conv2d::params;
use super::run::{Params, Run};
use super::shader::{Math, entry};
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{PipelineKey, Source, View};
use situ_ir::ops::pool2d::{Pool2d, PoolKind};
use situ_ir::ops::window::{Format, Image};
use std::fmt::Write;

/// Windows of up to so many elements, with strides of up to so many pixels, are written out.
const SMALL: usize = 16;
/// Results of one invocation: as many as leave the fewest of a line's last one idle.
const STRIPS: [usize; 3] = [4, 3, 2];
const INVOCATIONS: usize = 256;

/// Whether the window is small enough to be written out.
pub(super) fn is_small(pool: &Pool2d) -> bool {
    pool.size[0].saturating_mul(pool.size[1]) <= SMALL
}

/// Whether each window has its pixels to itself, and few of them.
pub(super) fn is_apart(pool: &Pool2d) -> bool {
    let window = &pool.window;
    let apart =
        |axis: usize| (pool.size[axis] - 1).saturating_mul(window.dilation[axis]) < window.stride[axis];
    is_small(pool) && apart(0) && apart(1) && window.stride[0].saturating_mul(window.stride[1]) <= SMALL
}

/// Pooling forwards, by strips.
pub(super) fn forward(
    run: &Run<'_>,
    pool: &Pool2d,
    [input, output]: [&Image; 2],
    blocks: &[&Block; 2],
) -> Result<(), Fault> {
    let text = include_str!("wgsl/pool2d_strips_forward.wgsl");
    launch(run, "pool2d_strips", text, pool, [input, output], output.size, blocks)
}

/// Its gradient, of windows that are apart.
pub(super) fn by_input(
    run: &Run<'_>,
    pool: &Pool2d,
    [input, output]: [&Image; 2],
    blocks: &[&Block; 3],
) -> Result<(), Fault> {
    // All pixels, also those that no window reached.
    let window = &pool.window;
    let cells = [0, 1].map(|axis| (input.size[axis] + window.padding[axis][0]).div_ceil(window.stride[axis]));
    let text = include_str!("wgsl/pool2d_strips_by_input.wgsl");
    launch(run, "pool2d_strips_by_input", text, pool, [input, output], cells, blocks)
}

/// Queues a kernel for `size` lines and columns of each plane.
fn launch(
    run: &Run<'_>,
    name: &'static str,
    text: &str,
    pool: &Pool2d,
    [input, output]: [&Image; 2],
    [lines, columns]: [usize; 2],
    blocks: &[&Block],
) -> Result<(), Fault> {
    let idle = |strip: &usize| columns.next_multiple_of(*strip) - columns;
    let strip = STRIPS.into_iter().min_by_key(idle).unwrap_or(1);
    let strips = columns.div_ceil(strip);
    let units = input.batch * input.channels * lines * strips;
    let words = [units, strips, lines, columns].map(|n| n as u32);
    let params: Params = params(run, &pool.window, words, [0, 0, input.channels as u32, 0], input, output);
    let key = PipelineKey::new(name, (*pool, strip));
    let pipeline = run.pipeline(key, || {
        let strips = include_str!("wgsl/pool2d_strips.wgsl");
        let mut wgsl =
            [&Math::NONE.text(), &constants(pool, strip), strips, text, &entry(INVOCATIONS)].concat();
        wgsl += &format!("    make(group * {INVOCATIONS}u + lane);\n}}\n");
        Source { buffers: vec![View::Words; blocks.len()], wgsl }
    })?;
    run.dispatch(&pipeline, blocks, &params, units.div_ceil(INVOCATIONS))
}

fn constants(pool: &Pool2d, strip: usize) -> String {
    let window = &pool.window;
    let pairs = [
        ('K', pool.size),
        ('S', window.stride),
        ('D', window.dilation),
        ('P', window.padding.map(|around| around[0])),
    ];
    let mut text = format!("const STRIP: u32 = {strip}u; ");
    for (letter, [down, across]) in pairs {
        let _ = write!(text, "const {letter}H: u32 = {down}u; const {letter}W: u32 = {across}u; ");
    }
    let flags = [
        ("MEAN", pool.kind == PoolKind::Average),
        ("PADDED", window.padding != [[0; 2]; 2]),
        ("LAST", window.format == Format::ChannelsLast),
    ];
    for (name, flag) in flags {
        let _ = write!(text, "const {name}: bool = {flag}; ");
    }
    text.push('\n');
    text
}
