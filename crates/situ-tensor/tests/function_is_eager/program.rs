//! Random programs of ops, decisions and loops on values of every dtype, with NaN, infinities and signed
//! zeros among them.
//!
//! A step that does not fit its operands is left out, by types alone: the same steps are left out wherever a
//! program runs.

use situ_core::{DType, Result, Scalar, Shape};
use situ_ir::ops::{Binary, BinaryKind, Fill, ReduceKind, Unary, UnaryKind};
use situ_tensor::{Span, Tensor, apply_op, concat, cond, constant, where_, while_loop};
use situ_testkit::numbers::Noise;

/// What programs compute with, beside ordinary numbers.
const SPECIAL: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    -2.0,
    3.0,
    255.0,
    1e-8,
    12_582_912.0,
    1e30,
    -1e-30,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];
const DTYPES: [DType; 6] = [DType::F32, DType::F32, DType::I32, DType::Bool, DType::F64, DType::U8];
/// Values that a program starts from.
pub(crate) const LEAVES: usize = 3;
/// No value has more elements.
const MOST: usize = 2000;

/// A step on the values before it, by their numbers.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Unary(UnaryKind, usize),
    Clip(usize, f64, f64),
    Binary(BinaryKind, usize, usize),
    WithNumber(BinaryKind, usize, f64),
    Where(usize, usize, usize),
    Cast(usize, DType),
    Reduce(ReduceKind, usize, isize),
    SumAll(usize),
    Matmul(usize, usize),
    Transpose(usize),
    Slice(usize, isize),
    Pad(usize),
    Concat(usize, usize),
    Expand(usize),
    Softmax(usize),
    /// By the first element of one value, one of two blocks; what comes out has the type of another value.
    Cond {
        by: usize,
        like: usize,
        then: Vec<Step>,
        otherwise: Vec<Step>,
    },
    /// A value made anew by a block, so many times, or while its first element is below a bound.
    While {
        state: usize,
        trips: i32,
        bound: Option<f64>,
        body: Vec<Step>,
    },
}

/// A program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub leaves: [DType; LEAVES],
    pub steps: Vec<Step>,
}

fn pick<T: Copy>(noise: &mut Noise, list: &[T]) -> T {
    list[noise.below(list.len())]
}

impl Program {
    /// The program of a seed.
    pub(crate) fn random(seed: u64) -> Program {
        let noise = &mut Noise::named(&format!("program {seed}"));
        let leaves = [0; LEAVES].map(|_| if noise.below(9) == 0 { DType::I64 } else { pick(noise, &DTYPES) });
        let count = 2 + noise.below(12);
        Program { leaves, steps: block(noise, LEAVES, count, 0) }
    }

    /// What it starts from.
    pub(crate) fn data(&self, seed: u64) -> Result<Vec<Tensor>> {
        let noise = &mut Noise::named(&format!("program {seed}: data"));
        let mut number = || match noise.below(3) {
            0 => pick(noise, &SPECIAL),
            _ => (noise.below(2000) as f64 - 1000.0) / 100.0,
        };
        let leaf = |dtype: &DType| {
            let values: Vec<f64> = (0..12).map(|_| number()).collect();
            constant(&values, &[3, 4])?.cast(*dtype)
        };
        self.leaves.iter().map(leaf).collect()
    }

    /// Every value that it makes; `None` where a step did not fit.
    pub(crate) fn run(&self, leaves: &[Tensor]) -> Vec<Option<Tensor>> {
        let mut values: Vec<Option<Tensor>> = leaves.iter().cloned().map(Some).collect();
        follow(&self.steps, &mut values);
        values.split_off(leaves.len())
    }
}

/// So many steps, where `known` values are there before.
fn block(noise: &mut Noise, known: usize, count: usize, depth: usize) -> Vec<Step> {
    (0..count).map(|made| step(noise, known + made, depth)).collect()
}

fn step(noise: &mut Noise, known: usize, depth: usize) -> Step {
    // Late values more often: programs are deeper than they are wide.
    let value = |noise: &mut Noise| known - 1 - noise.below(known).min(noise.below(known));
    let (a, b, c) = (value(noise), value(noise), value(noise));
    let binary = |noise: &mut Noise| match noise.below(2) {
        0 => pick(noise, &[BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Div]),
        _ => pick(noise, BinaryKind::ALL),
    };
    match noise.below(22) {
        0..=2 => Step::Unary(pick(noise, UnaryKind::ALL), a),
        3..=6 => Step::Binary(binary(noise), a, b),
        7..=9 => Step::WithNumber(binary(noise), a, pick(noise, &SPECIAL)),
        10 => Step::Where(a, b, c),
        11 => Step::Cast(a, pick(noise, &DTYPES)),
        12 => Step::Reduce(pick(noise, &ReduceKind::ALL), a, noise.below(2) as isize),
        13 => match noise.below(3) {
            0 => Step::SumAll(a),
            1 => Step::Softmax(a),
            _ => Step::Matmul(a, b),
        },
        14 => Step::Transpose(a),
        15 => Step::Slice(a, pick(noise, &[1, -1, 2])),
        16 => match noise.below(3) {
            0 => Step::Pad(a),
            1 => Step::Concat(a, b),
            _ => Step::Expand(a),
        },
        17 => {
            let (x, y) = (pick(noise, &SPECIAL[..15]), pick(noise, &SPECIAL[..15]));
            Step::Clip(a, x.min(y), x.max(y))
        }
        18..=19 if depth < 2 => {
            let counts = [0; 2].map(|_| 1 + noise.below(4));
            let then = block(noise, known, counts[0], depth + 1);
            let otherwise = block(noise, known, counts[1], depth + 1);
            Step::Cond { by: a, like: b, then, otherwise }
        }
        20 if depth < 2 => {
            let bound = (noise.below(2) == 0).then(|| pick(noise, &SPECIAL));
            let count = 1 + noise.below(4);
            let trips = noise.below(4) as i32;
            // The state is one more value.
            let body = block(noise, known + 1, count, depth + 1);
            Step::While { state: a, trips, bound, body }
        }
        _ => Step::Binary(BinaryKind::Sub, a, b),
    }
}

