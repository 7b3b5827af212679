//! Plain dense data as references compute with it: floats in f64, everything else in i128.

use situ_core::{DType, Element, Scalar, Shape, with_element};

/// Elements, wide enough for every dtype.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Elements that are floats.
    Real(Vec<f64>),
    /// Of integers and bools.
    Whole(Vec<i128>),
}

/// Elements in row-major order under a shape.
#[derive(Clone, Debug)]
pub struct Array {
    /// What a tensor of them holds.
    pub dtype: DType,
    /// The sizes, outermost first.
    pub dims: Vec<usize>,
    /// The elements, row-major.
    pub numbers: Numbers,
}

impl Array {
    /// Floats, rounded to the dtype.
    pub fn real(dtype: DType, dims: &[usize], mut values: Vec<f64>) -> Array {
        assert!(dtype.is_float(), "{dtype} is no float");
        assert_eq!(values.len(), dims.iter().product::<usize>(), "elements of {dims:?}");
        if dtype != DType::F64 {
            values.iter_mut().for_each(|v| *v = rounded(dtype, *v));
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
    pub fn whole(dtype: DType, dims: &[usize], mut values: Vec<i128>) -> Array {
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
            Array::whole(dtype, dims, values.iter().map(|&v| i128::from(v != 0.0)).collect())
        } else {
            Array::whole(dtype, dims, values.iter().map(|&v| v as i128).collect())
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
    pub fn wholes(&self) -> &[i128] {
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
            Numbers::Real(v) if self.dtype != DType::F64 => {
                let least = self.dtype.least_normal().expect("a float");
                let flush = |x: &f64| if x.abs() < least { 0.0f64.copysign(*x) } else { *x };
                Array { numbers: Numbers::Real(v.iter().map(flush).collect()), ..self.clone() }
            }
            Numbers::Real(_) | Numbers::Whole(_) => self.clone(),
        }
    }

    /// The elements as a tensor's memory holds them.
    pub fn bytes(&self) -> Vec<u8> {
        let scalar = |value: Scalar| value.bits().to_le_bytes();
        let size = self.dtype.size();
        match &self.numbers {
            Numbers::Real(v) => {
                v.iter().flat_map(|&x| scalar(Scalar::of(self.dtype, x)).into_iter().take(size)).collect()
            }
            Numbers::Whole(v) => v
                .iter()
                .flat_map(|&x| scalar(Scalar::of_whole(self.dtype, x)).into_iter().take(size))
                .collect(),
        }
    }

    /// A tensor's memory as an array.
    pub fn from_bytes(dtype: DType, dims: &[usize], bytes: &[u8]) -> Array {
        let chunks = bytes.chunks_exact(dtype.size());
        let numbers = match dtype {
            // A bool is one byte, 0 or 1: any other byte is a fault that the comparison must see.
            DType::Bool => Numbers::Whole(bytes.iter().map(|&b| i128::from(b)).collect()),
            _ if dtype.is_float() => {
                with_element!(dtype, T => Numbers::Real(chunks.map(|c| T::from_bytes(c).to_f64()).collect()))
            }
            _ => with_element!(dtype, T => {
                Numbers::Whole(chunks.filter_map(|c| T::from_bytes(c).to_whole()).collect())
            }),
        };
        Array { dtype, dims: dims.to_vec(), numbers }
    }
}

/// An integer wrapped to a dtype; "not zero" for bool.
pub fn wrap(dtype: DType, value: i128) -> i128 {
    Scalar::of_whole(dtype, value).to_whole().unwrap_or_else(|| panic!("{dtype} does not wrap"))
}

/// The float of a dtype that is nearest to a number, ties to even.
pub fn rounded(dtype: DType, value: f64) -> f64 {
    let (Some(bits), Some(least_normal)) = (dtype.significand_bits(), dtype.least_normal()) else {
        panic!("{dtype} is no float")
    };
    if dtype == DType::F64 || value == 0.0 || !value.is_finite() {
        return value;
    }
    // Floats near the number are so far apart; an f64 has all of them, and their quotients exactly.
    let exponent = f64::from_bits(value.abs().max(least_normal).to_bits() & (0x7ff << 52));
    let step = exponent * 2f64.powi(1 - bits as i32);
    let near = (value / step).round_ties_even() * step;
    // Exponents are as many above 1 as below it: the next power of two after the largest float.
    let beyond = 4.0 / least_normal;
    if near.abs() >= beyond { f64::INFINITY.copysign(value) } else { near }
}

/// The float of a dtype that is nearest to a whole number, ties to even.
pub fn rounded_whole(dtype: DType, value: i128) -> f64 {
    match dtype {
        DType::F64 => value as f64,
        DType::F32 => f64::from(value as f32),
        _ => {
            // Whether anything is beyond the first 40 bits is all that matters of it.
            let cut = (128 - value.unsigned_abs().leading_zeros()).saturating_sub(40);
            let lost = i128::from(value.unsigned_abs() & ((1 << cut) - 1) != 0);
            let kept = (value.abs() >> cut) | lost;
            rounded(dtype, (kept * value.signum()) as f64 * 2f64.powi(cut as i32))
        }
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
