//! Results written over an operand that nobody reads any more: one buffer instead of two.
//!
//! The operand must be all of a buffer of the arena, last touched by the step that writes, and touched by
//! that step's lane only; and the kernel must say that it can.

use super::arena::Life;
use super::plan::{Action, Buffer, BufferIndex, Lane, Memory, Operand};
use crate::logical::LogicalDevice;
use std::sync::Arc;

/// Smaller buffers are left apart: they cost next to nothing, and a kernel that works in place takes a little
/// longer.
const WORTHWHILE: usize = 4096;

/// Joins buffers, and gives for each the one that it is now.
pub(super) fn join(
    lanes: &[Lane],
    devices: &[Arc<LogicalDevice>],
    buffers: &[Buffer],
    lives: &mut [Option<Life>],
) -> Vec<BufferIndex> {
    let mut now: Vec<BufferIndex> = (0..buffers.len()).collect();
    for (index, lane) in lanes.iter().enumerate() {
        for (at, step) in lane.steps.iter().enumerate() {
            let Action::Launch { op, kernel, inputs, outputs, .. } = &step.action else { continue };
            let Ok(device) = devices[step.device].target() else { continue };
            let mut taken: Vec<BufferIndex> = Vec::new();
            for output in outputs {
                let over = inputs.iter().enumerate().find(|(n, input)| {
                    let buffer = input.buffer;
                    let life = lives[buffer].as_ref();
                    let ends =
                        life.is_some_and(|l| l.first < (index, at) && l.last.as_slice() == [(index, at)]);
                    ends && buffers[buffer].bytes >= WORTHWHILE
                        && matches!(buffers[buffer].memory, Memory::Arena { .. })
                        && buffers[buffer].bytes == buffers[output.buffer].bytes
                        && now[buffer] == buffer
                        && !taken.contains(&buffer)
                        && inputs.iter().filter(|i| i.buffer == buffer).all(|i| lies_as(i, output))
                        && device.in_place(*kernel, op, *n)
                });
                if let Some((_, input)) = over {
                    taken.push(input.buffer);
                    now[input.buffer] = output.buffer;
                    // The joined buffer lives from the operand's first step on.
                    if let (Some(operand), Some(result)) =
                        (lives[input.buffer].take(), &mut lives[output.buffer])
                    {
                        (result.first, result.known) = (operand.first, operand.known);
                    }
                }
            }
        }
    }
    for buffer in 0..now.len() {
        let mut last = now[buffer];
        while now[last] != last {
            last = now[last];
        }
        now[buffer] = last;
    }
    now
}

/// Whether element i of both is at the same place of its buffer.
fn lies_as(input: &Operand, output: &Operand) -> bool {
    input.layout.is_dense()
        && input.layout.offset() == 0
        && input.layout.shape() == output.layout.shape()
        && input.dtype.size() == output.dtype.size()
}
