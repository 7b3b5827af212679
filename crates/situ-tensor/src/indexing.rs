//! Indexed reads and writes.

use crate::apply::apply;
use crate::tensor::Tensor;
use situ_core::{DType, Result, Scalar};
use situ_ir::ops::{Gather, OneHot, ScatterAdd};

impl Tensor {
    /// Slices along an axis at the given indices, whose axes take that axis's place.
    #[track_caller]
    pub fn gather(&self, indices: &Tensor, axis: isize) -> Result<Tensor> {
        let axis = self.unseen_shape().axis("gather", axis)? as u8;
        apply(Gather { axis }, &[self, indices])
    }

    /// This tensor with slices of `updates` added along an axis at the given indices.
    #[track_caller]
    pub fn scatter_add(&self, indices: &Tensor, updates: &Tensor, axis: isize) -> Result<Tensor> {
        let axis = self.unseen_shape().axis("scatter_add", axis)? as u8;
        apply(ScatterAdd { axis }, &[self, indices, updates])
    }

    /// A new last axis of size `depth` with 1 at the index and 0 elsewhere.
    #[track_caller]
    pub fn one_hot(&self, depth: usize, dtype: DType) -> Result<Tensor> {
        apply(OneHot { depth, on: Scalar::of(dtype, 1.0), off: Scalar::of(dtype, 0.0) }, &[self])
    }
}
