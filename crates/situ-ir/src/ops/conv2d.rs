//! Convolution of images (as networks mean it: the filter is not turned round), and its gradients, which are
//! ops of their own.

use super::window::{Filter, Image, Window, list};
use super::{Attributes, Given, Rule, arity, float_only, same_dtype};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{Error, Result, TensorType};

/// The convolution of images (first input) with filters (second). With groups, each group of channels has its
/// own filters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Conv2d {
    /// How the filters slide.
    pub window: Window,
    /// Groups of channels.
    pub groups: usize,
}

/// The sizes of a convolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConvSizes {
    /// What it takes.
    pub input: Image,
    /// The filters' shape, taken apart.
    pub filter: Filter,
    /// What it gives.
    pub output: Image,
}

impl Conv2d {
    /// The sizes for images and filters of these types, or why they do not fit.
    pub fn sizes(
        &self,
        op: &'static str,
        inputs: &[TensorType],
        x: &TensorType,
        filter: &TensorType,
    ) -> Result<ConvSizes> {
        let format = self.window.format;
        let input = format.image(op, inputs, &x.shape)?;
        self.with_filter(op, inputs, input, format.filter(op, inputs, &filter.shape)?)
    }

    fn with_filter(
        &self,
        op: &'static str,
        inputs: &[TensorType],
        input: Image,
        filter: Filter,
    ) -> Result<ConvSizes> {
        let groups = self.groups;
        let fits = groups > 0
            && filter.taken.checked_mul(groups) == Some(input.channels)
            && filter.out.is_multiple_of(groups);
        if !fits {
            return Err(Error::operands(
                op,
                inputs,
                format!(
                    "{} channels in {groups} groups do not fit filters that take {} and give {}",
                    input.channels, filter.taken, filter.out
                ),
                "filters take channels / groups, and give a multiple of groups",
            ));
        }
        let size = self.window.places(op, inputs, input.size, filter.size)?;
        let output = Image { batch: input.batch, channels: filter.out, size };
        Ok(ConvSizes { input, filter, output })
    }

    fn attributes(&self) -> Attributes {
        self.window.attributes().with("groups", self.groups)
    }

    fn read(given: &mut Given) -> Result<Conv2d> {
        Ok(Conv2d { window: Window::read(given)?, groups: given.integer("groups")? })
    }

    fn work(&self, sizes: Result<ConvSizes>, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Work::streaming(WorkClass::Matmul, 0.0, inputs, outputs);
        if let Ok(ConvSizes { filter, output, .. }) = sizes {
            let made = (output.batch * output.channels * output.size[0] * output.size[1]) as f64;
            work.flops = 2.0 * made * (filter.taken * filter.size[0] * filter.size[1]) as f64;
        }
        work
    }
}

fn floats(op: &'static str, inputs: &[TensorType]) -> Result<()> {
    arity(op, inputs, 2)?;
    float_only(op, inputs, same_dtype(op, inputs)?)
}

