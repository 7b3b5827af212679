//! Normalisation over the last axis.

use super::{Attributes, Given, Rule, UnaryKind, arity, float_only, same_dtype};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{Axes, Error, Real, Result, TensorType};

/// `(x − mean) / √(variance + epsilon) · scale + shift` over the last axis; inputs are x, scale and shift.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LayerNorm {
    /// Added to the variance.
    pub epsilon: Real,
}

impl Rule for LayerNorm {
    const NAMES: &'static [&'static str] = &["layer_norm"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("epsilon", self.epsilon)
    }

    fn read(_: &str, given: &mut Given) -> Result<LayerNorm> {
        Ok(LayerNorm { epsilon: given.real("epsilon")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 3)?;
        let dtype = same_dtype(op, inputs)?;
        float_only(op, inputs, dtype)?;
        let x = inputs[0].shape;
        let fits = |t: &TensorType| x.rank() > 0 && t.shape.rank() == 1 && t.shape[0] == x[x.rank() - 1];
        if !fits(&inputs[1]) || !fits(&inputs[2]) {
            return Err(Error::operands(
                op,
                inputs,
                "scale and shift must have one axis, as long as the last axis of the first input",
                "make them the size of the last axis",
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
        let [x, scale, shift] = at.inputs else { return Err(undefined("layer_norm")) };
        let upstream = at.by_output()?;
        let axes = Axes::one(builder.shape(x).rank() - 1);
        let mean = builder.mean_keep(x, axes)?;
        let centred = builder.sub(x, &mean)?;
        let squares = builder.unary(UnaryKind::Square, &centred)?;
        let variance = builder.mean_keep(&squares, axes)?;
        let sum = builder.plus(&variance, self.epsilon.0)?;
        let rate = builder.unary(UnaryKind::Rsqrt, &sum)?;
        let normal = builder.mul(&centred, &rate)?;
        let by_x = if at.wants(0) {
            let scaled = builder.mul(upstream, scale)?;
            let along = builder.mul(&scaled, &normal)?;
            let along = builder.mean_keep(&along, axes)?;
            let level = builder.mean_keep(&scaled, axes)?;
            Some(builder.elementwise(&Back, &[&normal, &along, &level, &rate, &scaled])?)
        } else {
            None
        };
        let by_scale = if at.wants(1) {
            let part = builder.mul(upstream, &normal)?;
            Some(builder.summed_to(&part, builder.shape(scale))?)
        } else {
            None
        };
        let by_shift =
            if at.wants(2) { Some(builder.summed_to(upstream, builder.shape(shift))?) } else { None };
        Ok(Gradients::from_iter([by_x, by_scale, by_shift]))
    }
}

/// (scaled − level − normal · along) · rate: what is left of the gradient when its mean and its part along x
/// are taken out.
struct Back;

impl Elementwise for Back {
    fn kept(&self) -> Option<&'static Kept> {
        static KEPT: Kept = Kept::new();
        Some(&KEPT)
    }

    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        let [normal, along, level, rate, scaled] = inputs else { return Err(undefined("layer_norm")) };
        let part = builder.mul(normal, along)?;
        let rest = builder.sub(scaled, level)?;
        let rest = builder.sub(&rest, &part)?;
        builder.mul(&rest, rate)
    }
}
