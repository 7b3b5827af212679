//! Normalisation over a batch, as in training. (With known statistics it is two elementwise ops, and has no
//! op of its own.)

use super::{Attributes, Given, Outputs, Rule, UnaryKind, arity, float_only, same_dtype};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{Axes, Error, MAX_RANK, Real, Result, Shape, TensorType};

/// `(x − mean) / √(variance + epsilon) · scale + shift`, where mean and variance are over every axis but one.
/// Inputs are x, scale and shift; outputs the result, the mean, and the variance (of the batch itself, not an
/// estimate from it).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BatchNorm {
    /// The axis of the channels.
    pub axis: u8,
    /// Added to the variance.
    pub epsilon: Real,
}

impl BatchNorm {
    /// Every axis but the channels'.
    fn axes(&self, shape: &Shape) -> Result<Axes> {
        let mut list = [0isize; MAX_RANK];
        let mut count = 0;
        for axis in (0..shape.rank()).filter(|axis| *axis != usize::from(self.axis)) {
            list[count] = axis as isize;
            count += 1;
        }
        Axes::of("batch_norm", shape, &list[..count])
    }

    /// The shape of a number per channel, for broadcasting with x.
    fn spread(&self, shape: &Shape) -> Result<Shape> {
        let mut dims = [1; MAX_RANK];
        dims[usize::from(self.axis)] = shape[usize::from(self.axis)];
        Shape::new(&dims[..shape.rank()])
    }
}

impl Rule for BatchNorm {
    const NAMES: &'static [&'static str] = &["batch_norm"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("axis", self.axis).with("epsilon", self.epsilon)
    }

    fn read(_: &str, given: &mut Given) -> Result<BatchNorm> {
        Ok(BatchNorm { axis: given.integer("axis")?, epsilon: given.real("epsilon")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 3)?;
        float_only(op, inputs, same_dtype(op, inputs)?)?;
        let (x, axis) = (inputs[0].shape, usize::from(self.axis));
        let fits = |t: &TensorType| axis < x.rank() && t.shape.rank() == 1 && t.shape[0] == x[axis];
        if !fits(&inputs[1]) || !fits(&inputs[2]) {
            return Err(Error::operands(
                op,
                inputs,
                format!("scale and shift must have one number for each channel, which are along axis {axis}"),
                "make them the size of that axis",
            ));
        }
        if !self.epsilon.0.is_finite() || self.epsilon.0 < 0.0 {
            return Err(Error::operands(
                op,
                inputs,
                format!("epsilon is {}", self.epsilon.0),
                "give a small number that is not negative, such as 1e-5",
            ));
        }
        Ok(inputs[0])
    }

    fn outputs(&self, inputs: &[TensorType]) -> Result<Outputs> {
        let result = self.infer(inputs)?;
        Ok(Outputs::from_iter([result, inputs[1], inputs[1]]))
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Reduce, 8.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let ([x, scale, _], [_, mean, variance], [by_y, by_mean, by_variance]) =
            (at.inputs, at.outputs, at.upstream)
        else {
            return Err(undefined("batch_norm"));
        };
        let shape = builder.shape(x);
        let (axes, spread) = (self.axes(&shape)?, self.spread(&shape)?);
        let count: usize = axes.iter().map(|axis| shape[axis]).product();
        let mean = builder.reshaped(mean, spread)?;
        let variance = builder.reshaped(variance, spread)?;
        let mut by_x = None;
        let (mut by_scale, mut by_shift) = (None, None);
        if let Some(upstream) = by_y {
            let rate = builder.plus(&variance, self.epsilon.0)?;
            let rate = builder.unary(UnaryKind::Rsqrt, &rate)?;
            let normal = builder.elementwise(&Normal, &[x, &mean, &rate])?;
            let along = builder.mul(upstream, &normal)?;
            let along = builder.sum_keep(&along, axes)?;
            let level = builder.sum_keep(upstream, axes)?;
            if at.wants(0) {
                let scale = builder.reshaped(scale, spread)?;
                let rate = builder.mul(&rate, &scale)?;
                let share = 1.0 / count as f64;
                let (a, l) = (builder.scaled(&along, share)?, builder.scaled(&level, share)?);
                by_x = Some(builder.elementwise(&Back, &[&normal, &a, &l, &rate, upstream])?);
            }
            by_scale = Some(along);
            by_shift = Some(level);
        }
        // The statistics may be used as well.
        let mut add = |builder: &mut B, part: B::Value| -> Result<()> {
            by_x = Some(match by_x.take() {
                Some(before) => builder.add(&before, &part)?,
                None => builder.expanded(&part, shape)?,
            });
            Ok(())
        };
        if at.wants(0)
            && let Some(upstream) = by_mean
        {
            let upstream = builder.reshaped(upstream, spread)?;
            let part = builder.scaled(&upstream, 1.0 / count as f64)?;
            add(builder, part)?;
        }
        if at.wants(0)
            && let Some(upstream) = by_variance
        {
            let upstream = builder.reshaped(upstream, spread)?;
            let upstream = builder.scaled(&upstream, 2.0 / count as f64)?;
            let off = builder.sub(x, &mean)?;
            let part = builder.mul(&off, &upstream)?;
            add(builder, part)?;
        }
        let mut channels = |value: Option<B::Value>, wanted: bool| match value.filter(|_| wanted) {
            Some(value) => builder.reshaped(&value, Shape::new(&[shape[usize::from(self.axis)]])?).map(Some),
            None => Ok(None),
        };
        let (by_scale, by_shift) = (channels(by_scale, at.wants(1))?, channels(by_shift, at.wants(2))?);
        // Only the statistics were used: scale and shift have no part in them.
        let zero = |builder: &mut B, wanted: bool, found: Option<B::Value>| match found {
            None if wanted => builder.filled(scale, builder.shape(scale), 0.0).map(Some),
            found => Ok(found),
        };
        let by_scale = zero(builder, at.wants(1), by_scale)?;
        let by_shift = zero(builder, at.wants(2), by_shift)?;
        Ok(Gradients::from_iter([by_x, by_scale, by_shift]))
    }
}

/// (x − mean) · rate
struct Normal;

impl Elementwise for Normal {
    fn kept(&self) -> Option<&'static Kept> {
        static KEPT: Kept = Kept::new();
        Some(&KEPT)
    }

    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        let [x, mean, rate] = inputs else { return Err(undefined("batch_norm")) };
        let off = builder.sub(x, mean)?;
        builder.mul(&off, rate)
    }
}

/// (upstream − level − normal · along) · rate
struct Back;

impl Elementwise for Back {
    fn kept(&self) -> Option<&'static Kept> {
        static KEPT: Kept = Kept::new();
        Some(&KEPT)
    }

    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        let [normal, along, level, rate, upstream] = inputs else { return Err(undefined("batch_norm")) };
        let part = builder.mul(normal, along)?;
        let rest = builder.sub(upstream, level)?;
        let rest = builder.sub(&rest, &part)?;
        builder.mul(&rest, rate)
    }
}