impl Rule for Conv2d {
    const NAMES: &'static [&'static str] = &["conv2d"];

    fn attributes(&self) -> Attributes {
        Conv2d::attributes(self)
    }

    fn read(_: &str, given: &mut Given) -> Result<Conv2d> {
        Conv2d::read(given)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        floats("conv2d", inputs)?;
        let sizes = self.sizes("conv2d", inputs, &inputs[0], &inputs[1])?;
        Ok(TensorType { dtype: inputs[0].dtype, shape: self.window.format.shape(sizes.output)? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Conv2d::work(self, self.sizes("conv2d", inputs, &inputs[0], &inputs[1]), inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let [x, filter] = at.inputs else { return Err(undefined("conv2d")) };
        by_both(*self, builder, at, [x, filter], at.by_output()?)
    }
}

/// The gradients by images and filters, where those are inputs 0 and 1.
fn by_both<B: Builder>(
    conv: Conv2d,
    builder: &mut B,
    at: &Application<'_, B::Value>,
    [x, filter]: [&B::Value; 2],
    upstream: &B::Value,
) -> Result<Gradients<B::Value>> {
    let types = [builder.type_of(x), builder.type_of(filter)];
    let ConvSizes { input, filter: sizes, .. } = conv.sizes("conv2d", &types, &types[0], &types[1])?;
    let by_x = if at.wants(0) {
        Some(builder.emit(Conv2dByInput { conv, size: input.size }.into(), &[upstream, filter])?)
    } else {
        None
    };
    let by_filter = if at.wants(1) {
        Some(builder.emit(Conv2dByFilter { conv, size: sizes.size }.into(), &[x, upstream])?)
    } else {
        None
    };
    Ok(Gradients::from_iter([by_x, by_filter]))
}

/// The gradient of a convolution by its images; inputs are the gradient by its result, and the filters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Conv2dByInput {
    /// The convolution whose gradient it is.
    pub conv: Conv2d,
    /// Height and width of its images.
    pub size: [usize; 2],
}

impl Conv2dByInput {
    /// The sizes of the convolution, or why these are no inputs of its gradient.
    pub fn sizes(&self, inputs: &[TensorType]) -> Result<ConvSizes> {
        let (op, format) = (self.name(), self.conv.window.format);
        let upstream = format.image(op, inputs, &inputs[0].shape)?;
        let filter = format.filter(op, inputs, &inputs[1].shape)?;
        let channels = filter.taken.saturating_mul(self.conv.groups);
        let input = Image { batch: upstream.batch, channels, size: self.size };
        let sizes = self.conv.with_filter(op, inputs, input, filter)?;
        check(op, inputs, sizes.output == upstream)?;
        Ok(sizes)
    }
}

fn check(op: &'static str, inputs: &[TensorType], fits: bool) -> Result<()> {
    if fits {
        return Ok(());
    }
    let why = "the gradient does not have the shape of the convolution's result";
    Err(Error::operands(op, inputs, why, "give the gradient by the result"))
}

impl Rule for Conv2dByInput {
    const NAMES: &'static [&'static str] = &["conv2d_by_input"];

    fn attributes(&self) -> Attributes {
        self.conv.attributes().with("size", self.size.as_slice())
    }

    fn read(_: &str, given: &mut Given) -> Result<Conv2dByInput> {
        Ok(Conv2dByInput { conv: Conv2d::read(given)?, size: list(given, "size")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        floats(self.name(), inputs)?;
        let shape = self.conv.window.format.shape(self.sizes(inputs)?.input)?;
        Ok(TensorType { dtype: inputs[0].dtype, shape })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        self.conv.work(self.sizes(inputs), inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        // Linear in both: what flows back takes the place of the images.
        let ([result, filter], upstream) = (at.inputs, at.by_output()?) else {
            return Err(undefined(self.name()));
        };
        let by_result =
            if at.wants(0) { Some(builder.emit(self.conv.into(), &[upstream, filter])?) } else { None };
        let by_filter = if at.wants(1) {
            let size = self.conv.window.format.filter(self.name(), &[], &builder.shape(filter))?.size;
            Some(builder.emit(Conv2dByFilter { conv: self.conv, size }.into(), &[upstream, result])?)
        } else {
            None
        };
        Ok(Gradients::from_iter([by_result, by_filter]))
    }
}

/// The gradient of a convolution by its filters; inputs are the images, and the gradient by its result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Conv2dByFilter {
    /// The convolution whose gradient it is.
    pub conv: Conv2d,
    /// Height and width of its filters.
    pub size: [usize; 2],
}

impl Conv2dByFilter {
    /// The sizes of the convolution, or why these are no inputs of its gradient.
    pub fn sizes(&self, inputs: &[TensorType]) -> Result<ConvSizes> {
        let (op, format) = (self.name(), self.conv.window.format);
        let input = format.image(op, inputs, &inputs[0].shape)?;
        let upstream = format.image(op, inputs, &inputs[1].shape)?;
        let taken = input.channels / self.conv.groups.max(1);
        let filter = Filter { out: upstream.channels, taken, size: self.size };
        let sizes = self.conv.with_filter(op, inputs, input, filter)?;
        check(op, inputs, sizes.output == upstream)?;
        Ok(sizes)
    }
}

impl Rule for Conv2dByFilter {
    const NAMES: &'static [&'static str] = &["conv2d_by_filter"];

    fn attributes(&self) -> Attributes {
        self.conv.attributes().with("size", self.size.as_slice())
    }

    fn read(_: &str, given: &mut Given) -> Result<Conv2dByFilter> {
        Ok(Conv2dByFilter { conv: Conv2d::read(given)?, size: list(given, "size")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        floats(self.name(), inputs)?;
        let shape = self.conv.window.format.filter_shape(self.sizes(inputs)?.filter)?;
        Ok(TensorType { dtype: inputs[0].dtype, shape })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        self.conv.work(self.sizes(inputs), inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        // Linear in both: what flows back takes the place of the filters.
        let ([x, result], upstream) = (at.inputs, at.by_output()?) else {
            return Err(undefined(self.name()));
        };
        let by_x = if at.wants(0) {
            let size = self.conv.window.format.image(self.name(), &[], &builder.shape(x))?.size;
            Some(builder.emit(Conv2dByInput { conv: self.conv, size }.into(), &[result, upstream])?)
        } else {
            None
        };
        let by_result =
            if at.wants(1) { Some(builder.emit(self.conv.into(), &[x, upstream])?) } else { None };
        Ok(Gradients::from_iter([by_x, by_result]))
    }
}
