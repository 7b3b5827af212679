//! Any placement gives the same answer: random programs as functions, under random scopes, limits and passes,
//! against the same program eagerly on the CPU; and whatever they took of a device's memory is given back.
//!
//! `SITU_RECIPES` says how many programs each test tries (`make soak` sets it), `SITU_RECIPE` names one seed
//! to look at.

use situ_core::{DType, DeviceId, DeviceKind, Result};
use situ_ir::passes::{GROUP, SIMPLIFY};
use situ_runtime::{LogicalConfig, Runtime};
use situ_tensor::{Function, Tensor, Variable, with_runtime};
use situ_testkit::array::{Array, Numbers};
use situ_testkit::machines;
use situ_testkit::numbers::Noise;
use situ_testkit::recipes::Recipe;
use situ_testkit::simulated::SimulatedGpu;
use std::cell::Cell;

/// A machine to try programs on.
struct Machine {
    name: &'static str,
    runtime: Runtime,
    scopes: &'static [&'static str],
    /// How far floats may be from the CPU's.
    tolerance: f64,
    /// Whether a program may be refused for want of memory.
    tight: bool,
}

fn quiet(runtime: Runtime) -> Runtime {
    runtime.set_listener(Some(Box::new(|_| {})));
    runtime
}

fn seeds(normally: u64) -> std::ops::Range<u64> {
    if let Some(one) = std::env::var("SITU_RECIPE").ok().and_then(|s| s.parse().ok()) {
        return one..one + 1;
    }
    let count = std::env::var("SITU_RECIPES").ok().and_then(|s| s.parse().ok());
    0..count.unwrap_or(normally)
}

fn tensors(recipe: &Recipe, data: &[Array], variables: bool) -> Result<Vec<Tensor>> {
    let pairs = recipe.given.iter().zip(data).filter(|(given, _)| given.variable == variables);
    pairs
        .map(|(_, array)| {
            let dims = &array.dims;
            match (&array.numbers, array.dtype) {
                (Numbers::Real(v), DType::F64) => situ_tensor::constant(v, dims),
                (Numbers::Real(v), _) => {
                    situ_tensor::constant(&v.iter().map(|x| *x as f32).collect::<Vec<_>>(), dims)
                }
                (Numbers::Whole(v), _) => {
                    situ_tensor::constant(&v.iter().map(|x| *x as i32).collect::<Vec<_>>(), dims)
                }
            }
        })
        .collect()
}

fn arrays(tensors: &[Tensor]) -> Result<Vec<Array>> {
    tensors.iter().map(|t| Ok(Array::from_bytes(t.dtype(), t.shape(), &t.to_bytes()?))).collect()
}

/// What two calls one after the other give, and what the variables are then.
type Answers = Vec<Vec<Array>>;

fn eagerly(cpu: &Runtime, recipe: &Recipe, seed: u64) -> Result<Answers> {
    with_runtime(cpu, || {
        let data = recipe.data(seed);
        let given = tensors(recipe, &data, false)?;
        let variables = variables(recipe, &data, &[])?;
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(arrays(&recipe.follow(&given, &variables, false)?)?);
            answers.push(arrays(&variables.iter().map(Variable::value).collect::<Vec<_>>())?);
        }
        Ok(answers)
    })
}

