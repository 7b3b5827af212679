//! Gradients of the suite's ops: by finite differences, between devices, and between tape and function.
//!
//! The cases are those of the suite whose op is smooth: the same shapes, attributes and views, with values of
//! their own that keep away from corners. What is differentiated is the sum of the results, each times a
//! weight, by everything that lies in memory, so that the views are differentiated as well.

use super::case::Case;
use crate::array::{Array, Numbers};
use crate::input::{Input, View};
use crate::numbers::Noise;
use situ_core::{DType, Element, Error, Result, Shape, with_element};
use situ_ir::ops::{BinaryKind, Expand, Permute, Slice, UnaryKind};
use situ_ir::{Differentiability, Op};
use situ_tensor::{Function, Source, Tape, Tensor, apply_op, constant};
use std::sync::Arc;

/// Elements in memory beyond which a case is left to the others like it.
const MOST: usize = 700;
/// Single elements of each input whose derivative is checked; all of them are, together, along random
/// directions.
const ELEMENTS: usize = 6;
/// Random directions.
const DIRECTIONS: usize = 2;

/// A smooth op on inputs of one float dtype, and what it is to be differentiated at.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The case it was made from.
    pub name: String,
    /// The op that is differentiated.
    pub op: Op,
    inputs: Vec<Input>,
}

/// The problems of the suite in a dtype: all floats are of it. (Rounding to another would drown small
/// differences.)
pub fn problems(cases: &[Case], dtype: DType) -> Vec<Problem> {
    let fits = |case: &&Case| {
        let floats: Vec<DType> = case.inputs.iter().map(Input::dtype).filter(|d| d.is_float()).collect();
        let size: usize = case.inputs.iter().map(|i| i.base.len()).sum();
        // All outputs are differentiated at once.
        case.op.differentiability() == Differentiability::Smooth
            && case.output == 0
            && !floats.is_empty()
            && floats.iter().all(|d| *d == dtype)
            && size <= MOST
            && gives(case, dtype)
    };
    cases.iter().filter(fits).map(Problem::new).collect()
}

fn gives(case: &Case, dtype: DType) -> bool {
    let types: Vec<_> =
        case.inputs.iter().map(|i| situ_core::TensorType::new(i.dtype(), *i.layout().shape())).collect();
    case.op.infer(&types).is_ok_and(|out| out.iter().all(|t| t.dtype == dtype))
}

impl Problem {
    fn new(case: &Case) -> Problem {
        let mut noise = Noise::named(&case.name);
        let inputs = case.inputs.iter().enumerate().map(|(number, input)| {
            let base = &input.base;
            if !base.dtype.is_float() {
                return input.clone();
            }
            let (low, high) = domain(&case.op, number);
            let mut draw = || loop {
                let value = noise.between(low, high);
                // Away from zero, where many functions have a corner.
                if value.abs() > 0.05 {
                    return value;
                }
            };
            let values = (0..base.len()).map(|_| draw()).collect();
            Input { base: Array::real(base.dtype, &base.dims, values), views: input.views.clone() }
        });
        Problem { name: case.name.clone(), op: case.op.clone(), inputs: inputs.collect() }
    }

    fn bases(&self) -> Vec<Array> {
        self.inputs.iter().map(|input| input.base.clone()).collect()
    }

    fn views(&self) -> Arc<Vec<Vec<View>>> {
        Arc::new(self.inputs.iter().map(|input| input.views.clone()).collect())
    }

    fn is_float(&self, number: usize) -> bool {
        self.inputs[number].dtype().is_float()
    }
}

/// From where to where an input is taken: within the function's domain, and away from its poles.
fn domain(op: &Op, number: usize) -> (f64, f64) {
    match op {
        Op::Unary(op) => match op.kind {
            UnaryKind::Log | UnaryKind::Sqrt | UnaryKind::Rsqrt | UnaryKind::Reciprocal => (0.3, 3.0),
            UnaryKind::Log1p => (-0.6, 3.0),
            _ => (-2.5, 2.5),
        },
        Op::Binary(op) if op.kind == BinaryKind::Pow => (0.4, 2.0),
        Op::Binary(op) if matches!(op.kind, BinaryKind::Div | BinaryKind::Rem) && number == 1 => (0.5, 2.0),
        Op::Fused(_) => (0.3, 1.7),
        _ => (-2.0, 2.0),
    }
}

