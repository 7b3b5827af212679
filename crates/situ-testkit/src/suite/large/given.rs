//! Inputs made from a formula: large, and held by nobody.

use situ_core::{DType, Element, Result, Shape, TensorType, with_element};
use situ_tensor::{Tensor, constant};
use std::sync::Arc;

/// An input: a dtype, sizes, and what each element is.
#[derive(Clone)]
pub struct Given {
    /// The element type.
    pub dtype: DType,
    dims: Vec<usize>,
    value: Arc<dyn Fn(usize) -> f64 + Send + Sync>,
    /// Whether the op sees it with its axes reversed.
    reversed: bool,
}

/// Mixes a place and a seed (SplitMix64).
fn mixed(seed: u64, place: usize) -> u64 {
    let mut z = (place as u64).wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Given {
    /// Elements by their place in row-major order; each must be a number of the dtype.
    pub fn by(dtype: DType, dims: &[usize], value: impl Fn(usize) -> f64 + Send + Sync + 'static) -> Given {
        Given { dtype, dims: dims.to_vec(), value: Arc::new(value), reversed: false }
    }

    /// One value everywhere.
    pub fn full(dtype: DType, dims: &[usize], value: f64) -> Given {
        Given::by(dtype, dims, move |_| value)
    }

    /// Numbers without order: floats from −2 to 2 in steps of 1/1024, which sums in f64 do not round;
    /// integers from −1000 to 1000; any byte.
    pub fn noise(dtype: DType, dims: &[usize], seed: u64) -> Given {
        Given::by(dtype, dims, move |place| {
            let bits = mixed(seed, place);
            match dtype {
                DType::Bool => (bits & 1) as f64,
                _ if dtype.is_half() => (bits % 257) as f64 / 64.0 - 2.0,
                _ if dtype.is_float() => (bits % 4097) as f64 / 1024.0 - 2.0,
                _ if dtype.is_unsigned() => (bits % 256) as f64,
                _ if dtype.size() == 1 => (bits % 256) as f64 - 128.0,
                _ => (bits % 2001) as f64 - 1000.0,
            }
        })
    }

    /// Integers from 0 to below `limit`, without order.
    pub fn below(dtype: DType, dims: &[usize], limit: usize, seed: u64) -> Given {
        Given::by(dtype, dims, move |place| (mixed(seed, place) % limit as u64) as f64)
    }

    /// The same elements, which the op sees with the axes reversed.
    #[must_use]
    pub fn reversed(self) -> Given {
        Given { reversed: !self.reversed, ..self }
    }

    /// The sizes that the op sees.
    pub fn dims(&self) -> Vec<usize> {
        if self.reversed { self.dims.iter().rev().copied().collect() } else { self.dims.clone() }
    }

    /// The type that the op sees.
    pub fn tensor_type(&self) -> TensorType {
        TensorType::new(self.dtype, Shape::new(&self.dims()).expect("a test's shape is valid"))
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a place in memory.
    pub fn at(&self, place: usize) -> f64 {
        (self.value)(place)
    }

    /// All elements, in the order of memory.
    pub fn numbers(&self) -> Vec<f64> {
        (0..self.len()).map(|place| self.at(place)).collect()
    }

    /// The tensor, on the device of the scope.
    pub fn tensor(&self) -> Result<Tensor> {
        let places = 0..self.len();
        let dims = &self.dims;
        let tensor = with_element!(self.dtype, T => {
            constant(&places.map(|p| <T as Element>::from_f64(self.at(p))).collect::<Vec<_>>(), dims)
        })?;
        if self.reversed { tensor.transpose(&[]) } else { Ok(tensor) }
    }
}
