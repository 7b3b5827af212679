//! Random programs, each called at many sizes of its two axes.

use super::{alike, ramp};
use situ_core::{DType, Result};
use situ_tensor::{Function, Tape, Tensor, cond, constant, ones, tensor, where_, while_loop, with_runtime};
use situ_testkit::machines::cpu;
use situ_testkit::numbers::Noise;

/// A step of a program on values that broadcast with each other whatever the sizes: `[b, c]`, `[1, c]`,
/// `[b, 1]`, `[c]` and `[]`.
#[derive(Clone, Debug)]
enum Step {
    Unary(usize, usize),
    Binary(usize, usize, usize),
    Where(usize, usize, usize),
    Reduce(usize, usize, bool),
    Softmax(usize),
    /// `x · xᵀ · x`, of what is `[b, c]` then.
    Products(usize),
    Constant(f32),
    Captured(usize, usize),
    Cond(usize, usize),
    Loop(usize),
    Flattened(usize),
    Branch(usize, usize),
}

fn program(seed: u64) -> Vec<Step> {
    let mut noise = Noise::named(&format!("shapes {seed}"));
    let mut steps = Vec::new();
    for step in 0..3 + seed as usize % 12 {
        // Two inputs, and the result of each step before.
        let values = 2 + step;
        let [a, b, c] = [(); 3].map(|()| noise.below(values));
        let kind = noise.below(if seed.is_multiple_of(3) { 16 } else { 13 });
        let which = noise.below(8);
        steps.push(match kind {
            0 | 1 => Step::Unary(which, a),
            2..=4 => Step::Binary(which, a, b),
            5 => Step::Where(a, b, c),
            6 | 7 => Step::Reduce(which, a, which.is_multiple_of(2)),
            8 => Step::Softmax(a),
            9 => Step::Products(a),
            10 => Step::Constant(which as f32 / 2.0 - 1.0),
            11 => Step::Cond(a, b),
            12 => Step::Loop(a),
            13 => Step::Flattened(a),
            14 => Step::Branch(a, b),
            _ => Step::Captured(a, b),
        });
    }
    steps
}

fn run(steps: &[Step], inputs: &[Tensor], captured: &Tensor) -> Result<Vec<Tensor>> {
    let mut values = inputs.to_vec();
    for step in steps {
        let value = match *step {
            Step::Unary(kind, a) => {
                let a = &values[a];
                match kind {
                    0 => a.neg()?,
                    1 => a.tanh()?,
                    2 => a.square()?,
                    3 => a.abs()?,
                    4 => a.exp()?.clip(0.0, 50.0)?,
                    5 => a.relu()?,
                    6 => a.sub(a)?,
                    _ => a.cast(DType::I32)?.cast(DType::F32)?,
                }
            }
            Step::Binary(kind, a, b) => {
                let (a, b) = (&values[a], &values[b]);
                match kind % 5 {
                    0 => a.add(b)?,
                    1 => a.sub(b)?,
                    2 => a.mul(b)?.clip(-99.0, 99.0)?,
                    3 => a.maximum(b)?,
                    _ => a.mul(&tensor(1.0f32)?)?.minimum(b)?,
                }
            }
            Step::Where(a, b, c) => where_(&values[a].less(&values[b])?, &values[c], &values[a])?,
            Step::Reduce(kind, a, keep) => {
                let a = &values[a];
                match (kind % 4, a.rank()) {
                    (_, 0) | (3, _) => a.sum(&[])?,
                    (0, _) if keep => a.mean_keep(&[-1])?,
                    (1, 2) => a.sum_keep(&[0])?,
                    (2, 2) => a.sum(&[0])?,
                    _ => a.abs()?.add(&tensor(1.0f32)?)?.sum_keep(&[-1])?,
                }
            }
            Step::Softmax(a) if values[a].rank() > 0 => values[a].softmax(-1)?,
            Step::Softmax(a) => values[a].neg()?,
            Step::Products(a) => {
                let x = values[a].add(&inputs[0])?;
                x.matmul_transposed(&x, false, true)?.tanh()?.matmul(&x)?
            }
            Step::Constant(value) => tensor(value)?.add(&ones(&[1], DType::F32)?)?,
            Step::Captured(a, b) => captured.mul(&values[a])?.add(&values[b])?,
            Step::Cond(a, b) => {
                let test = values[a].sum(&[])?.less(&values[b].sum(&[])?)?;
                let (x, y) = (&values[a], &inputs[0]);
                cond(&test, || Ok(vec![x.add(y)?.neg()?]), || Ok(vec![y.mul(x)?]))?.remove(0)
            }
            Step::Loop(a) => {
                let start = [values[a].add(&inputs[0])?, tensor(0)?];
                let three = tensor(3)?;
                let trip = |s: &[Tensor]| {
                    Ok(vec![s[0].tanh()?.sub(&inputs[1])?.add(&s[0])?, s[1].add(&tensor(1)?)?])
                };
                while_loop(&start, |s| s[1].less(&three), trip)?.remove(0)
            }
            Step::Flattened(a) => {
                let flat = values[a].reshape(&[-1])?.neg()?;
                let dims: Vec<isize> = values[a].shape().iter().map(|d| *d as isize).collect();
                flat.reshape(&dims)?
            }
            Step::Branch(a, b) => {
                let (a, b) = (&values[a], &values[b]);
                if a.elements() > b.elements() { a.add(b)? } else { b.sub(a)? }
            }
        };
        values.push(value);
    }
    Ok(values.split_off(inputs.len()))
}