fn tensor_of(array: &Array) -> Result<Tensor> {
    match &array.numbers {
        Numbers::Real(v) => with_element!(array.dtype, T => {
            constant(&v.iter().map(|x| <T as Element>::from_f64(*x)).collect::<Vec<_>>(), &array.dims)
        }),
        Numbers::Whole(v) => with_element!(array.dtype, T => {
            constant(&v.iter().map(|x| T::from_whole(*x)).collect::<Vec<_>>(), &array.dims)
        }),
    }
}

fn array_of(tensor: &Tensor) -> Result<Array> {
    Ok(Array::from_bytes(tensor.dtype(), tensor.shape(), &tensor.to_bytes()?))
}

/// What the op gives on tensors of these bases, seen through the views.
fn outputs(op: &Op, views: &[Vec<View>], bases: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut seen = Vec::new();
    for (base, views) in bases.iter().zip(views) {
        let mut tensor = base.clone();
        for view in views {
            let op: Op = match view {
                View::Permute(order) => Permute::new(order)?.into(),
                View::Slice(spans) => {
                    let starts: Vec<usize> = spans.iter().map(|s| s.0).collect();
                    let steps: Vec<isize> = spans.iter().map(|s| s.1).collect();
                    let sizes: Vec<usize> = spans.iter().map(|s| s.2).collect();
                    Slice::new(&starts, &steps, &sizes)?.into()
                }
                View::Expand(dims) => Expand { shape: Shape::new(dims)? }.into(),
            };
            tensor = apply_op(op, &[&tensor])?.remove(0);
        }
        seen.push(tensor);
    }
    apply_op(op.clone(), &seen.iter().collect::<Vec<_>>())
}

/// Weights for outputs of these shapes.
fn weights(name: &str, outputs: &[Tensor]) -> Vec<Array> {
    let mut noise = Noise::named(&format!("weights of {name}"));
    outputs.iter().map(|t| noise.reals(t.dtype(), t.shape(), 0.5, 1.5)).collect()
}

/// The gradients by every float input, by the tape, in the scope and the runtime of the caller.
pub fn by_tape(problem: &Problem) -> Result<Vec<Array>> {
    let bases = problem.bases().iter().map(tensor_of).collect::<Result<Vec<_>>>()?;
    let tape = Tape::new();
    let found = differentiated(&problem.op, &problem.views(), &problem.name, &tape, &bases)?;
    found.iter().map(array_of).collect()
}

/// The same, by a function that holds the tape.
pub fn by_function(problem: &Problem) -> Result<Vec<Array>> {
    let bases = problem.bases().iter().map(tensor_of).collect::<Result<Vec<_>>>()?;
    let (op, views, name) = (problem.op.clone(), problem.views(), problem.name.clone());
    let function = Function::many(move |bases| {
        let tape = Tape::new();
        differentiated(&op, &views, &name, &tape, bases)
    });
    let found = function.call_many(&bases.iter().collect::<Vec<_>>())?;
    found.iter().map(array_of).collect()
}

fn differentiated(
    op: &Op,
    views: &[Vec<View>],
    name: &str,
    tape: &Tape,
    bases: &[Tensor],
) -> Result<Vec<Tensor>> {
    let mut watched = Vec::new();
    for base in bases {
        watched.push(if base.dtype().is_float() { tape.watch(base)? } else { base.clone() });
    }
    let made = outputs(op, views, &watched)?;
    let upstream = weights(name, &made).iter().map(tensor_of).collect::<Result<Vec<_>>>()?;
    let targets: Vec<(&Tensor, &Tensor)> = made.iter().zip(&upstream).collect();
    let sources = watched.iter().filter(|t| t.dtype().is_float()).map(Source::from);
    let found = tape.gradients_from(&targets, sources)?;
    let missing = || Error::argument(op.name(), "a float input has no gradient", "give it a rule");
    found.into_iter().map(|gradient| gradient.ok_or_else(missing)).collect()
}

