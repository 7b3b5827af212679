//! An op's input as a test lays it out: plain data, seen dense or through views.

use crate::array::{Array, Numbers, indices, position};
use situ_core::{Caller, DType, DeviceId, Layout, Policy, Result, Shape};
use situ_ir::Op;
use situ_ir::ops::{Expand, Permute, Slice};
use situ_runtime::{DeviceTensor, Request, Runtime};

/// One way to look at what lies in memory.
#[derive(Clone, Debug)]
pub enum View {
    /// Axes in another order.
    Permute(Vec<usize>),
    /// For each axis the first index, the step and the count.
    Slice(Vec<(usize, isize, usize)>),
    /// Broadcast to a larger shape.
    Expand(Vec<usize>),
}

/// How an array is laid out in memory. The op sees the same elements in every form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In row-major order from the start.
    Dense,
    /// In column-major order, seen through a transpose.
    Transposed,
    /// Every second element of a larger array, from an odd offset on.
    Stepped,
    /// Backwards along every axis.
    Reversed,
    /// In row-major order, but not from the start: one element, or one row, comes before it.
    Offset,
}

impl Form {
    /// The forms that are not dense.
    pub const VIEWS: [Form; 4] = [Form::Transposed, Form::Stepped, Form::Reversed, Form::Offset];

    /// A word for names of cases.
    pub fn name(self) -> &'static str {
        match self {
            Form::Dense => "dense",
            Form::Transposed => "transposed",
            Form::Stepped => "stepped",
            Form::Reversed => "reversed",
            Form::Offset => "offset",
        }
    }
}

/// Data and the views through which an op sees it.
#[derive(Clone, Debug)]
pub struct Input {
    /// What lies in memory.
    pub base: Array,
    /// The views, first to last.
    pub views: Vec<View>,
}

impl From<Array> for Input {
    fn from(base: Array) -> Input {
        Input { base, views: Vec::new() }
    }
}

impl Input {
    /// `array` laid out in a form.
    pub fn formed(array: Array, form: Form) -> Input {
        let dims = array.dims.clone();
        match form {
            Form::Dense => array.into(),
            Form::Transposed => {
                let reversed: Vec<usize> = dims.iter().rev().copied().collect();
                let positions = indices(&reversed).map(|index| {
                    let back: Vec<usize> = index.iter().rev().copied().collect();
                    position(&dims, &back)
                });
                let base = array.pick(&reversed, positions.collect::<Vec<_>>());
                Input { base, views: vec![View::Permute((0..dims.len()).rev().collect())] }
            }
            Form::Stepped => {
                let larger: Vec<usize> = dims.iter().map(|d| 2 * d + 1).collect();
                let within = |index: &[usize]| index.iter().all(|i| i % 2 == 1);
                let source = indices(&larger).map(|index| {
                    let halved: Vec<usize> = index.iter().map(|i| i / 2).collect();
                    within(&index).then(|| position(&dims, &halved))
                });
                let base = array.spread(&larger, source.collect());
                let spans = dims.iter().map(|&d| (if d == 0 { 0 } else { 1 }, 2, d)).collect();
                Input { base, views: vec![View::Slice(spans)] }
            }
            Form::Reversed => {
                let positions = indices(&dims).map(|index| {
                    let mirrored: Vec<usize> = index.iter().zip(&dims).map(|(i, d)| d - 1 - i).collect();
                    position(&dims, &mirrored)
                });
                let base = array.pick(&dims, positions.collect::<Vec<_>>());
                let spans = dims.iter().map(|&d| (d.saturating_sub(1), -1, d)).collect();
                Input { base, views: vec![View::Slice(spans)] }
            }
            Form::Offset => {
                let Some(&first) = dims.first() else { return array.into() };
                let mut larger = dims.clone();
                larger[0] = first + 1;
                let row: usize = dims[1..].iter().product();
                let source = (0..larger.iter().product()).map(|at: usize| at.checked_sub(row));
                let base = array.spread(&larger, source.collect());
                let mut spans: Vec<_> = dims.iter().map(|&d| (0, 1, d)).collect();
                spans[0] = (if first == 0 { 0 } else { 1 }, 1, first);
                Input { base, views: vec![View::Slice(spans)] }
            }
        }
    }

