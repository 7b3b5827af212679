//! Choosing between two tensors element by element.

use super::{Given, Register, Rule, Step, arity, broadcast, same_dtype};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, TensorType};

/// `where(condition, a, b)`: a where the condition holds, else b; all three broadcast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Where;

impl Rule for Where {
    const NAMES: &'static [&'static str] = &["where"];

    fn read(_: &str, _: &mut Given) -> Result<Where> {
        Ok(Where)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("where", inputs, 3)?;
        if inputs[0].dtype != DType::Bool {
            return Err(Error::operands(
                "where",
                inputs,
                "the condition must be bool",
                "compare it with something",
            ));
        }
        let dtype = same_dtype("where", &inputs[1..])?;
        Ok(TensorType { dtype, shape: broadcast("where", inputs)? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Elementwise, 1.0, inputs, outputs)
    }

    fn kernel_dtype(&self, inputs: &[TensorType], _: &[TensorType]) -> DType {
        inputs[1].dtype
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn step(&self, reads: &[Register]) -> Option<Step> {
        match reads {
            [condition, a, b] => Some(Step::Where(*condition, *a, *b)),
            _ => None,
        }
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let upstream = at.by_output()?;
        let condition = &at.inputs[0];
        let mut by_side = |side: usize, holds: bool| {
            if !at.wants(side) {
                return Ok(None);
            }
            let part = builder.elementwise(&Side { holds }, &[condition, upstream])?;
            builder.summed_to(&part, builder.shape(&at.inputs[side])).map(Some)
        };
        Ok(Gradients::from_iter([None, by_side(1, true)?, by_side(2, false)?]))
    }
}

/// What flows back to one side: the upstream gradient where that side was taken.
struct Side {
    holds: bool,
}

impl Elementwise for Side {
    fn kept(&self) -> Option<&'static Kept> {
        static KEPT: [Kept; 2] = [const { Kept::new() }; 2];
        KEPT.get(usize::from(self.holds))
    }

    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        let [condition, upstream] = inputs else { return Err(crate::gradient::undefined("where")) };
        if self.holds {
            builder.where_or_zero(condition, upstream)
        } else {
            builder.zero_or(condition, upstream)
        }
    }
}
