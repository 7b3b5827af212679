//! Plain dense data as references compute with it: floats in f64, everything else in i64.

use situ_core::{DType, Element, Shape};

/// Elements, wide enough for every dtype.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Of f32 and f64.
    Real(Vec<f64>),
    /// Of integers and bools.
    Whole(Vec<i64>),
}

/// Elements in row-major order under a shape.
#[derive(Clone, Debug)]
pub struct Array {
    /// What a tensor of them holds.
    pub dtype: DType,
    /// The sizes, outermost first.
    pub dims: Vec<usize>,
    /// The elements.
    pub numbers: Numbers,
}

impl Array {
    /// Floats, rounded to the dtype.
    pub fn real(dtype: DType, dims: &[usize], mut values: Vec<f64>) -> Array {
        assert!(dtype.is_float(), "{dtype} is no float");
        assert_eq!(values.len(), dims.iter().product::<usize>(), "elements of {dims:?}");
        if dtype == DType::F32 {
            values.iter_mut().for_each(|v| *v = f64::from(*v as f32));
        }
        Array { dtype, dims: dims.to_vec(), numbers: Numbers::Real(values) }
    }

    /// Floats as a reference gives them, not yet rounded to the dtype.
    pub fn unrounded(dtype: DType, dims: &[usize], values: Vec<f64>) -> Array {
        assert!(dtype.is_float(), "{dtype} is no float");
        assert_eq!(values.len(), dims.iter().product::<usize>(), "elements of {dims:?}");
        Array { dtype, dims: dims.to_vec(), numbers: Numbers::Real(values) }
    }

    /// Integers or bools, wrapped to the dtype.
    pub fn whole(dtype: DType, dims: &[usize], mut values: Vec<i64>) -> Array {
        assert!(!dtype.is_float(), "{dtype} is no integer");
        assert_eq!(values.len(), dims.iter().product::<usize>(), "elements of {dims:?}");
        values.iter_mut().for_each(|v| *v = wrap(dtype, *v));
        Array { dtype, dims: dims.to_vec(), numbers: Numbers::Whole(values) }
    }

    /// Values given as f64, for any dtype: integers are truncated and wrapped, bools are "not zero".
    pub fn of(dtype: DType, dims: &[usize], values: &[f64]) -> Array {
        if dtype.is_float() {
            Array::real(dtype, dims, values.to_vec())
        } else if dtype == DType::Bool {
            Array::whole(dtype, dims, values.iter().map(|&v| i64::from(v != 0.0)).collect())
        } else {
            Array::whole(dtype, dims, values.iter().map(|&v| v as i64).collect())
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a float array.
    pub fn reals(&self) -> &[f64] {
        match &self.numbers {
            Numbers::Real(values) => values,
            Numbers::Whole(_) => panic!("an array of {} was read as floats", self.dtype),
        }
    }

    /// The elements of an integer or bool array.
    pub fn wholes(&self) -> &[i64] {
        match &self.numbers {
            Numbers::Whole(values) => values,
            Numbers::Real(_) => panic!("an array of {} was read as integers", self.dtype),
        }
    }

    /// The shape as tensors have it.
    pub fn shape(&self) -> Shape {
        Shape::new(&self.dims).expect("a test's shape is valid")
    }

    /// The same elements under another shape.
    pub fn reshaped(&self, dims: &[usize]) -> Array {
        assert_eq!(dims.iter().product::<usize>(), self.len());
        Array { dims: dims.to_vec(), ..self.clone() }
    }

    /// The elements at those positions, under a shape: how references move things.
    pub fn pick(&self, dims: &[usize], positions: impl IntoIterator<Item = usize>) -> Array {
        let positions = positions.into_iter();
        let numbers = match &self.numbers {
            Numbers::Real(v) => Numbers::Real(positions.map(|p| v[p]).collect()),
            Numbers::Whole(v) => Numbers::Whole(positions.map(|p| v[p]).collect()),
        };
        let picked = Array { dtype: self.dtype, dims: dims.to_vec(), numbers };
        match &picked.numbers {
            Numbers::Real(v) => assert_eq!(v.len(), picked.len()),
            Numbers::Whole(v) => assert_eq!(v.len(), picked.len()),
        }
        picked
    }

    /// Denormal floats replaced by zeros, as some GPUs see them.
    pub fn flushed(&self) -> Array {
        match &self.numbers {
            Numbers::Real(v) if self.dtype == DType::F32 => {
                let flush =
                    |x: &f64| if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0f64.copysign(*x) } else { *x };
                Array { numbers: Numbers::Real(v.iter().map(flush).collect()), ..self.clone() }
            }
            Numbers::Real(_) | Numbers::Whole(_) => self.clone(),
        }
    }

    /// The elements as a tensor's memory holds them.
    pub fn bytes(&self) -> Vec<u8> {
        match (&self.numbers, self.dtype) {
            (Numbers::Real(v), DType::F32) => v.iter().flat_map(|&x| (x as f32).to_ne_bytes()).collect(),
            (Numbers::Real(v), _) => v.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            (Numbers::Whole(v), DType::I32) => v.iter().flat_map(|&x| (x as i32).to_ne_bytes()).collect(),
            (Numbers::Whole(v), DType::I64) => v.iter().flat_map(|x| x.to_ne_bytes()).collect(),
            (Numbers::Whole(v), _) => v.iter().map(|&x| x as u8).collect(),
        }
    }

    /// A tensor's memory as an array.
    pub fn from_bytes(dtype: DType, dims: &[usize], bytes: &[u8]) -> Array {
        let chunks = bytes.chunks_exact(dtype.size());
        let numbers = match dtype {
            DType::F32 => Numbers::Real(chunks.map(|c| f64::from(f32::from_bytes(c))).collect()),
            DType::F64 => Numbers::Real(chunks.map(f64::from_bytes).collect()),
            DType::I32 => Numbers::Whole(chunks.map(|c| i64::from(i32::from_bytes(c))).collect()),
            DType::I64 => Numbers::Whole(chunks.map(i64::from_bytes).collect()),
            // A bool is one byte, 0 or 1: any other byte is a fault that the comparison must see.
            DType::U8 | DType::Bool => Numbers::Whole(bytes.iter().map(|&b| i64::from(b)).collect()),
        };
        Array { dtype, dims: dims.to_vec(), numbers }
    }
}

/// An integer wrapped to a dtype; "not zero" for bool.
pub fn wrap(dtype: DType, value: i64) -> i64 {
    match dtype {
        DType::I32 => i64::from(value as i32),
        DType::I64 => value,
        DType::U8 => i64::from(value as u8),
        DType::Bool => i64::from(value != 0),
        DType::F32 | DType::F64 => panic!("{dtype} does not wrap"),
    }
}

/// Row-major strides of a dense array.
pub fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

/// Every index of a shape, in row-major order.
pub fn indices(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let dims = dims.to_vec();
    let steps = strides(&dims);
    let count: usize = dims.iter().product();
    (0..count).map(move |flat| steps.iter().zip(&dims).map(|(s, d)| flat / s % d).collect())
}

/// The position of an index in a dense array.
pub fn position(dims: &[usize], index: &[usize]) -> usize {
    strides(dims).iter().zip(index).map(|(s, i)| s * i).sum()
}