/// What is wrong with the gradients of a problem, by central differences; `None` if nothing is. In f64.
pub fn disagreement(problem: &Problem, gradients: &[Array]) -> Result<Option<String>> {
    let bases = problem.bases();
    let floats: Vec<usize> = (0..bases.len()).filter(|n| problem.is_float(*n)).collect();
    let mut noise = Noise::named(&format!("directions of {}", problem.name));
    for (&number, gradient) in floats.iter().zip(gradients) {
        let base = &bases[number];
        if gradient.dims != base.dims || gradient.dtype != base.dtype {
            return Ok(Some(format!("input {number}: the gradient is {:?}", gradient.dims)));
        }
        let count = base.len();
        let mut directions: Vec<Vec<f64>> = Vec::new();
        for _ in 0..if count == 0 { 0 } else { DIRECTIONS } {
            directions.push((0..count).map(|_| noise.between(-1.0, 1.0)).collect());
        }
        for n in 0..ELEMENTS.min(count) {
            let at = if count <= ELEMENTS { n } else { noise.below(count) };
            directions.push((0..count).map(|k| f64::from(u8::from(k == at))).collect());
        }
        for direction in directions {
            let by_rule: f64 = gradient.reals().iter().zip(&direction).map(|(g, d)| g * d).sum();
            let scale: f64 = gradient.reals().iter().zip(&direction).map(|(g, d)| (g * d).abs()).sum();
            let step = 1e-5;
            let [above, below] = [step, -step].map(|h| {
                let moved = base.reals().iter().zip(&direction).map(|(x, d)| x + h * d).collect();
                let mut bases = bases.clone();
                bases[number] = Array::real(base.dtype, &base.dims, moved);
                weighted(problem, &bases)
            });
            let (above, below) = (above?, below?);
            let measured = (above.0 - below.0) / (2.0 * step);
            // Rounding of sums of this size, divided by the step, and what the second difference leaves.
            let allowed = 1e-6 * scale.max(measured.abs()) + 1e-8 + above.1 * 4e-16 / step;
            if (by_rule - measured).abs() > allowed || by_rule.is_nan() || measured.is_nan() {
                return Ok(Some(format!(
                    "input {number}: the rule says {by_rule:e}, differences say {measured:e}"
                )));
            }
        }
    }
    Ok(None)
}

/// The sum of all outputs times their weights, and the sum of their sizes.
fn weighted(problem: &Problem, bases: &[Array]) -> Result<(f64, f64)> {
    let bases = bases.iter().map(tensor_of).collect::<Result<Vec<_>>>()?;
    let made = outputs(&problem.op, &problem.views(), &bases)?;
    let (mut sum, mut size) = (0.0, 0.0);
    for (tensor, weights) in made.iter().zip(weights(&problem.name, &made)) {
        for (y, w) in array_of(tensor)?.reals().iter().zip(weights.reals()) {
            // What is padded with infinity stays so.
            if !y.is_finite() {
                continue;
            }
            sum += y * w;
            size += (y * w).abs();
        }
    }
    Ok((sum, size))
}

/// Where two lists of gradients differ by more than `relative` of the larger sizes around; `None` where
/// nowhere.
pub fn difference(a: &[Array], b: &[Array], relative: f64) -> Option<String> {
    for (number, (a, b)) in a.iter().zip(b).enumerate() {
        if a.dims != b.dims || a.dtype != b.dtype {
            return Some(format!("gradient {number}: {:?} and {:?}", a.dims, b.dims));
        }
        let scale = a.reals().iter().fold(1.0f64, |s, v| s.max(v.abs()));
        let pairs = a.reals().iter().zip(b.reals()).enumerate();
        for (at, (x, y)) in pairs {
            if (x - y).abs() > relative * scale || x.is_nan() || y.is_nan() {
                return Some(format!("gradient {number}, element {at}: {x:e} and {y:e}"));
            }
        }
    }
    None
}
