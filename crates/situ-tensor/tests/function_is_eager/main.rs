//! A function computes what its ops compute one by one on the same device: random programs with decisions and
//! loops, on every dtype, with NaN, infinities and signed zeros.
//!
//! On the CPU to the bit. On a GPU, whose driver may contract a product and a sum, numbers may differ by a
//! few units in the last place; which are NaN, infinite or a zero of which sign may not, and digits that
//! cancel are not excused.
//!
//! `SITU_PROGRAMS` and `SITU_GPU_PROGRAMS` say how many programs are tried (`make soak` sets them),
//! `SITU_PROGRAM` names one seed.

mod program;

use program::Program;
use situ_core::{DType, Result};
use situ_ir::passes::{GROUP, SIMPLIFY};
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, constant, tensor, with_device, with_runtime};
use situ_testkit::machines;
use situ_testkit::numbers::Noise;
use std::ops::Range;

/// Units in the last place that a GPU's number may be off.
const UNITS: u64 = 4;
/// Units of f64 in one of f32: GPUs have no f64, and what is off there is off by units of f32 when it is
/// cast.
const UNITS_OF_F64: u64 = 1 << 29;

fn seeds(variable: &str, normally: u64) -> Range<u64> {
    let read = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    match read("SITU_PROGRAM") {
        Some(one) => one..one + 1,
        None => 0..read(variable).unwrap_or(normally),
    }
}

/// Floats as numbers that are next to each other where the floats are.
fn order(bits: u64, sign: u32) -> i128 {
    let magnitude = i128::from(bits & ((1 << sign) - 1));
    if bits >> sign == 0 { magnitude } else { -magnitude }
}

/// What is wrong with `got`, where something is.
fn differs(want: &Tensor, got: &Tensor, units: u64) -> Result<Option<String>> {
    if want.tensor_type() != got.tensor_type() {
        return Ok(Some(format!("it is {}, not {}", got.tensor_type(), want.tensor_type())));
    }
    let (width, sign) = match want.dtype() {
        DType::F32 => (4, 31),
        DType::F64 => (8, 63),
        _ => {
            let same = want.to_bytes()? == got.to_bytes()?;
            return Ok((!same).then(|| format!("it is {got}, not {want}")));
        }
    };
    let (want, got) = (want.to_bytes()?, got.to_bytes()?);
    for (i, (w, g)) in want.chunks_exact(width).zip(got.chunks_exact(width)).enumerate() {
        let read = |bytes: &[u8]| match width {
            4 => {
                let bits = u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
                (u64::from(bits), f64::from(f32::from_bits(bits)))
            }
            _ => {
                let bits = u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
                (bits, f64::from_bits(bits))
            }
        };
        let ((w_bits, w), (g_bits, g)) = (read(w), read(g));
        let ordinary = |x: f64| x.is_finite() && x != 0.0;
        let off = (order(w_bits, sign) - order(g_bits, sign)).unsigned_abs();
        let most = u128::from(if width == 8 { units * UNITS_OF_F64 } else { units });
        let close = ordinary(w) && ordinary(g) && off <= most;
        if w_bits != g_bits && !(w.is_nan() && g.is_nan()) && !close {
            return Ok(Some(format!("element {i} is {g:e}, not {w:e}")));
        }
    }
    Ok(None)
}

