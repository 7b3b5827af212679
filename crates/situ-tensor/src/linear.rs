//! Products, normalisation, softmax and losses.

use crate::apply::apply;
use crate::tensor::Tensor;
use situ_core::{Real, Result};
use situ_ir::ops::{BiasAdd, CrossEntropy, LayerNorm, Matmul, MatmulInteger, Softmax, SparseCrossEntropy};

impl Tensor {
    /// The matrix product over the last two axes; leading axes broadcast.
    #[track_caller]
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        apply(Matmul::default(), &[self, other])
    }

    /// The matrix product with either side's last two axes swapped, without a copy.
    #[track_caller]
    pub fn matmul_transposed(&self, other: &Tensor, transpose_a: bool, transpose_b: bool) -> Result<Tensor> {
        apply(Matmul { transpose_a, transpose_b }, &[self, other])
    }

    /// The matrix product of two sides of i8 or u8 as i32, over the last two axes; leading axes broadcast.
    /// The product of [`Tensor::matmul`] would be bytes, which wrap.
    #[track_caller]
    pub fn matmul_integer(&self, other: &Tensor) -> Result<Tensor> {
        apply(MatmulInteger::default(), &[self, other])
    }

    /// [`Tensor::matmul_integer`] with either side's last two axes swapped, without a copy.
    #[track_caller]
    pub fn matmul_integer_transposed(
        &self,
        other: &Tensor,
        transpose_a: bool,
        transpose_b: bool,
    ) -> Result<Tensor> {
        apply(MatmulInteger { matmul: Matmul { transpose_a, transpose_b } }, &[self, other])
    }

    /// Adds a bias along the last axis.
    #[track_caller]
    pub fn bias_add(&self, bias: &Tensor) -> Result<Tensor> {
        apply(BiasAdd, &[self, bias])
    }

    /// Normalises over the last axis, then scales and shifts.
    #[track_caller]
    pub fn layer_norm(&self, scale: &Tensor, shift: &Tensor, epsilon: f64) -> Result<Tensor> {
        apply(LayerNorm { epsilon: Real(epsilon) }, &[self, scale, shift])
    }

    /// e^x / Σ e^x over an axis.
    #[track_caller]
    pub fn softmax(&self, axis: isize) -> Result<Tensor> {
        let axis = self.unseen_shape().axis("softmax", axis)? as u8;
        apply(Softmax { axis, log: false }, &[self])
    }

    /// The logarithm of [`Tensor::softmax`].
    #[track_caller]
    pub fn log_softmax(&self, axis: isize) -> Result<Tensor> {
        let axis = self.unseen_shape().axis("log_softmax", axis)? as u8;
        apply(Softmax { axis, log: true }, &[self])
    }

    /// The cross-entropy of these logits with a distribution per row; one loss for each row.
    #[track_caller]
    pub fn softmax_cross_entropy(&self, labels: &Tensor) -> Result<Tensor> {
        apply(CrossEntropy, &[self, labels])
    }

    /// The cross-entropy of these logits with a class number per row; one loss for each row.
    #[track_caller]
    pub fn sparse_softmax_cross_entropy(&self, labels: &Tensor) -> Result<Tensor> {
        apply(SparseCrossEntropy, &[self, labels])
    }
}
