//! The values with which weights begin.
//!
//! Promises: the same seed, shape and fans give the same values, whatever the number of threads and wherever
//! the weight will be: they are drawn on the CPU and copied.

use crate::weight::Maker;
use situ_core::{DType, DeviceSpec, DeviceType, Error, Request, Result, Shape};
use situ_tensor::scope::enter;
use situ_tensor::{Tensor, constant, full};

/// How a weight begins.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::Shape;
/// use situ_nn::{Fans, Initializer, Maker};
/// let shape = Shape::new(&[3, 3, 16, 32])?;
/// let fans = Fans::of(&shape);
/// assert_eq!(fans, Fans { inputs: 144.0, outputs: 288.0 });
/// let kernel = Initializer::GlorotUniform.make(&shape, fans, &Maker::new(1))?;
/// let limit = (6.0f32 / (144.0 + 288.0)).sqrt();
/// assert!(kernel.to_vec::<f32>()?.iter().all(|w| w.abs() <= limit));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Initializer {
    /// Every element is 0.
    Zeros,
    /// Every element is 1.
    Ones,
    /// All the same.
    Constant(f64),
    /// Uniform from `low` to below `high`.
    Uniform {
        /// The least value.
        low: f64,
        /// Above the largest.
        high: f64,
    },
    /// The normal distribution.
    Normal {
        /// The mean of the distribution.
        mean: f64,
        /// Its standard deviation.
        deviation: f64,
    },
    /// The normal distribution, with what is further than two deviations from the mean drawn again.
    TruncatedNormal {
        /// The mean before the tails are cut off.
        mean: f64,
        /// Its standard deviation before it is cut.
        deviation: f64,
    },
    /// Uniform with variance 2 / (inputs + outputs).
    GlorotUniform,
    /// Truncated normal with variance 2 / (inputs + outputs).
    GlorotNormal,
    /// Uniform with variance 2 / inputs: for relu.
    HeUniform,
    /// Truncated normal with variance 2 / inputs: for relu.
    HeNormal,
    /// Uniform with variance 1 / inputs.
    LecunUniform,
    /// Truncated normal with variance 1 / inputs.
    LecunNormal,
    /// A random orthogonal matrix of all axes but the last by the last, times `gain`.
    Orthogonal {
        /// What it is multiplied by.
        gain: f64,
    },
    /// Ones on the diagonal of a matrix, times `gain`.
    Identity {
        /// What it is multiplied by.
        gain: f64,
    },
}

/// How many numbers one output is made of, and in how many outputs one input has a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fans {
    /// Inputs of one output.
    pub inputs: f64,
    /// Outputs of one input.
    pub outputs: f64,
}

impl Fans {
    /// Those of a shape whose last two axes are inputs and outputs, and whose others are a window.
    pub fn of(shape: &Shape) -> Fans {
        let size = |axis: usize| shape[axis] as f64;
        match shape.rank() {
            0 => Fans { inputs: 1.0, outputs: 1.0 },
            1 => Fans { inputs: size(0), outputs: size(0) },
            rank => {
                let window: f64 = (0..rank - 2).map(size).product();
                Fans { inputs: window * size(rank - 2), outputs: window * size(rank - 1) }
            }
        }
    }
}

/// The deviation of a standard normal cut at ±2.
const CUT_DEVIATION: f64 = 0.879_625_661_034_239_8;

impl Initializer {
    /// Values of that shape, on the CPU, of the maker's dtype and drawn from its generator.
    pub fn make(self, shape: &Shape, fans: Fans, maker: &Maker) -> Result<Tensor> {
        let spec = DeviceSpec::device(DeviceType::Cpu, 0);
        let _cpu = enter(Request { spec, ..Request::default() });
        let (dims, dtype) = (shape.dims(), maker.dtype());
        let generator = maker.generator();
        let spread = |variance: f64| {
            let limit = (3.0 * variance).sqrt();
            generator.uniform(dims, -limit, limit, dtype)
        };
        let normal = |variance: f64| truncated(shape, 0.0, variance.sqrt() / CUT_DEVIATION, maker);
        let mean_fan = (fans.inputs + fans.outputs) / 2.0;
        match self {
            Initializer::Zeros => filled(shape, 0.0, dtype),
            Initializer::Ones => filled(shape, 1.0, dtype),
            Initializer::Constant(value) => filled(shape, value, dtype),
            Initializer::Uniform { low, high } => generator.uniform(dims, low, high, dtype),
            Initializer::Normal { mean, deviation } => generator.normal(dims, mean, deviation, dtype),
            Initializer::TruncatedNormal { mean, deviation } => truncated(shape, mean, deviation, maker),
            Initializer::GlorotUniform => spread(1.0 / mean_fan.max(1.0)),
            Initializer::GlorotNormal => normal(1.0 / mean_fan.max(1.0)),
            Initializer::HeUniform => spread(2.0 / fans.inputs.max(1.0)),
            Initializer::HeNormal => normal(2.0 / fans.inputs.max(1.0)),
            Initializer::LecunUniform => spread(1.0 / fans.inputs.max(1.0)),
            Initializer::LecunNormal => normal(1.0 / fans.inputs.max(1.0)),
            Initializer::Orthogonal { gain } => orthogonal(shape, gain, maker),
            Initializer::Identity { gain } => identity(shape, gain, dtype),
        }
    }
}