    /// `array` broadcast to a larger shape as a view.
    pub fn expanded(array: Array, dims: &[usize]) -> Input {
        Input { base: array, views: vec![View::Expand(dims.to_vec())] }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.base.dtype
    }

    /// How the op should see it.
    pub fn layout(&self) -> Layout {
        let mut layout = Layout::dense(self.base.shape());
        for view in &self.views {
            layout = match view {
                View::Permute(order) => {
                    let dims: Vec<usize> = order.iter().map(|&a| layout.shape()[a]).collect();
                    layout.permute(order, shape(&dims))
                }
                View::Slice(spans) => {
                    let starts: Vec<usize> = spans.iter().map(|s| s.0).collect();
                    let steps: Vec<isize> = spans.iter().map(|s| s.1).collect();
                    let sizes: Vec<usize> = spans.iter().map(|s| s.2).collect();
                    layout.slice(&starts, &steps, shape(&sizes))
                }
                View::Expand(dims) => layout.expand(shape(dims)),
            };
        }
        layout
    }

    /// The elements the op sees, row-major: what references are given.
    pub fn dense(&self) -> Array {
        let layout = self.layout();
        let offsets: Vec<usize> = layout.offsets().collect();
        self.base.pick(layout.shape(), offsets)
    }

    /// The input as a tensor on a device. Views must cost nothing: the layout is checked.
    pub fn place(&self, runtime: &Runtime, on: DeviceId) -> Result<DeviceTensor> {
        let request = strictly_on(on);
        let caller = Caller::here();
        let ty = situ_core::TensorType::new(self.base.dtype, self.base.shape());
        let base = runtime.constant(&self.base.bytes(), ty, &request, caller)?;
        let mut tensor = base.clone();
        for view in &self.views {
            let op: Op = match view {
                View::Permute(order) => Permute::new(order)?.into(),
                View::Slice(spans) => {
                    let starts: Vec<usize> = spans.iter().map(|s| s.0).collect();
                    let steps: Vec<isize> = spans.iter().map(|s| s.1).collect();
                    let sizes: Vec<usize> = spans.iter().map(|s| s.2).collect();
                    Slice::new(&starts, &steps, &sizes)?.into()
                }
                View::Expand(dims) => Expand { shape: shape(dims) }.into(),
            };
            tensor = runtime.eager(&op, &[&tensor], &request, caller)?;
        }
        assert_eq!(*tensor.layout(), self.layout(), "the layout of a view");
        assert!(tensor.shares_memory_with(&base), "a view was copied");
        Ok(tensor)
    }
}

impl Array {
    /// A larger array with the elements at the given places, and values that would be noticed everywhere
    /// else.
    fn spread(&self, dims: &[usize], source: Vec<Option<usize>>) -> Array {
        let numbers = match &self.numbers {
            Numbers::Real(v) => Numbers::Real(source.iter().map(|s| s.map_or(-7777.0, |p| v[p])).collect()),
            Numbers::Whole(v) => {
                let junk = if self.dtype == DType::Bool { 1 } else { 77 };
                Numbers::Whole(source.iter().map(|s| s.map_or(junk, |p| v[p])).collect())
            }
        };
        Array { dtype: self.dtype, dims: dims.to_vec(), numbers }
    }
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).expect("a test's shape is valid")
}

/// A request for exactly that device: no fallback, no implicit copy.
pub fn strictly_on(device: DeviceId) -> Request {
    Request {
        spec: device.spec(),
        fallback: Some(Policy::Forbid),
        copies: Some(Policy::Forbid),
        ..Request::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_shows_the_same_elements() {
        for dims in [vec![], vec![5], vec![3, 4], vec![2, 3, 4], vec![0, 3]] {
            let count: usize = dims.iter().product();
            let array = Array::whole(DType::I32, &dims, (0..count as i128).collect());
            for form in Form::VIEWS {
                let input = Input::formed(array.clone(), form);
                assert_eq!(input.dense().wholes(), array.wholes(), "{form:?} of {dims:?}");
                assert_eq!(input.dense().dims, dims);
            }
        }
    }
}
