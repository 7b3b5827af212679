//! Making tensors.

use crate::apply::apply;
use crate::current::current_runtime;
use crate::scope::{current_request, line_of};
use crate::tensor::Tensor;
use situ_core::{Caller, DType, DeviceSpec, DeviceType, Element, Error, Result, Scalar, Shape, TensorType};
use situ_ir::ops::{Eye, Fill, Range};

/// Host values that can become a tensor: a number, an array, a vector, or arrays of them.
pub trait TensorData {
    /// The element type.
    type Element: Element;
    /// Appends the sizes, outermost first; false where rows have different lengths.
    fn dims(&self, dims: &mut Vec<usize>) -> bool;
    /// Appends the elements, row-major.
    fn collect_into(&self, elements: &mut Vec<Self::Element>);
}

macro_rules! number_data {
    ($([$variant:ident ($t:ty) $($rest:tt)*])*) => {$(
        impl TensorData for $t {
            type Element = $t;
            fn dims(&self, _: &mut Vec<usize>) -> bool { true }
            fn collect_into(&self, elements: &mut Vec<$t>) { elements.push(*self); }
        }
    )*};
}
situ_core::dtype_table! { [number_data] }

impl<T: TensorData> TensorData for [T] {
    type Element = T::Element;
    fn dims(&self, dims: &mut Vec<usize>) -> bool {
        dims.push(self.len());
        let Some(first) = self.first() else { return true };
        let mut inner = Vec::new();
        let mut ok = first.dims(&mut inner);
        for other in &self[1..] {
            let mut theirs = Vec::new();
            ok &= other.dims(&mut theirs) && theirs == inner;
        }
        dims.extend(inner);
        ok
    }
    fn collect_into(&self, elements: &mut Vec<T::Element>) {
        for one in self {
            one.collect_into(elements);
        }
    }
}
impl<T: TensorData, const N: usize> TensorData for [T; N] {
    type Element = T::Element;
    fn dims(&self, dims: &mut Vec<usize>) -> bool {
        self.as_slice().dims(dims)
    }
    fn collect_into(&self, elements: &mut Vec<T::Element>) {
        self.as_slice().collect_into(elements);
    }
}
impl<T: TensorData> TensorData for Vec<T> {
    type Element = T::Element;
    fn dims(&self, dims: &mut Vec<usize>) -> bool {
        self.as_slice().dims(dims)
    }
    fn collect_into(&self, elements: &mut Vec<T::Element>) {
        self.as_slice().collect_into(elements);
    }
}
impl<T: TensorData + ?Sized> TensorData for &T {
    type Element = T::Element;
    fn dims(&self, dims: &mut Vec<usize>) -> bool {
        (**self).dims(dims)
    }
    fn collect_into(&self, elements: &mut Vec<T::Element>) {
        (**self).collect_into(elements);
    }
}

/// A tensor of host values, on the device of the scope, or with the host's data where there is none.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// let x = situ_tensor::tensor([[1, 2, 3], [4, 5, 6]])?;
/// assert_eq!(x.shape().dims(), [2, 3]);
/// assert_eq!(situ_tensor::tensor(2.5f64)?.rank(), 0);
/// assert!(situ_tensor::tensor(vec![vec![1.0f32], vec![]]).is_err());
/// # Ok(()) }
/// ```
#[track_caller]
pub fn tensor<D: TensorData>(data: D) -> Result<Tensor> {
    let mut dims = Vec::new();
    if !data.dims(&mut dims) {
        return Err(Error::argument(
            "tensor",
            "the rows have different lengths",
            "make them equal, or pad them",
        ));
    }
    let mut elements = Vec::new();
    data.collect_into(&mut elements);
    constant(&elements, &dims)
}

/// A tensor of elements in row-major order under a shape.
#[track_caller]
pub fn constant<T: Element>(elements: &[T], dims: &[usize]) -> Result<Tensor> {
    let caller = line_of(Caller::here());
    let shape = shape_for("constant", dims)?;
    if shape.elements() != elements.len() {
        return Err(Error::argument(
            "constant",
            format!("shape {shape} has {} elements, was given {}", shape.elements(), elements.len()),
            "give exactly the elements of the shape",
        ));
    }
    // SAFETY: every element type is plain data without padding, so its memory may be looked at as bytes.
    let bytes = unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) };
    let ty = TensorType::new(T::DTYPE, shape);
    let made = current_runtime().constant(bytes, ty, &current_request(), caller)?;
    Ok(Tensor::from_concrete(made))
}