fn variables(recipe: &Recipe, data: &[Array], scopes: &[Option<&'static str>]) -> Result<Vec<Variable>> {
    let values = tensors(recipe, data, true)?;
    let scope = |n: usize| scopes.get(n).copied().flatten();
    let make = |(n, value): (usize, &Tensor)| match scope(n) {
        Some(scope) => situ_tensor::with_device(scope, || Variable::new(value)),
        None => Variable::new(value),
    };
    values.iter().enumerate().map(make).collect()
}

fn as_function(machine: &Machine, recipe: &Recipe, seed: u64, on_gpus: &Cell<usize>) -> Result<Answers> {
    let mut noise = Noise::named(&format!("run {seed}"));
    with_runtime(&machine.runtime, || {
        let data = recipe.data(seed);
        let mut given = tensors(recipe, &data, false)?;
        // Arguments may be anywhere.
        for tensor in &mut given {
            if noise.below(3) == 0 {
                *tensor = tensor.to_device(machine.scopes[noise.below(machine.scopes.len())])?;
            }
        }
        let scopes: Vec<Option<&str>> =
            (0..4).map(|_| machine.scopes.get(noise.below(machine.scopes.len() * 2)).copied()).collect();
        let variables = variables(recipe, &data, &scopes)?;
        let (followed, held) = (recipe.clone(), variables.clone());
        let mut function = Function::many(move |given| followed.follow(given, &held, true));
        for pass in SIMPLIFY.iter().chain(GROUP) {
            if noise.below(6) == 0 {
                function = function.without(pass.name)?;
            }
        }
        let inputs: Vec<&Tensor> = given.iter().collect();
        let ran =
            |place: &situ_runtime::function::NodePlace| usize::from(place.device.kind == DeviceKind::Gpu);
        on_gpus.set(on_gpus.get() + function.places(&inputs)?.iter().map(ran).sum::<usize>());
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(arrays(&function.call_many(&inputs)?)?);
            answers.push(arrays(&variables.iter().map(Variable::value).collect::<Vec<_>>())?);
        }
        if variables.is_empty() {
            // The same function from two threads at once.
            let results = std::thread::scope(|threads| {
                let call = || threads.spawn(|| function.call_many(&inputs).and_then(|out| arrays(&out)));
                [call(), call()].map(|t| t.join().expect("a call does not panic"))
            });
            for result in results {
                compare(machine, &answers[0], &result?, "from two threads");
            }
        }
        Ok(answers)
    })
}

fn compare(machine: &Machine, expected: &[Array], got: &[Array], what: &str) {
    assert_eq!(expected.len(), got.len(), "{what}");
    for (n, (e, g)) in expected.iter().zip(got).enumerate() {
        assert_eq!((e.dtype, &e.dims), (g.dtype, &g.dims), "{what}: result {n}");
        match (&e.numbers, &g.numbers) {
            (Numbers::Real(es), Numbers::Real(gs)) => {
                let largest = es.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
                let tolerance = if e.dtype == DType::F64 { 1e-9 } else { machine.tolerance } * largest;
                for (i, (x, y)) in es.iter().zip(gs).enumerate() {
                    assert!((x - y).abs() <= tolerance, "{what}: result {n}[{i}] is {y}, not {x}");
                }
            }
            (Numbers::Whole(es), Numbers::Whole(gs)) => assert_eq!(es, gs, "{what}: result {n}"),
            _ => panic!("{what}: result {n} is of another sort"),
        }
    }
}

/// Tries programs, and checks after each that nothing is left on any device. Returns how many were refused.
fn try_all(machines: &[Machine], seeds: std::ops::Range<u64>) -> Result<u64> {
    let cpu = machines::cpu();
    let (mut refused, on_gpus) = (0, Cell::new(0));
    let programs = seeds.clone().count();
    for seed in seeds {
        let machine = &machines[seed as usize % machines.len()];
        let recipe = Recipe::random(seed, machine.scopes);
        let expected = eagerly(&cpu, &recipe, seed)?;
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            match as_function(machine, &recipe, seed, &on_gpus) {
                Ok(answers) => {
                    for (n, (e, g)) in expected.iter().zip(&answers).enumerate() {
                        compare(machine, e, g, ["first call", "variables", "second call", "variables"][n]);
                    }
                    0
                }
                Err(error) if machine.tight && error.is_out_of_memory() => 1,
                Err(error) => panic!("{error}"),
            }
        }));
        match tried {
            Ok(one) => refused += one,
            Err(why) => {
                let why = why.downcast_ref::<String>().map_or("", String::as_str);
                panic!("SITU_RECIPE={seed} on {}: {why}\n{recipe:#?}", machine.name);
            }
        }
        machine.runtime.trim()?;
        for device in machine.runtime.list_logical_devices(None) {
            let info = device.memory_info();
            // What a queue needs for itself stays for as long as the device is open.
            let own = device.device()?.staging();
            assert_eq!((info.live, info.in_use, info.reserved), (0, 0, own), "seed {seed}: {}", device.id());
        }
    }
    assert!(programs < 20 || on_gpus.get() > programs, "only {} ops ran on a GPU", on_gpus.get());
    Ok(refused)
}