/// Sizes of the axes: some that are equal to others, or to 1, or nothing.
const SIZES: &[[usize; 2]] = &[
    [4, 3],
    [5, 3],
    [9, 7],
    [4, 4],
    [1, 3],
    [6, 1],
    [1, 1],
    [0, 3],
    [3, 0],
    [8, 5],
    [3, 4],
    [2, 6],
    [5, 3],
    [64, 33],
];

fn arguments() -> Result<Vec<Vec<Tensor>>> {
    let pair = |&[b, c]: &[usize; 2]| Ok(vec![ramp(&[b, c], DType::F32)?, ramp(&[1, c], DType::F32)?]);
    SIZES.iter().map(pair).collect()
}

#[test]
fn random_programs_give_at_every_shape_what_they_give_compiled_for_it() -> Result<()> {
    with_runtime(&cpu(), || {
        situ_tensor::current_runtime().set_listener(Some(Box::new(|_| {})));
        let captured = constant(&[0.5f32], &[1, 1])?;
        let calls = arguments()?;
        let (mut once, mut tried) = (0, 0);
        for seed in 0..150 {
            let steps = program(seed);
            let make = || {
                let (steps, captured) = (steps.clone(), captured.clone());
                Function::many(move |x| run(&steps, x, &captured))
            };
            let traces = alike(make, &calls).map_err(|error| panic_with(seed, &steps, &error.to_string()))?;
            once += usize::from(traces == 1);
            tried += 1;
        }
        // Most programs ask for no size.
        assert!(2 * once > tried, "{once} of {tried} were traced once");
        Ok(())
    })
}

#[test]
fn gradients_of_random_programs_do_too() -> Result<()> {
    with_runtime(&cpu(), || {
        situ_tensor::current_runtime().set_listener(Some(Box::new(|_| {})));
        let captured = constant(&[0.5f32], &[1, 1])?;
        let calls = arguments()?;
        for seed in 0..60 {
            // Loops have no gradient inside functions.
            let steps: Vec<Step> = program(seed);
            if steps.iter().any(|step| matches!(step, Step::Loop(_))) {
                continue;
            }
            let make = || {
                let (steps, captured) = (steps.clone(), captured.clone());
                Function::many(move |x| {
                    let tape = Tape::new();
                    let watched = [tape.watch(&x[0])?, tape.watch(&x[1])?];
                    let mut total = tensor(0.0f32)?;
                    for made in run(&steps, &watched, &captured)? {
                        total = total.add(&made.sum(&[])?)?;
                    }
                    let found = tape.gradients(&total, [&watched[0], &watched[1]])?;
                    Ok(found.into_iter().flatten().collect())
                })
            };
            alike(make, &calls).map_err(|error| panic_with(seed, &steps, &error.to_string()))?;
        }
        Ok(())
    })
}

fn panic_with(seed: u64, steps: &[Step], why: &str) -> situ_core::Error {
    panic!("program {seed}: {why}\n{steps:#?}")
}
