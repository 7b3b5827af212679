//! Values worth trying, the same in every run.

use crate::array::Array;
use situ_core::DType;

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
            DType::Bool => (noise.next_bits() & 1) as i64,
            DType::U8 => noise.below(256) as i64,
            _ => noise.below(201) as i64 - 100,
        };
        Array::whole(dtype, dims, (0..count).map(|_| draw(self)).collect())
    }

    /// Floats from `low` to below `high`.
    pub fn reals(&mut self, dtype: DType, dims: &[usize], low: f64, high: f64) -> Array {
        let count = dims.iter().product();
        Array::real(dtype, dims, (0..count).map(|_| self.between(low, high)).collect())
    }

    /// Integers from `low` to below `high`.
    pub fn wholes(&mut self, dtype: DType, dims: &[usize], low: i64, high: i64) -> Array {
        let count: usize = dims.iter().product();
        let span = (high - low) as usize;
        Array::whole(dtype, dims, (0..count).map(|_| low + self.below(span) as i64).collect())
    }
}

/// The corners of a dtype: infinities, NaN, zeros of both signs, denormals, the ends of the range.
pub fn special(dtype: DType) -> Array {
    let list = match dtype {
        DType::F32 => {
            reals(f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), 1.0e-45, f64::from(f32::EPSILON))
        }
        DType::F64 => reals(f64::MAX, f64::MIN_POSITIVE, 5.0e-324, f64::EPSILON),
        DType::I32 => return wholes(dtype, i64::from(i32::MIN), i64::from(i32::MAX)),
        DType::I64 => return wholes(dtype, i64::MIN, i64::MAX),
        DType::U8 => {
            let list: Vec<i64> = vec![0, 1, 2, 3, 7, 15, 16, 100, 127, 128, 200, 254, 255];
            return Array::whole(dtype, &[list.len()], list);
        }
        DType::Bool => return Array::whole(dtype, &[5], vec![0, 1, 1, 0, 1]),
    };
    Array::real(dtype, &[list.len()], list)
}

fn wholes(dtype: DType, least: i64, most: i64) -> Array {
    let list =
        vec![least, least + 1, -46341, -1000, -7, -3, -2, -1, 0, 1, 2, 3, 7, 1000, 46341, most - 1, most];
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
