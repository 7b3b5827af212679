//! The same tensor, through which no gradient flows.

use super::{Given, Rule, Viewing, arity};
use crate::gradient::Differentiability;
use crate::work::{Work, WorkClass};
use situ_core::{Layout, Result, TensorType};

/// Its input, as a view; a constant to gradients. Only graphs have it: a tape simply forgets the way there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StopGradient;

impl Rule for StopGradient {
    const NAMES: &'static [&'static str] = &["stop_gradient"];

    fn read(_: &str, _: &mut Given) -> Result<StopGradient> {
        Ok(StopGradient)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("stop_gradient", inputs, 1)?;
        Ok(inputs[0])
    }

    fn work(&self, _: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 0.0, outputs, outputs)
    }

    fn view(&self, input: &Layout, _: &TensorType) -> Option<Layout> {
        Some(*input)
    }

    #[inline]
    fn viewing(&self) -> Viewing {
        Viewing::Always
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Stop
    }
}
