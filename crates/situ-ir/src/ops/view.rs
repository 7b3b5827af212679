//! Ops that only look at their input differently: they cost nothing until a kernel needs their result dense.

use super::{Attributes, Given, Pad, Rule, Viewing, arity};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms};
use crate::work::{Work, WorkClass};
use situ_core::{Error, Layout, MAX_RANK, Result, Scalar, Shape, TensorType};

/// Every element of the result is read once and written once, if it must be moved at all.
fn moved(outputs: &[TensorType]) -> Work {
    Work::streaming(WorkClass::Move, 0.0, outputs, outputs)
}

/// The same elements in row-major order under another shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reshape {
    /// The new shape.
    pub shape: Shape,
}

impl Rule for Reshape {
    const NAMES: &'static [&'static str] = &["reshape"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("shape", self.shape)
    }

    fn read(_: &str, given: &mut Given) -> Result<Reshape> {
        Ok(Reshape { shape: given.shape("shape")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("reshape", inputs, 1)?;
        let (have, want) = (inputs[0].shape.elements(), self.shape.elements());
        if have != want {
            return Err(Error::operands(
                "reshape",
                inputs,
                format!("{} has {want} elements, the input has {have}", self.shape),
                "use -1 for the one axis that should be worked out",
            ));
        }
        Ok(TensorType { dtype: inputs[0].dtype, shape: self.shape })
    }

    fn work(&self, _: &[TensorType], outputs: &[TensorType]) -> Work {
        moved(outputs)
    }

    fn view(&self, input: &Layout, output: &TensorType) -> Option<Layout> {
        input.reshape(output.shape)
    }

    #[inline]
    fn viewing(&self) -> Viewing {
        Viewing::OfDense
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let back = builder.reshaped(at.by_output()?, builder.shape(&at.inputs[0]))?;
        Ok(Gradients::from_iter([Some(back)]))
    }
}

/// The axes in another order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Permute {
    perm: [u8; MAX_RANK],
    rank: u8,
}

impl Permute {
    /// Axis i of the result is axis `perm[i]` of the input; an error unless each stands there once.
    pub fn new(perm: &[usize]) -> Result<Permute> {
        let mut held = [0; MAX_RANK];
        let mut seen = [false; MAX_RANK];
        for (to, &from) in perm.iter().enumerate() {
            if perm.len() > MAX_RANK || from >= perm.len() || std::mem::replace(&mut seen[from], true) {
                return Err(Error::argument(
                    "transpose",
                    format!("{perm:?} is not an order of {} axes", perm.len()),
                    "name every axis exactly once",
                ));
            }
            held[to] = from as u8;
        }
        Ok(Permute { perm: held, rank: perm.len() as u8 })
    }

    /// The axis of the input that each axis of the result is.
    pub fn order(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.perm[..usize::from(self.rank)].iter().map(|&a| usize::from(a))
    }
}

impl Rule for Permute {
    const NAMES: &'static [&'static str] = &["transpose"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("order", self.order().collect::<Vec<_>>().as_slice())
    }

    fn read(_: &str, given: &mut Given) -> Result<Permute> {
        Permute::new(&given.list::<usize>("order")?)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("transpose", inputs, 1)?;
        let shape = inputs[0].shape;
        if shape.rank() != usize::from(self.rank) {
            return Err(Error::operands(
                "transpose",
                inputs,
                format!("the order names {} axes, the input has {}", self.rank, shape.rank()),
                "name every axis of the input exactly once",
            ));
        }
        let mut dims = [0; MAX_RANK];
        for (to, from) in self.order().enumerate() {
            dims[to] = shape[from];
        }
        Ok(TensorType { dtype: inputs[0].dtype, shape: Shape::new(&dims[..shape.rank()])? })
    }

    fn work(&self, _: &[TensorType], outputs: &[TensorType]) -> Work {
        moved(outputs)
    }

    fn view(&self, input: &Layout, output: &TensorType) -> Option<Layout> {
        let mut perm = [0; MAX_RANK];
        for (to, from) in self.order().enumerate() {
            perm[to] = from;
        }
        Some(input.permute(&perm[..usize::from(self.rank)], output.shape))
    }

    #[inline]
    fn viewing(&self) -> Viewing {
        Viewing::Always
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let mut inverse = [0; MAX_RANK];
        for (to, from) in self.order().enumerate() {
            inverse[from] = to;
        }
        let back = Permute::new(&inverse[..usize::from(self.rank)])?;
        Ok(Gradients::from_iter([Some(builder.emit(back.into(), &[at.by_output()?])?)]))
    }
}