/// How many programs were tried, and what was wrong with which.
fn try_all(runtime: &Runtime, scope: &str, units: u64, seeds: Range<u64>) -> Result<()> {
    runtime.set_listener(Some(Box::new(|_| {})));
    let (mut compared, mut decided, mut wrong) = (0u64, 0u64, Vec::new());
    let tried = seeds.end - seeds.start;
    for seed in seeds {
        let program = Program::random(seed);
        let found = with_runtime(runtime, || with_device(scope, || try_one(&program, seed, units)))?;
        compared += found.compared;
        decided += u64::from(found.decides);
        if let Some(why) = found.wrong {
            wrong.push(format!("SITU_PROGRAM={seed}: {why}\n{program:?}"));
            if wrong.len() == 5 {
                break;
            }
        }
    }
    println!("{tried} programs on {scope}, {decided} with decisions or loops, {compared} results compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // What was tried was worth trying.
    assert!(
        tried < 20 || (compared > tried && decided * 10 > tried),
        "{compared} results, {decided} decisions"
    );
    Ok(())
}

struct Found {
    compared: u64,
    decides: bool,
    wrong: Option<String>,
}

fn try_one(program: &Program, seed: u64, units: u64) -> Result<Found> {
    let noise = &mut Noise::named(&format!("program {seed}: how"));
    let leaves = program.data(seed)?;
    let eager = program.run(&leaves);
    let made: Vec<usize> = (0..eager.len()).filter(|&i| eager[i].is_some()).collect();
    // Few values leave the function, so that passes may do their work on the others.
    let returned: Vec<usize> = made[made.len().saturating_sub(1 + noise.below(3))..].to_vec();
    let decides =
        program.steps.iter().any(|s| matches!(s, program::Step::Cond { .. } | program::Step::While { .. }));
    let mut found = Found { compared: 0, decides, wrong: None };
    if returned.is_empty() {
        return Ok(found);
    }
    let (own, wanted) = (program.clone(), returned.clone());
    let mut function = Function::many(move |given| {
        let values = own.run(given);
        let missing = || situ_core::Error::argument("program", "a step fits eagerly alone", "");
        wanted.iter().map(|&i| values[i].clone().ok_or_else(missing)).collect()
    });
    for pass in SIMPLIFY.iter().chain(GROUP) {
        if noise.below(8) == 0 {
            function = function.without(pass.name)?;
        }
    }
    let given: Vec<&Tensor> = leaves.iter().collect();
    let results = match function.call_many(&given) {
        Ok(results) => results,
        Err(error) => {
            found.wrong = Some(format!("the function fails: {error}"));
            return Ok(found);
        }
    };
    for (&i, got) in returned.iter().zip(&results) {
        let Some(want) = &eager[i] else { continue };
        found.compared += 1;
        if let Some(why) = differs(want, got, units)? {
            found.wrong = Some(format!("value {} of {} {}: {why}", i, eager.len(), got.tensor_type()));
            break;
        }
    }
    Ok(found)
}

#[test]
fn on_the_cpu_to_the_bit() -> Result<()> {
    try_all(&machines::cpu(), "/CPU:0", 0, seeds("SITU_PROGRAMS", 3000))
}

#[test]
fn on_a_gpu_but_for_the_last_places() -> Result<()> {
    let Some(runtime) = machines::cpu_and_gpu() else { return Ok(()) };
    try_all(&runtime, "/GPU:0", UNITS, seeds("SITU_GPU_PROGRAMS", 150))
}

#[test]
fn what_passes_know_a_better_op_for_keeps_its_bits() -> Result<()> {
    type Body = fn(&[Tensor]) -> Result<Tensor>;
    let bodies: [(&str, Body); 3] = [
        ("square", |x| x[0].pow(&tensor(2.0)?.cast(x[0].dtype())?)),
        ("reciprocal", |x| x[0].pow(&tensor(-1.0)?.cast(x[0].dtype())?)),
        ("cross-entropy", |x| x[0].log_softmax(-1)?.mul(&x[1])?.sum(&[-1])?.neg()),
    ];
    with_runtime(&machines::cpu(), || {
        for dtype in [DType::F32, DType::F64] {
            let noise = &mut Noise::named("better ops");
            let mut numbers = |count: usize| {
                let numbers: Vec<f64> = (0..count).map(|_| noise.below(1 << 24) as f64 / 3e6 - 2.0).collect();
                constant(&numbers, &[count / 100, 100])?.cast(dtype)
            };
            let inputs = [numbers(200_000)?, numbers(200_000)?];
            for (name, body) in bodies {
                let eager = body(&inputs)?;
                let function = Function::many(move |x| Ok(vec![body(x)?]));
                let made = function.call_many(&[&inputs[0], &inputs[1]])?.remove(0);
                assert_eq!(differs(&eager, &made, 0)?, None, "{name} of {dtype}");
            }
        }
        Ok(())
    })
}

#[test]
fn a_pass_that_rounds_differently_runs_where_it_is_asked_for() -> Result<()> {
    with_runtime(&machines::cpu(), || {
        let body = |x: &Tensor| x.log_softmax(-1)?.mul(x)?.sum(&[-1])?.neg();
        let x = constant(&[0.5f32, 0.25, 0.125, 0.125], &[1, 4])?;
        let joins = |function: &Function| -> Result<bool> {
            Ok(function.optimized_graph(&[&x])?.to_string().contains("softmax_cross_entropy"))
        };
        assert!(!joins(&Function::new(body))?);
        assert!(joins(&Function::new(body).with("cross_entropy")?)?);
        Ok(())
    })
}
