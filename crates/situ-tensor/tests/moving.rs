//! Variables that no scope has pinned go where the functions that assign them run; others stay.

use situ_core::{DType, Result};
use situ_runtime::{LogicalConfig, PlacementRule, Runtime};
use situ_tensor::{Function, Tape, Tensor, Variable, random, with_device, with_runtime};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

const N: usize = 300;

/// A step of training that a discrete GPU does far sooner, by its model.
fn step(w: &Variable) -> Function {
    let w = w.clone();
    Function::new(move |x| {
        let tape = Tape::new();
        let y = x.matmul(&w.value())?.tanh()?.matmul(&w.value())?.square()?.mean(&[])?;
        let by = tape.gradient(&y, &w)?.expect("it depends on the weights");
        w.assign_sub(&(&by * 0.1)?)?;
        Ok(y)
    })
}

fn inputs() -> Result<(Tensor, Variable)> {
    let normal =
        |seed| with_device("/CPU:0", || random::Generator::new(seed).normal(&[N, N], 0.0, 0.1, DType::F32));
    Ok((normal(1)?, Variable::new(&normal(2)?)?))
}

fn copied(runtime: &Runtime) -> u64 {
    runtime.ledger().bytes(CPU, GPU)
}

#[test]
fn a_variable_is_moved_once_to_where_the_function_that_assigns_it_runs() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    // By the model alone: the simulated GPU is as slow as the CPU that it runs on.
    runtime.set_deterministic(true)?;
    with_runtime(&runtime, || {
        let (x, w) = inputs()?;
        let reads = {
            let w = w.clone();
            Function::new(move |x| x.matmul(&w.value()))
        };
        let before = reads.call(&x)?.to_vec::<f32>()?;
        assert_eq!(w.device(), CPU, "a function that only reads it leaves it");
        let f = step(&w);
        let first = f.call(&x)?.item::<f32>()?;
        assert_eq!(w.device(), GPU, "{}", f.explain(&[&x])?);
        let so_far = copied(&runtime);
        let last = (0..5).map(|_| f.call(&x)?.item::<f32>()).last().expect("five calls")?;
        assert!(last < first, "it learns: {first} to {last}");
        let a_call = (copied(&runtime) - so_far) / 5;
        assert_eq!(a_call, (4 * N * N) as u64, "the input is copied at each call, and nothing else");
        let after = reads.call(&x)?;
        assert_eq!(after.shape().dims(), [N, N]);
        assert_ne!(after.to_vec::<f32>()?, before, "it reads what the other has written");
        assert_eq!(reads.traces(), 1, "it is planned again, not traced again");
        Ok(())
    })
}

#[test]
fn under_prefer_gpu_weights_and_state_move_once_too() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_placement_rule(PlacementRule::PreferGpu)?;
    with_runtime(&runtime, || {
        let (x, w) = inputs()?;
        let x = x.to_device("/GPU:0")?;
        // As a model's are: made on the host, and pinned by no scope.
        let hosted = |t: &Tensor| Variable::new(&t.to_device("/CPU:0")?);
        let (w, momentum) = (hosted(&w.value())?, hosted(&w.value())?);
        // What a GPU has no kernels for stays.
        let wide = hosted(&with_device("/CPU:0", || w.value().cast(DType::F64))?)?;
        let f = {
            let (w, momentum, wide) = (w.clone(), momentum.clone(), wide.clone());
            Function::new(move |x| {
                let tape = Tape::new();
                let y = x.matmul(&w.value())?.tanh()?.square()?.mean(&[])?;
                let by = tape.gradient(&y, &w)?.expect("it depends on the weights");
                momentum.assign(&(&(&momentum.value() * 0.9)? + &by)?)?;
                w.assign_sub(&(&momentum.value() * 0.1)?)?;
                wide.assign(&(&wide.value() * 0.5)?)?;
                Ok(y)
            })
        };
        f.call(&x)?;
        assert_eq!((w.device(), momentum.device(), wide.device()), (GPU, GPU, CPU), "{}", f.explain(&[&x])?);
        let before = runtime.ledger().bytes(CPU, GPU) + runtime.ledger().bytes(GPU, CPU);
        for _ in 0..5 {
            f.call(&x)?;
        }
        let after = runtime.ledger().bytes(CPU, GPU) + runtime.ledger().bytes(GPU, CPU);
        assert_eq!(after, before, "nothing travels once they are there");
        Ok(())
    })
}

#[test]
fn results_are_those_of_a_variable_that_stays() -> Result<()> {
    let run = |gpus: &[&SimulatedGpu]| {
        with_runtime(&cpu_and(gpus), || {
            let (x, w) = inputs()?;
            let f = step(&w);
            (0..4).map(|_| f.call(&x)?.item::<f32>()).collect::<Result<Vec<_>>>()
        })
    };
    assert_eq!(run(&[])?, run(&[&SimulatedGpu::new()])?, "the simulated GPU computes what the CPU does");
    Ok(())
}

#[test]
fn a_pinned_variable_stays() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let (x, free) = inputs()?;
        let w = with_device("/CPU:0", || Variable::new(&free.value()))?;
        let f = step(&w);
        for _ in 0..3 {
            f.call(&x)?;
        }
        assert_eq!(w.device(), CPU);
        let places = f.places(&[&x])?;
        let update = places.iter().rev().find(|p| p.name == "sub").expect("it is updated");
        assert_eq!(update.device, CPU, "updates run where it lives");
        Ok(())
    })
}

#[test]
fn a_variable_that_does_not_fit_elsewhere_stays() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(200 << 10)])?;
    with_runtime(&runtime, || {
        let (x, w) = inputs()?;
        let f = step(&w);
        for _ in 0..3 {
            f.call(&x)?.item::<f32>()?;
        }
        assert_eq!(w.device(), CPU);
        Ok(())
    })
}

#[test]
fn functions_that_disagree_do_not_toss_a_variable_to_and_fro() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let (x, w) = inputs()?;
        let there = step(&w);
        // All of it on the CPU, so that the variable is best there.
        let here = {
            let w = w.clone();
            Function::new(move |x| {
                with_device("/CPU:0", || {
                    let grown = w.value().add(x)?.tanh()?;
                    w.assign(&grown)?;
                    grown.sum(&[])
                })
            })
        };
        for _ in 0..6 {
            there.call(&x)?;
            here.call(&x)?;
        }
        let settled = w.device();
        for _ in 0..3 {
            there.call(&x)?.item::<f32>()?;
            assert_eq!(w.device(), settled);
            here.call(&x)?.item::<f32>()?;
            assert_eq!(w.device(), settled);
        }
        Ok(())
    })
}
