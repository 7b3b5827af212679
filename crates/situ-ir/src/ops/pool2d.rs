//! Pooling of images: the largest or the mean of each window, and their gradients.

use super::window::{Image, Window, list};
use super::{Attributes, Given, Rule, arity, float_only, same_dtype};
use crate::gradient::{Application, Builder, Differentiability, Gradients, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{Error, Result, TensorType};

/// What a window becomes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PoolKind {
    /// The largest; NaN if any is.
    Max,
    /// The mean of those that are not padding.
    Average,
}

/// Pools each channel of images. Padding counts for nothing; every window must have a pixel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pool2d {
    /// What a window becomes.
    pub kind: PoolKind,
    /// Height and width of the window.
    pub size: [usize; 2],
    /// How it slides.
    pub window: Window,
}

impl Pool2d {
    /// The images it takes and gives, or why it can't.
    pub fn sizes(&self, op: &'static str, inputs: &[TensorType]) -> Result<[Image; 2]> {
        let input = self.window.format.image(op, inputs, &inputs[0].shape)?;
        let size = self.window.places(op, inputs, input.size, self.size)?;
        for axis in 0..2 {
            let [before, after] = self.window.padding[axis];
            let reach = self.window.dilation[axis] * (self.size[axis] - 1) + 1;
            let strides_past = input.size[axis] == 0 || self.window.dilation[axis] > input.size[axis];
            if before >= reach || after >= reach || strides_past {
                return Err(Error::operands(
                    op,
                    inputs,
                    format!("a window of {:?} may lie on padding alone, or between the pixels", self.size),
                    "pad less than the window is long, and dilate by no more than the image's size",
                ));
            }
        }
        Ok([input, Image { size, ..input }])
    }

    fn attributes(&self) -> Attributes {
        self.window.attributes().with("size", self.size.as_slice())
    }

    fn read(kind: PoolKind, given: &mut Given) -> Result<Pool2d> {
        Ok(Pool2d { kind, window: Window::read(given)?, size: list(given, "size")? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Work::streaming(WorkClass::Reduce, 0.0, inputs, outputs);
        if let Ok([_, out]) = self.sizes("pool2d", inputs) {
            let places = out.batch * out.channels * out.size[0] * out.size[1];
            work.flops = places as f64 * (self.size[0] * self.size[1]) as f64;
        }
        work
    }
}

impl Rule for Pool2d {
    const NAMES: &'static [&'static str] = &["max_pool2d", "average_pool2d"];

    fn name(&self) -> &'static str {
        match self.kind {
            PoolKind::Max => "max_pool2d",
            PoolKind::Average => "average_pool2d",
        }
    }

    fn attributes(&self) -> Attributes {
        Pool2d::attributes(self)
    }

    fn read(name: &str, given: &mut Given) -> Result<Pool2d> {
        Pool2d::read(if name == "max_pool2d" { PoolKind::Max } else { PoolKind::Average }, given)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity(self.name(), inputs, 1)?;
        float_only(self.name(), inputs, inputs[0].dtype)?;
        let [_, output] = self.sizes(self.name(), inputs)?;
        Ok(TensorType { dtype: inputs[0].dtype, shape: self.window.format.shape(output)? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Pool2d::work(self, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let back = builder.emit(Pool2dByInput { pool: *self }.into(), &[&at.inputs[0], at.by_output()?])?;
        Ok(Gradients::from_iter([Some(back)]))
    }
}

/// The gradient of pooling by its images; inputs are the images, and the gradient by its result. Of equals in
/// a window, the first one has it all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pool2dByInput {
    /// The pooling whose gradient it is.
    pub pool: Pool2d,
}

impl Rule for Pool2dByInput {
    const NAMES: &'static [&'static str] = &["max_pool2d_by_input", "average_pool2d_by_input"];

    fn name(&self) -> &'static str {
        match self.pool.kind {
            PoolKind::Max => "max_pool2d_by_input",
            PoolKind::Average => "average_pool2d_by_input",
        }
    }

    fn attributes(&self) -> Attributes {
        self.pool.attributes()
    }

    fn read(name: &str, given: &mut Given) -> Result<Pool2dByInput> {
        let kind = if name == "max_pool2d_by_input" { PoolKind::Max } else { PoolKind::Average };
        Ok(Pool2dByInput { pool: Pool2d::read(kind, given)? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity(self.name(), inputs, 2)?;
        float_only(self.name(), inputs, same_dtype(self.name(), inputs)?)?;
        let [_, output] = self.pool.sizes(self.name(), inputs)?;
        if self.pool.window.format.shape(output)? != inputs[1].shape {
            let why = "the gradient does not have the shape of the pooled images";
            return Err(Error::operands(self.name(), inputs, why, "give the gradient by the result"));
        }
        Ok(inputs[0])
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        self.pool.work(inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        match self.pool.kind {
            // Where the largest is moves in steps, and there is no op that takes elements from there.
            PoolKind::Max => Differentiability::Flat,
            PoolKind::Average => Differentiability::Smooth,
        }
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let [x, _] = at.inputs else { return Err(undefined(self.name())) };
        let by_x = if at.wants(0) {
            use crate::gradient::Terms;
            Some(builder.filled(x, builder.shape(x), 0.0)?)
        } else {
            None
        };
        let by_result =
            if at.wants(1) { Some(builder.emit(self.pool.into(), &[at.by_output()?])?) } else { None };
        Ok(Gradients::from_iter([by_x, by_result]))
    }
}