const ONE_OF_EACH: &[&str] = &["/CPU:0", "/GPU:0", "/GPU", "/CPU"];
const TWO_CPUS: &[&str] = &["/CPU:0", "/CPU:1", "/GPU:0", "/CPU"];

fn two_cpus(runtime: &Runtime) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let split = match cores {
        1 => [LogicalConfig::limit(1 << 28), LogicalConfig::limit(1 << 28)],
        _ => [LogicalConfig::cores([0]), LogicalConfig::cores([1])],
    };
    runtime.set_logical_devices(DeviceId::CPU0, &split)
}

fn simulated() -> Result<Vec<Machine>> {
    let plain = quiet(machines::cpu_and(&[&SimulatedGpu::new()]));
    let split = quiet(machines::cpu_and(&[&SimulatedGpu::new()]));
    two_cpus(&split)?;
    let poor = SimulatedGpu::new().without_ops(&["tanh", "softmax", "matmul", "fused", "concat"]);
    let lacking = quiet(machines::cpu_and(&[&poor]));
    lacking.set_placement_rule(situ_runtime::PlacementRule::PreferGpu)?;
    let two_gpus = quiet(machines::cpu_and(&[&SimulatedGpu::new(), &SimulatedGpu::new()]));
    let wide = quiet(machines::cpu());
    wide.set_inter_op_threads(Some(3))?;
    let small = quiet(machines::cpu_and(&[&SimulatedGpu::new()]));
    small.set_logical_devices(DeviceId::gpu(0), &[LogicalConfig::limit(48 << 10)])?;
    let machine = |name, runtime, scopes| Machine { name, runtime, scopes, tolerance: 1e-4, tight: false };
    Ok(vec![
        machine("a CPU and a GPU", plain, ONE_OF_EACH),
        machine("two CPUs and a GPU", split, TWO_CPUS),
        machine("a GPU that lacks kernels", lacking, ONE_OF_EACH),
        machine("two GPUs", two_gpus, &["/GPU:0", "/GPU:1", "/CPU:0", "/GPU"]),
        machine("a CPU that runs three ops at once", wide, &["/CPU:0"]),
        Machine { tight: true, ..machine("a small GPU", small, ONE_OF_EACH) },
    ])
}

fn part(n: u64) -> Result<()> {
    let all = seeds(2000);
    if all.end - all.start == 1 {
        return if n == 0 { try_all(&simulated()?, all).map(drop) } else { Ok(()) };
    }
    let each = (all.end - all.start).div_ceil(4);
    let refused = try_all(&simulated()?, n * each..(n + 1) * each)?;
    assert!(refused * 20 < each, "{refused} of {each} programs were refused for want of memory");
    Ok(())
}

#[test]
fn simulated_devices_first_part() -> Result<()> {
    part(0)
}

#[test]
fn simulated_devices_second_part() -> Result<()> {
    part(1)
}

#[test]
fn simulated_devices_third_part() -> Result<()> {
    part(2)
}

#[test]
fn simulated_devices_fourth_part() -> Result<()> {
    part(3)
}

#[test]
fn a_real_gpu_and_two_cpus() -> Result<()> {
    let Some(runtime) = machines::cpu_and_gpu() else { return Ok(()) };
    let runtime = quiet(runtime);
    two_cpus(&runtime)?;
    let scopes = &["/GPU:0", "/CPU:1", "/GPU", "/CPU:0"];
    let machine = Machine { name: "a real GPU and two CPUs", runtime, scopes, tolerance: 1e-3, tight: false };
    let count = std::env::var("SITU_GPU_RECIPES").ok().and_then(|s| s.parse().ok()).unwrap_or(150);
    let range = if std::env::var("SITU_RECIPE").is_ok() { seeds(0) } else { 0..count };
    try_all(&[machine], range).map(drop)
}