fn follow(steps: &[Step], values: &mut Vec<Option<Tensor>>) {
    for step in steps {
        let made = one(step, values);
        values.push(made.filter(|t| t.elements() <= MOST));
    }
}

fn fill(dtype: DType, value: f64) -> Option<Tensor> {
    Some(apply_op(Fill { shape: Shape::SCALAR, value: Scalar::of(dtype, value) }, &[]).ok()?.remove(0))
}

/// The first element, as one that can be compared with a number.
fn first(x: &Tensor) -> Option<Tensor> {
    let x = if x.dtype() == DType::Bool { x.cast(DType::I32).ok()? } else { x.clone() };
    x.reshape(&[-1]).and_then(|x| x.narrow(0, 0, 1)).and_then(|x| x.reshape(&[])).ok()
}

/// Division of whole numbers fails by value, at zero: what divides them must be known.
fn divides(kind: BinaryKind) -> bool {
    matches!(kind, BinaryKind::Div | BinaryKind::Rem)
}

fn one(step: &Step, values: &[Option<Tensor>]) -> Option<Tensor> {
    let at = |n: usize| values[n].clone();
    match step {
        Step::Unary(kind, a) => Some(apply_op(Unary::new(*kind), &[&at(*a)?]).ok()?.remove(0)),
        Step::Clip(a, low, high) => at(*a)?.clip(*low, *high).ok(),
        Step::Binary(kind, a, b) => {
            let (a, b) = (at(*a)?, at(*b)?);
            if divides(*kind) && !a.dtype().is_float() {
                return None;
            }
            Some(apply_op(Binary { kind: *kind }, &[&a, &b]).ok()?.remove(0))
        }
        Step::WithNumber(kind, a, number) => {
            let a = at(*a)?;
            if divides(*kind) && !a.dtype().is_float() && Scalar::of(a.dtype(), *number).bits() == 0 {
                return None;
            }
            let number = fill(a.dtype(), *number)?;
            Some(apply_op(Binary { kind: *kind }, &[&a, &number]).ok()?.remove(0))
        }
        Step::Where(a, b, c) => where_(&at(*a)?, &at(*b)?, &at(*c)?).ok(),
        Step::Cast(a, dtype) => at(*a)?.cast(*dtype).ok(),
        Step::Reduce(kind, a, axis) => {
            let a = at(*a)?;
            a.reduce(*kind, &[(*axis).min(a.rank() as isize - 1)], true).ok()
        }
        Step::SumAll(a) => at(*a)?.sum(&[]).ok(),
        Step::Matmul(a, b) => {
            let (a, b) = (at(*a)?, at(*b)?);
            a.matmul(&b).or_else(|_| a.matmul_transposed(&b, false, true)).ok()
        }
        Step::Transpose(a) => at(*a)?.transpose(&[]).ok(),
        Step::Slice(a, by) => at(*a)?.slice(&[Span::ALL.by(*by)]).ok(),
        Step::Pad(a) => {
            let a = at(*a)?;
            a.pad(&vec![(1, 0); a.rank()], 1.0).ok()
        }
        Step::Concat(a, b) => concat(&[&at(*a)?, &at(*b)?], 0).ok(),
        Step::Expand(a) => {
            let a = at(*a)?;
            let dims: Vec<usize> = [2].iter().chain(a.shape().dims()).copied().collect();
            if a.rank() > 4 { None } else { a.expand(&dims).ok() }
        }
        Step::Softmax(a) => at(*a)?.softmax(-1).ok(),
        Step::Cond { by, like, then, otherwise } => {
            let (by, like) = (first(&at(*by)?)?, at(*like)?);
            let holds = by.greater(&fill(by.dtype(), 0.0)?).ok()?;
            let side = |steps: &[Step]| Ok(vec![result(steps, values.to_vec(), &like)]);
            Some(cond(&holds, || side(then), || side(otherwise)).expect("both sides fit").remove(0))
        }
        Step::While { state, trips, bound, body } => {
            let state = at(*state)?;
            let (count, limit) = (fill(DType::I32, 0.0)?, fill(DType::I32, f64::from(*trips))?);
            let step = fill(DType::I32, 1.0)?;
            let bound = bound.and_then(|bound| fill(first(&state)?.dtype(), bound));
            let goes_on = |s: &[Tensor]| {
                let below = s[0].less(&limit)?;
                match (&bound, first(&s[1])) {
                    (Some(bound), Some(first)) => below.logical_and(&first.less(bound)?),
                    _ => Ok(below),
                }
            };
            let again = |s: &[Tensor]| {
                let mut all = values.to_vec();
                all.push(Some(s[1].clone()));
                Ok(vec![s[0].add(&step)?, result(body, all, &s[1])])
            };
            Some(while_loop(&[count, state], goes_on, again).expect("the loop fits").remove(1))
        }
    }
}

/// The last value of a block that has the type of `like`, which is there itself.
fn result(steps: &[Step], mut values: Vec<Option<Tensor>>, like: &Tensor) -> Tensor {
    let before = values.len();
    follow(steps, &mut values);
    let fits = |t: &&Tensor| t.tensor_type() == like.tensor_type();
    values[before..].iter().flatten().rev().find(fits).cloned().unwrap_or_else(|| like.clone())
}
