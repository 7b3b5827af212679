//! Layers on images.

use super::Making;
use situ_core::{Scalar, Shape};
use situ_ir::Value;
use situ_ir::ops::*;

/// Floats as an image of one channel and one line.
fn line(m: &mut Making<'_>) -> Option<Value> {
    let x = m.floats()?;
    let n = m.builder.type_of(x).shape.elements();
    m.add(Reshape { shape: Shape::new(&[1, 1, 1, n]).ok()? }, &[x])
}

/// Relu, pooling with windows that overlap, and the gradient of both.
pub(super) fn pooled_relu(m: &mut Making<'_>) -> Option<Value> {
    let x = line(m)?;
    let y = m.add(Unary::new(UnaryKind::Relu), &[x])?;
    let ty = m.builder.type_of(y);
    let window = Window { stride: [1, m.rng.pick(&[1, 2])], ..Window::default() };
    let pool = Pool2d { kind: PoolKind::Max, size: [1, 2.min(ty.shape[3])], window };
    let pooled = m.add(pool, &[y])?;
    let upstream = m.add(Unary::new(UnaryKind::Cos), &[pooled])?;
    let back = m.add(Pool2dByInput { pool }, &[y, upstream])?;
    let zero = m.add(Fill { shape: Shape::SCALAR, value: Scalar::of(ty.dtype, 0.0) }, &[])?;
    let above = m.add(Binary { kind: BinaryKind::Greater }, &[y, zero])?;
    m.add(Where, &[above, back, zero])
}

/// Convolution, bias and activation.
pub(super) fn conv_layer(m: &mut Making<'_>) -> Option<Value> {
    let x = line(m)?;
    let dtype = m.builder.type_of(x).dtype;
    let filled = Fill { shape: Shape::new(&[2, 1, 1, 3]).ok()?, value: Scalar::of(dtype, 0.5) };
    let filter = m.add(filled, &[])?;
    let window = Window { padding: [[0, 0], [1, 1]], ..Window::default() };
    let conv = Conv2d { window, groups: 1 };
    let range = Range { start: Scalar::of(dtype, 0.5), step: Scalar::of(dtype, -1.0), count: 2 };
    let bias = m.add(range, &[])?;
    let dims: &[usize] = m.rng.pick(&[&[2, 1, 1][..], &[1, 2, 1, 1]]);
    let bias = m.add(Reshape { shape: Shape::new(dims).ok()? }, &[bias])?;
    if m.rng.chance(4) {
        let activation = m.rng.pick(&[None, Some(Unary::with(UnaryKind::LeakyRelu, 0.1, 0.0))]);
        return m.add(Conv2dBias { conv, activation }, &[x, filter, bias]);
    }
    let product = m.add(conv, &[x, filter])?;
    let sum = m.add(Binary { kind: BinaryKind::Add }, &[product, bias])?;
    let op = Unary::new(m.rng.pick(&[UnaryKind::Relu, UnaryKind::Tanh, UnaryKind::Gelu]));
    m.add(op, &[sum])
}