/// Broadcast to a larger shape: axes of size 1 repeat, new axes come in front.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Expand {
    /// The larger shape.
    pub shape: Shape,
}

impl Rule for Expand {
    const NAMES: &'static [&'static str] = &["expand"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("shape", self.shape)
    }

    fn read(_: &str, given: &mut Given) -> Result<Expand> {
        Ok(Expand { shape: given.shape("shape")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("expand", inputs, 1)?;
        match inputs[0].shape.broadcast(&self.shape) {
            Some(Ok(joined)) if joined == self.shape => {
                Ok(TensorType { dtype: inputs[0].dtype, shape: self.shape })
            }
            _ => Err(Error::operands(
                "expand",
                inputs,
                format!("does not broadcast to {}", self.shape),
                "sizes must be equal, or 1 in the input, from the last axis on",
            )),
        }
    }

    fn work(&self, _: &[TensorType], outputs: &[TensorType]) -> Work {
        moved(outputs)
    }

    fn view(&self, input: &Layout, output: &TensorType) -> Option<Layout> {
        Some(input.expand(output.shape))
    }

    #[inline]
    fn viewing(&self) -> Viewing {
        Viewing::Always
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let back = builder.summed_to(at.by_output()?, builder.shape(&at.inputs[0]))?;
        Ok(Gradients::from_iter([Some(back)]))
    }
}

/// Part of each axis, from a start in steps that may be negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slice {
    starts: [usize; MAX_RANK],
    steps: [isize; MAX_RANK],
    sizes: Shape,
}

impl Slice {
    /// For each axis the first index, the step, and how many elements are taken.
    pub fn new(starts: &[usize], steps: &[isize], sizes: &[usize]) -> Result<Slice> {
        let sizes = Shape::new(sizes)?;
        let rank = sizes.rank();
        if starts.len() != rank || steps.len() != rank {
            return Err(Error::argument(
                "slice",
                format!("{} starts, {} steps and {rank} sizes", starts.len(), steps.len()),
                "give one of each for every axis",
            ));
        }
        let mut slice = Slice { starts: [0; MAX_RANK], steps: [1; MAX_RANK], sizes };
        slice.starts[..rank].copy_from_slice(starts);
        slice.steps[..rank].copy_from_slice(steps);
        Ok(slice)
    }

    /// The first index of each axis.
    pub fn starts(&self) -> &[usize] {
        &self.starts[..self.sizes.rank()]
    }
    /// The step of each axis.
    pub fn steps(&self) -> &[isize] {
        &self.steps[..self.sizes.rank()]
    }
    /// How many elements are taken of each axis.
    pub fn sizes(&self) -> &Shape {
        &self.sizes
    }
}

impl Rule for Slice {
    const NAMES: &'static [&'static str] = &["slice"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("starts", self.starts()).with("steps", self.steps()).with("sizes", self.sizes)
    }

    fn read(_: &str, given: &mut Given) -> Result<Slice> {
        let (starts, steps, sizes) = (given.list("starts")?, given.list("steps")?, given.list("sizes")?);
        Slice::new(&starts, &steps, &sizes)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("slice", inputs, 1)?;
        let shape = inputs[0].shape;
        if shape.rank() != self.sizes.rank() {
            return Err(Error::operands(
                "slice",
                inputs,
                format!("the slice has {} axes, the input has {}", self.sizes.rank(), shape.rank()),
                "give a range for every axis",
            ));
        }
        for axis in 0..shape.rank() {
            let (start, step, size) = (self.starts[axis], self.steps[axis], self.sizes[axis]);
            let last = (size.max(1) as i128 - 1) * step as i128 + start as i128;
            let inside = |i: i128| (0..shape[axis] as i128).contains(&i);
            if size > 0 && (step == 0 || !inside(start as i128) || !inside(last)) {
                return Err(Error::operands(
                    "slice",
                    inputs,
                    format!("{size} elements from {start} in steps of {step} pass the end of axis {axis}"),
                    format!("stay within 0 to {} and use a step other than 0", shape[axis].saturating_sub(1)),
                ));
            }
        }
        Ok(TensorType { dtype: inputs[0].dtype, shape: self.sizes })
    }

    fn work(&self, _: &[TensorType], outputs: &[TensorType]) -> Work {
        moved(outputs)
    }

    fn view(&self, input: &Layout, output: &TensorType) -> Option<Layout> {
        Some(input.slice(self.starts(), self.steps(), output.shape))
    }

    #[inline]
    fn viewing(&self) -> Viewing {
        Viewing::Always
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let shape = builder.shape(&at.inputs[0]);
        let mut back = at.by_output()?.clone();
        for axis in 0..shape.rank() {
            let along = Along { start: self.starts[axis], step: self.steps[axis], size: shape[axis] };
            back = along.spread(builder, &back, axis)?;
        }
        Ok(Gradients::from_iter([Some(back)]))
    }
}