/// A tensor in the host's memory whose bytes, row-major, `write` writes where they will lie: what a loader
/// uses to copy its data once. `write` must write every byte; a bool is 0 or 1. It lies on the CPU of the
/// scope, or on the first one.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::{DType, Shape, TensorType};
/// let ty = TensorType::new(DType::U8, Shape::new(&[3])?);
/// let x = situ_tensor::written(ty, |bytes| {
///     bytes.copy_from_slice(&[1, 2, 3]);
///     Ok(())
/// })?;
/// assert_eq!(x.to_vec::<u8>()?, [1, 2, 3]);
/// # Ok(()) }
/// ```
#[track_caller]
pub fn written(ty: TensorType, write: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Tensor> {
    let mut request = current_request();
    if request.spec.kind != Some(DeviceType::Cpu) {
        request.spec = DeviceSpec::device(DeviceType::Cpu, 0);
    }
    Ok(Tensor::from_concrete(current_runtime().written(ty, &request, Caller::here(), write)?))
}

/// A shape; an error that names the call where it can't be.
fn shape_for(call: &'static str, dims: &[usize]) -> Result<Shape> {
    Shape::new(dims).map_err(|error| error.of_op(call, &[]))
}

/// A tensor of one value.
#[track_caller]
pub fn full<T: Element>(dims: &[usize], value: T) -> Result<Tensor> {
    apply(Fill { shape: shape_for("full", dims)?, value: value.to_scalar() }, &[])
}

/// A tensor of zeros.
#[track_caller]
pub fn zeros(dims: &[usize], dtype: DType) -> Result<Tensor> {
    apply(Fill { shape: shape_for("zeros", dims)?, value: Scalar::of(dtype, 0.0) }, &[])
}

/// A tensor of ones.
#[track_caller]
pub fn ones(dims: &[usize], dtype: DType) -> Result<Tensor> {
    apply(Fill { shape: shape_for("ones", dims)?, value: Scalar::of(dtype, 1.0) }, &[])
}

/// `start`, `start + step`, … before `stop`: an element is `start + i · step`, and none of them reaches
/// `stop`, nor rounds to it.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// assert_eq!(situ_tensor::range(0, 7, 3)?.to_vec::<i32>()?, [0, 3, 6]);
/// assert_eq!(situ_tensor::range(0.0f32, 0.3, 0.1)?.to_vec::<f32>()?, [0.0, 0.1, 0.2]);
/// # Ok(()) }
/// ```
#[track_caller]
pub fn range<T: Element>(start: T, stop: T, step: T) -> Result<Tensor> {
    let (first, last, by) = (start.to_scalar(), stop.to_scalar(), step.to_scalar());
    let Some(count) = count_before(first, last, by) else {
        return Err(Error::argument(
            "range",
            format!("from {first} to {last} in steps of {by} has no end"),
            "give finite bounds and a step other than 0",
        ));
    };
    apply(Range { start: first, step: by, count }, &[])
}

/// How many of `start + i · step` come before `stop`; `None` where there is no end to them, or no number
/// holds it.
fn count_before(start: Scalar, stop: Scalar, step: Scalar) -> Option<usize> {
    if let (Some(start), Some(stop), Some(step)) = (start.to_whole(), stop.to_whole(), step.to_whole()) {
        let span = if step < 0 { start - stop } else { stop - start };
        let step = step.unsigned_abs();
        let count = u128::try_from(span).unwrap_or(0);
        return if step == 0 { None } else { usize::try_from(count.div_ceil(step)).ok() };
    }
    let most = ((stop.to_f64() - start.to_f64()) / step.to_f64()).ceil();
    // NaN and infinite counts come of a zero step or of bounds that are no numbers.
    if !most.is_finite() || most > isize::MAX as f64 {
        return None;
    }
    // Elements are rounded one by one, and never get smaller: those that reach the end are all behind those
    // that do not.
    let is_before = |i: usize| match (start, stop, step) {
        (Scalar::F32(start), Scalar::F32(stop), Scalar::F32(step)) => {
            let value = start + i as f32 * step;
            if step < 0.0 { value > stop } else { value < stop }
        }
        _ => {
            let (first, stop, step) = (start.to_f64(), stop.to_f64(), step.to_f64());
            let value = match start.dtype().is_half() {
                // Computed in f32, and rounded once.
                true => Scalar::of(start.dtype(), f64::from(first as f32 + i as f32 * step as f32)).to_f64(),
                false => first + i as f64 * step,
            };
            if step < 0.0 { value > stop } else { value < stop }
        }
    };
    let (mut least, mut most) = (0, most.max(0.0) as usize);
    while least < most {
        let middle = least + (most - least) / 2;
        if is_before(middle) { least = middle + 1 } else { most = middle }
    }
    Some(least)
}

/// The numbers from 0 to `count` − 1, which an integer dtype must have.
#[track_caller]
pub fn arange(count: usize, dtype: DType) -> Result<Tensor> {
    let last = count.saturating_sub(1);
    let range = dtype.whole_range().filter(|_| dtype.is_integer());
    if range.is_some_and(|range| !range.contains(&(last as i128))) {
        return Err(Error::argument(
            "range",
            format!("{dtype} has no element {last}"),
            "count in i64 or in a float",
        ));
    }
    apply(Range { start: Scalar::of(dtype, 0.0), step: Scalar::of(dtype, 1.0), count }, &[])
}

/// Ones on the diagonal of a matrix, zeros elsewhere.
#[track_caller]
pub fn eye(rows: usize, columns: usize, dtype: DType) -> Result<Tensor> {
    apply(Eye { rows, columns, dtype }, &[])
}
