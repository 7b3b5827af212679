//! The weights behind a normalisation: a scale and a shift for each channel, each of which may be left out.

use crate::{Identity, Initializer, Maker, Recipe, Weight};
use situ_core::{DType, Result};
use situ_tensor::{Tensor, ones, zeros};

/// A scale that begins at 1 and a shift that begins at 0.
#[derive(Debug)]
pub(super) struct ScaleAndShift {
    pub(super) use_scale: bool,
    pub(super) use_shift: bool,
    pub(super) scale: Option<Weight>,
    pub(super) shift: Option<Weight>,
}

impl Default for ScaleAndShift {
    fn default() -> ScaleAndShift {
        ScaleAndShift { use_scale: true, use_shift: true, scale: None, shift: None }
    }
}

impl ScaleAndShift {
    pub(super) fn make(&mut self, maker: &mut Maker, size: usize) -> Result<()> {
        if self.use_scale {
            maker.make(&mut self.scale, &Recipe::new("scale", &[size], Initializer::Ones)?)?;
        }
        if self.use_shift {
            maker.make(&mut self.shift, &Recipe::new("shift", &[size], Initializer::Zeros)?)?;
        }
        Ok(())
    }

    /// How many channels they were made for; `None` where neither was.
    pub(super) fn size(&self) -> Option<usize> {
        let weight = self.scale.as_ref().or(self.shift.as_ref())?;
        Some(weight.variable.shape().elements())
    }

    /// Both for `size` channels of a dtype, with ones or zeros, which kernels want all the same, for the one
    /// that is left out.
    pub(super) fn values(
        &self,
        kind: &'static str,
        identity: &Identity,
        size: usize,
        dtype: DType,
    ) -> Result<[Tensor; 2]> {
        let scale = match self.use_scale {
            true => identity.value(kind, &self.scale)?,
            false => ones(&[size], dtype)?,
        };
        let shift = match self.use_shift {
            true => identity.value(kind, &self.shift)?,
            false => zeros(&[size], dtype)?,
        };
        Ok([scale, shift])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Weight> {
        self.scale.iter().chain(&self.shift)
    }
}
