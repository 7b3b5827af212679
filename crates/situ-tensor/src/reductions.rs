//! Reductions. An empty list of axes means all of them.

use crate::apply::apply;
use crate::tensor::Tensor;
use situ_core::{Axes, Result};
use situ_ir::ops::{Cumsum, Reduce, ReduceKind};

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
    /// The sum over the axes; integers wrap.
    sum sum_keep Sum;
    /// The mean, of floats.
    mean mean_keep Mean;
    /// The largest element; NaN if any is.
    max max_keep Max;
    /// The smallest element; NaN if any is.
    min min_keep Min;
    /// The product over the axes; integers wrap.
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
    /// The running sum along an axis (negative: from the end): each element with all before it. Integers
    /// wrap.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// let x = situ_tensor::tensor([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!(x.cumsum(1)?.to_vec::<f32>()?, [1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    /// // From the end, each element left out of its own sum.
    /// assert_eq!(x.cumsum_with(1, true, true)?.to_vec::<f32>()?, [5.0, 3.0, 0.0, 11.0, 6.0, 0.0]);
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn cumsum(&self, axis: isize) -> Result<Tensor> {
        self.cumsum_with(axis, false, false)
    }

    /// [`Tensor::cumsum`]; `exclusive` leaves each element out of its own sum, `reverse` adds from the end of
    /// the axis.
    #[track_caller]
    pub fn cumsum_with(&self, axis: isize, exclusive: bool, reverse: bool) -> Result<Tensor> {
        let axis = self.shape().axis("cumsum", axis)? as u8;
        apply(Cumsum { axis, exclusive, reverse }, &[self])
    }

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
