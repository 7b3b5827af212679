//! The shapes that ops carry as data, rather than take from their inputs.

use super::{Expand, Fill, Op, Random, Reshape, Slice};
use situ_core::Shape;

impl Op {
    /// The shape that it carries, if it carries one: of what it makes, or makes of its input.
    pub fn carried_shape(&self) -> Option<&Shape> {
        match self {
            Op::Reshape(op) => Some(&op.shape),
            Op::Expand(op) => Some(&op.shape),
            Op::Slice(op) => Some(op.sizes()),
            Op::Fill(op) => Some(&op.shape),
            Op::Random(op) => Some(&op.shape),
            _ => None,
        }
    }

    /// The same op with another shape; `None` where it carries none, or can't have that one.
    pub fn with_carried_shape(&self, shape: &Shape) -> Option<Op> {
        let shape = *shape;
        Some(match self {
            Op::Reshape(_) => Reshape { shape }.into(),
            Op::Expand(_) => Expand { shape }.into(),
            Op::Slice(op) => Slice::new(op.starts(), op.steps(), &shape).ok()?.into(),
            Op::Fill(op) => Fill { shape, ..*op }.into(),
            Op::Random(op) => Random { shape, ..*op }.into(),
            _ => return None,
        })
    }
}
