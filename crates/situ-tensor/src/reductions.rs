//! Reductions. An empty list of axes means all of them.

use crate::apply::apply;
use crate::tensor::Tensor;
use situ_core::{Axes, Result};
use situ_ir::ops::{Reduce, ReduceKind};

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $keep:ident $kind:ident;)*) => {
        impl Tensor {$(
            $(#[$doc])*
            ///
            /// Over the named axes (negative: from the end), which go away; an empty list means all.
            #[track_caller]
            pub fn $name(&self, axes: &[isize]) -> Result<Tensor> {
                self.reduce(ReduceKind::$kind, axes, false)
            }

            $(#[$doc])*
            ///
            /// Over the named axes (negative: from the end), which stay with size 1; an empty list means all.
            #[track_caller]
            pub fn $keep(&self, axes: &[isize]) -> Result<Tensor> {
                self.reduce(ReduceKind::$kind, axes, true)
            }
        )*}
    };
}

reductions! {
    /// The sum.
    sum sum_keep Sum;
    /// The mean, of floats.
    mean mean_keep Mean;
    /// The largest element; NaN if any is.
    max max_keep Max;
    /// The smallest element; NaN if any is.
    min min_keep Min;
    /// The product.
    prod prod_keep Prod;
    /// Whether any element holds.
    any any_keep Any;
    /// Whether all elements hold.
    all all_keep All;
    /// The position of the largest element, the first of equals, as i32.
    argmax argmax_keep ArgMax;
    /// The position of the smallest element, the first of equals, as i32.
    argmin argmin_keep ArgMin;
}

impl Tensor {
    /// A reduction by its kind.
    #[track_caller]
    pub fn reduce(&self, kind: ReduceKind, axes: &[isize], keep_dims: bool) -> Result<Tensor> {
        let axes = match axes {
            [] => Axes::all(self.rank()),
            list => Axes::of(kind.name(), self.unseen_shape(), list)?,
        };
        apply(Reduce { kind, axes, keep_dims }, &[self])
    }
}