/// How a slice takes one axis.
struct Along {
    start: usize,
    step: isize,
    size: usize,
}

impl Along {
    /// Puts the elements of `x` along an axis where the slice took them from, with zeros elsewhere.
    fn spread<B: Builder>(&self, builder: &mut B, x: &B::Value, axis: usize) -> Result<B::Value> {
        let shape = builder.shape(x);
        let count = shape[axis];
        if count == 0 {
            return builder.filled(x, shape.with_dim(axis, self.size)?, 0.0);
        }
        let mut x = x.clone();
        let stride = self.step.unsigned_abs();
        if self.step < 0 {
            x = builder.emit(reversed(&shape, axis)?.into(), &[&x])?;
        }
        let first = if self.step < 0 { self.start - (count - 1) * stride } else { self.start };
        let mut taken = count;
        if stride > 1 && count > 1 {
            // Each element is followed by as many zeros as the step leaves out; the last one's are cut off.
            let outer: usize = shape[..axis].iter().product();
            let inner: usize = shape[axis + 1..].iter().product();
            let apart = builder.reshaped(&x, Shape::new(&[outer, count, 1, inner])?)?;
            let zero = Scalar::of(builder.dtype(&x), 0.0);
            let pad = Pad::new(&[(0, 0), (0, 0), (0, stride - 1), (0, 0)], zero)?;
            let padded = builder.emit(pad.into(), &[&apart])?;
            let joined = builder.reshaped(&padded, Shape::new(&[outer, count * stride, inner])?)?;
            taken = (count - 1) * stride + 1;
            let cut = Slice::new(&[0; 3], &[1; 3], &[outer, taken, inner])?;
            let cut = builder.emit(cut.into(), &[&joined])?;
            x = builder.reshaped(&cut, shape.with_dim(axis, taken)?)?;
        }
        if taken == self.size {
            return Ok(x);
        }
        let mut widths = [(0, 0); MAX_RANK];
        widths[axis] = (first, self.size - first - taken);
        let pad = Pad::new(&widths[..shape.rank()], Scalar::of(builder.dtype(&x), 0.0))?;
        builder.emit(pad.into(), &[&x])
    }
}

/// The slice that turns one axis round.
fn reversed(shape: &Shape, axis: usize) -> Result<Slice> {
    let (mut starts, mut steps) = ([0; MAX_RANK], [1; MAX_RANK]);
    starts[axis] = shape[axis].saturating_sub(1);
    steps[axis] = -1;
    Slice::new(&starts[..shape.rank()], &steps[..shape.rank()], shape)
}

/// The same tensor, dense: what turns a view into memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dense;

impl Rule for Dense {
    const NAMES: &'static [&'static str] = &["dense"];

    fn read(_: &str, _: &mut Given) -> Result<Dense> {
        Ok(Dense)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("dense", inputs, 1)?;
        Ok(inputs[0])
    }

    fn work(&self, _: &[TensorType], outputs: &[TensorType]) -> Work {
        moved(outputs)
    }

    fn moved(&self, elements: &[Scalar]) -> Option<Scalar> {
        elements.first().copied()
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let _ = builder;
        Ok(Gradients::from_iter([Some(at.by_output()?.clone())]))
    }
}
