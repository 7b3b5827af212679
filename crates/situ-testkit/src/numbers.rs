//! Values worth trying, the same in every run.

use crate::array::Array;
use situ_core::{DType, Scalar};

/// A small generator of noise: repeatable, and not the one under test.
#[derive(Clone, Debug)]
pub struct Noise(u64);

impl Noise {
    /// Noise of its own for that name.
    pub fn named(name: &str) -> Noise {
        let start = 0xcbf2_9ce4_8422_2325u64;
        Noise(name.bytes().fold(start, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// The next 64 bits (splitmix).
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to below `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next_bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 to below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next_bits() % count as u64) as usize
    }

    /// An array of ordinary values: floats from -3 to 3, small integers of either sign, truth values.
    pub fn array(&mut self, dtype: DType, dims: &[usize]) -> Array {
        let count: usize = dims.iter().product();
        if dtype.is_float() {
            return self.reals(dtype, dims, -3.0, 3.0);
        }
        let draw = |noise: &mut Noise| match dtype {
            DType::Bool => (noise.next_bits() & 1) as i128,
            _ if dtype.is_unsigned() => noise.below(256) as i128,
            _ => noise.below(201) as i128 - 100,
        };
        Array::whole(dtype, dims, (0..count).map(|_| draw(self)).collect())
    }

    /// Floats from `low` to below `high`.
    pub fn reals(&mut self, dtype: DType, dims: &[usize], low: f64, high: f64) -> Array {
        let count = dims.iter().product();
        Array::real(dtype, dims, (0..count).map(|_| self.between(low, high)).collect())
    }

    /// Integers from `low` to below `high`.
    pub fn wholes(&mut self, dtype: DType, dims: &[usize], low: i128, high: i128) -> Array {
        let count: usize = dims.iter().product();
        let span = (high - low) as usize;
        Array::whole(dtype, dims, (0..count).map(|_| low + self.below(span) as i128).collect())
    }
}

/// Every float dtype.
pub fn floats() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| dtype.is_float())
}

/// The corners of a dtype: infinities, NaN, zeros of both signs, denormals, the ends of the range.
pub fn special(dtype: DType) -> Array {
    let list = match dtype.whole_range() {
        _ if dtype == DType::Bool => return Array::whole(dtype, &[5], vec![0, 1, 1, 0, 1]),
        Some(range) => return wholes(dtype, *range.start(), *range.end()),
        None => {
            let most = largest(dtype);
            let least_normal = dtype.least_normal().expect("a float");
            let step = 2f64.powi(1 - dtype.significand_bits().expect("a float") as i32);
            reals(most, least_normal, least_normal * step, step)
        }
    };
    Array::real(dtype, &[list.len()], list)
}

/// The largest finite float of a dtype.
pub fn largest(dtype: DType) -> f64 {
    // One below infinity, in bits.
    Scalar::from_bits(dtype, Scalar::of(dtype, f64::INFINITY).bits() - 1).to_f64()
}

fn wholes(dtype: DType, least: i128, most: i128) -> Array {
    let middle = [-46341, -1000, -7, -3, -2, -1, 0, 1, 2, 3, 7, 15, 16, 100, 127, 128, 200, 1000, 46341];
    let middle = middle.into_iter().filter(|n| (least + 2..most - 1).contains(n));
    let list: Vec<i128> = [least, least + 1].into_iter().chain(middle).chain([most - 1, most]).collect();
    Array::whole(dtype, &[list.len()], list)
}

fn reals(most: f64, least_normal: f64, least: f64, step: f64) -> Vec<f64> {
    let mut list = vec![f64::NAN];
    let positive = [
        0.0,
        least,
        least_normal / 4.0,
        least_normal,
        1e-20,
        step,
        1e-4,
        0.1,
        0.5,
        1.0 - step,
        1.0,
        1.0 + step,
        1.5,
        2.0,
        2.5,
        3.0,
        std::f64::consts::PI,
        9.0,
        10.0,
        20.0,
        50.0,
        88.0,
        100.0,
        1000.0,
        8_388_607.5,
        16_777_216.0,
        1e10,
        1e18,
        1e19,
        1e30,
        most,
        f64::INFINITY,
    ];
    list.extend(positive);
    list.extend(positive.map(|v| -v));
    list
}

/// The special values followed by `more` ordinary ones from `low` to `high`, in one axis.
pub fn special_and_ordinary(dtype: DType, more: usize, noise: &mut Noise) -> Array {
    let corners = special(dtype);
    let rest = noise.array(dtype, &[more]);
    let dims = [corners.len() + more];
    if dtype.is_float() {
        Array::real(dtype, &dims, [corners.reals(), rest.reals()].concat())
    } else {
        Array::whole(dtype, &dims, [corners.wholes(), rest.wholes()].concat())
    }
}
