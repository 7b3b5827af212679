//! Random numbers in functions: every draw of every call is its own.

use crate::{everywhere, is_up, only};
use situ_core::{DType, Result};
use situ_tensor::random::Generator;
use situ_tensor::{Function, Tensor, cond, tensor, while_loop, with_device, with_runtime, zeros};
use situ_testkit::machines::{cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;
use std::collections::HashSet;
use std::sync::Arc;

/// Four numbers of a generator of the test's own, so that tests do not disturb each other.
fn four(generator: &Generator) -> Result<Tensor> {
    generator.uniform(&[4], 0.0, 1.0, DType::F32)
}

/// The draws of three trips round a loop, the last first.
fn looped(generator: &Generator) -> Result<Vec<Tensor>> {
    let none = zeros(&[4], DType::F32)?;
    while_loop(
        &[tensor(0)?, none.clone(), none.clone(), none],
        |s| s[0].less(&tensor(3)?),
        |s| Ok(vec![(&s[0] + 1.0)?, four(generator)?, s[1].clone(), s[2].clone()]),
    )
}

fn bits(tensors: &[Tensor]) -> Result<Vec<Vec<u32>>> {
    tensors.iter().map(|t| Ok(t.to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())).collect()
}

#[test]
fn every_trip_of_every_call_draws_anew() -> Result<()> {
    everywhere(|| {
        let generator = Arc::new(Generator::new(5));
        let held = generator.clone();
        let f = Function::many(move |_| looped(&held));
        let mut seen = HashSet::new();
        for call in 0..4 {
            let drawn = bits(&f.call_many(&[])?[1..])?;
            for (trip, row) in drawn.into_iter().enumerate() {
                assert!(seen.insert(row), "call {call}, draw {trip}");
            }
        }
        Ok(())
    })
}

#[test]
fn loops_within_loops_and_branches_draw_anew_too() -> Result<()> {
    let generator = Arc::new(Generator::new(6));
    // Two trips of two trips each, with a draw in a branch of every one and one beside the inner loop.
    let f = Function::many(move |_| {
        let none = zeros(&[0, 4], DType::F32)?;
        let none = none.sum(&[0])?.reshape(&[1, 4])?;
        let wide = situ_tensor::concat(&[&none, &none, &none, &none, &none, &none], 0)?;
        let push = |held: &Tensor, row: &Tensor| {
            situ_tensor::concat(&[&held.narrow(0, 1, 6)?, &row.reshape(&[1, 4])?], 0)
        };
        let out = while_loop(
            &[tensor(0)?, wide],
            |s| s[0].less(&tensor(2)?),
            |s| {
                let held = push(&s[1], &four(&generator)?)?;
                let inner = while_loop(
                    &[tensor(0)?, held],
                    |t| t[0].less(&tensor(2)?),
                    |t| {
                        let drawn = cond(
                            &t[0].less(&tensor(5)?)?,
                            || Ok(vec![four(&generator)?]),
                            || Ok(vec![four(&generator)?]),
                        )?;
                        Ok(vec![(&t[0] + 1.0)?, push(&t[1], &only(drawn))?])
                    },
                )?;
                Ok(vec![(&s[0] + 1.0)?, inner[1].clone()])
            },
        )?;
        Ok(vec![out[1].clone()])
    });
    let mut seen = HashSet::new();
    for _ in 0..3 {
        let drawn = only(f.call_many(&[])?).to_vec::<f32>()?;
        for row in drawn.chunks(4) {
            assert!(seen.insert(row.iter().map(|v| v.to_bits()).collect::<Vec<_>>()), "{drawn:?}");
        }
    }
    assert_eq!(seen.len(), 18);
    Ok(())
}

#[test]
fn both_draws_of_a_function_with_a_condition_are_their_own() -> Result<()> {
    let generator = Arc::new(Generator::new(7));
    let f = Function::many(move |x| {
        let one = four(&generator)?;
        let two = cond(&is_up(&x[0])?, || Ok(vec![four(&generator)?]), || Ok(vec![four(&generator)?]))?;
        Ok(vec![one, only(two)])
    });
    let mut seen = HashSet::new();
    for x in [1.0f32, -1.0, 1.0, 1.0, -1.0] {
        for row in bits(&f.call_many(&[&tensor(x)?])?)? {
            assert!(seen.insert(row));
        }
    }
    Ok(())
}

#[test]
fn calls_under_another_scope_or_on_another_device_or_shape_draw_anew() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let generator = Arc::new(Generator::new(8));
        let f = Function::new(move |x| x.add(&four(&generator)?));
        let here = with_device("/CPU:0", || zeros(&[4], DType::F32))?;
        let there = with_device("/GPU:0", || zeros(&[4], DType::F32))?;
        let wide = with_device("/CPU:0", || zeros(&[1, 4], DType::F32))?;
        let mut seen = HashSet::new();
        for round in 0..3 {
            let drawn = [
                f.call(&here)?,
                with_device("/CPU:0", || f.call(&here))?,
                with_device("/GPU:0", || f.call(&here))?,
                f.call(&there)?,
                f.call(&wide)?,
            ];
            for (n, row) in bits(&drawn)?.into_iter().enumerate() {
                assert!(seen.insert(row), "round {round}, call {n}");
            }
        }
        assert_eq!(f.traces(), 2);
        Ok(())
    })
}

#[test]
fn a_function_that_is_planned_again_goes_on_drawing() -> Result<()> {
    let runtime = cpu();
    with_runtime(&runtime, || {
        let generator = Arc::new(Generator::new(9));
        let f = Function::new(move |x| x.add(&four(&generator)?));
        let x = zeros(&[4], DType::F32)?;
        let mut seen = HashSet::new();
        for call in 0..6 {
            if call % 2 == 1 {
                // The rules have changed: the function is compiled again.
                runtime.set_inter_op_threads(Some(1 + call % 3))?;
            }
            assert!(seen.insert(bits(&[f.call(&x)?])?), "call {call}");
        }
        assert_eq!(f.traces(), 1);
        Ok(())
    })
}

#[test]
fn the_same_seed_and_program_give_the_same_numbers_on_any_device() -> Result<()> {
    let program = || -> Result<Vec<Vec<u32>>> {
        let generator = Arc::new(Generator::new(10));
        let held = generator.clone();
        let f = Function::many(move |_| looped(&held));
        let mut all = bits(&[four(&generator)?])?;
        for _ in 0..2 {
            all.extend(bits(&f.call_many(&[])?[1..])?);
        }
        Ok(all)
    };
    let first = with_runtime(&cpu(), program)?;
    assert_eq!(with_runtime(&cpu(), program)?, first);
    let there = cpu_and(&[&SimulatedGpu::new()]);
    assert_eq!(with_runtime(&there, || with_device("/GPU:0", program))?, first);
    Ok(())
}

#[test]
fn an_eager_generator_and_a_function_that_uses_it_never_share_a_draw() -> Result<()> {
    let generator = Arc::new(Generator::new(11));
    let held = generator.clone();
    let f = Function::new(move |x| x.add(&four(&held)?));
    let x = zeros(&[4], DType::F32)?;
    let mut seen = HashSet::new();
    for _ in 0..4 {
        assert!(seen.insert(bits(&[four(&generator)?])?));
        assert!(seen.insert(bits(&[f.call(&x)?])?));
    }
    Ok(())
}