fn filled(shape: &Shape, value: f64, dtype: DType) -> Result<Tensor> {
    match dtype {
        DType::F64 => full(shape.dims(), value),
        _ => full(shape.dims(), value as f32)?.cast(dtype),
    }
}

/// Host values as a tensor of a dtype.
fn held(values: &[f64], shape: &Shape, dtype: DType) -> Result<Tensor> {
    match dtype {
        DType::F32 => constant(&values.iter().map(|&v| v as f32).collect::<Vec<_>>(), shape.dims()),
        _ => constant(values, shape.dims())?.cast(dtype),
    }
}

fn standard_normals(count: usize, maker: &Maker) -> Result<Vec<f64>> {
    maker.generator().normal(&[count], 0.0, 1.0, DType::F64)?.to_vec::<f64>()
}

fn truncated(shape: &Shape, mean: f64, deviation: f64, maker: &Maker) -> Result<Tensor> {
    let mut values = standard_normals(shape.elements(), maker)?;
    let is_far = |value: f64| value.abs() > 2.0;
    let mut far: Vec<usize> = (0..values.len()).filter(|&at| is_far(values[at])).collect();
    while !far.is_empty() {
        let again = standard_normals(far.len(), maker)?;
        for (&at, value) in far.iter().zip(again) {
            values[at] = value;
        }
        far.retain(|&at| is_far(values[at]));
    }
    for value in &mut values {
        *value = mean + deviation * *value;
    }
    held(&values, shape, maker.dtype())
}

fn matrix_of(shape: &Shape) -> Result<(usize, usize)> {
    let Some(&columns) = shape.dims().last().filter(|_| shape.rank() >= 2) else {
        return Err(Error::argument(
            "initializer",
            format!("{shape} is no matrix"),
            "use another initialiser for weights of fewer than two axes",
        ));
    };
    Ok((shape.dims()[..shape.rank() - 1].iter().product(), columns))
}

/// Gram and Schmidt's way, twice over so that it holds to the last bits, on the longer side's columns.
fn orthogonal(shape: &Shape, gain: f64, maker: &Maker) -> Result<Tensor> {
    let (rows, columns) = matrix_of(shape)?;
    let (long, short) = (rows.max(columns), rows.min(columns));
    let drawn = standard_normals(long * short, maker)?;
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(short);
    for vector in drawn.chunks_exact(long.max(1)) {
        let mut vector = vector.to_vec();
        for _ in 0..2 {
            for other in &basis {
                let along: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
                vector.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
        }
        let length = vector.iter().map(|a| a * a).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|a| *a *= 1.0 / length);
        basis.push(vector);
    }
    let mut values = vec![0.0; rows * columns];
    for (number, vector) in basis.iter().enumerate() {
        for (position, value) in vector.iter().enumerate() {
            let at = if rows >= columns { position * columns + number } else { number * columns + position };
            values[at] = gain * value;
        }
    }
    held(&values, shape, maker.dtype())
}

fn identity(shape: &Shape, gain: f64, dtype: DType) -> Result<Tensor> {
    let (rows, columns) = matrix_of(shape)?;
    if shape.rank() != 2 {
        return Err(Error::argument(
            "initializer",
            format!("{shape} is no matrix, and has no diagonal"),
            "use it for weights of two axes",
        ));
    }
    let mut values = vec![0.0; rows * columns];
    for at in 0..rows.min(columns) {
        values[at * columns + at] = gain;
    }
    held(&values, shape, dtype)
}
