//! Operands beyond what a device can hold in one buffer run elsewhere, with that reason; they are never cut
//! off.

use situ_core::{DType, DeviceId, Error, Policy, Reason, Result};
use situ_runtime::{PlacementRule, Runtime};
use situ_tensor::{
    Function, Tensor, Variable, cond, fallback_policy, ones, tensor, with_device, with_runtime,
};
use situ_testkit::machines::{CPU, GPU, cpu_and, cpu_and_gpu};
use situ_testkit::simulated::SimulatedGpu;

/// The largest buffer of the simulated GPU.
const BLOCK: usize = 1 << 20;
/// The side of a square of f32 that is beyond it: 1.4 MB.
const N: usize = 600;

fn machine() -> Result<Runtime> {
    let runtime = cpu_and(&[&SimulatedGpu::new().max_block(BLOCK)]);
    runtime.set_fallback_policy(Policy::Allow)?;
    Ok(runtime)
}

/// The sums of the rows of `x xᵀ`, which is as large as `x` is long squared.
fn outer() -> Function {
    Function::new(|x| {
        let n = x.shape().dims()[0] as isize;
        x.reshape(&[n, 1])?.matmul(&x.reshape(&[1, n])?)?.sum(&[1])
    })
}

fn place(f: &Function, inputs: &[&Tensor], op: &str) -> Result<(DeviceId, Reason)> {
    let places = f.places(inputs)?;
    let found = places.iter().find(|p| p.name == op).unwrap_or_else(|| panic!("no {op} in {places:?}"));
    Ok((found.device, found.reason))
}

fn is_too_large(reason: Reason) -> bool {
    matches!(reason, Reason::TooLarge { wanted: GPU, .. })
}

#[test]
fn an_intermediate_beyond_a_block_runs_elsewhere_under_any_rule_and_scope() -> Result<()> {
    for rule in [PlacementRule::Auto, PlacementRule::PreferGpu, PlacementRule::Manual] {
        let runtime = machine()?;
        runtime.set_placement_rule(rule)?;
        with_runtime(&runtime, || {
            for home in ["/CPU:0", "/GPU:0"] {
                let x = ones(&[N], DType::F32)?.to_device(home)?;
                for scope in ["", "/CPU:0", "/GPU:0"] {
                    let f = outer();
                    let run = || {
                        let (matmul, reason) = place(&f, &[&x], "matmul")?;
                        assert_eq!(matmul, CPU, "{rule:?} {home} {scope:?}");
                        if scope == "/GPU:0" {
                            assert!(is_too_large(reason), "{rule:?} {home} {scope:?}: {reason:?}");
                        }
                        f.call(&x)
                    };
                    let y = if scope.is_empty() { run()? } else { with_device(scope, run)? };
                    assert_eq!(y.to_vec::<f32>()?, vec![N as f32; N], "{rule:?} {home} {scope:?}");
                }
            }
            Result::<()>::Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn eager_ops_and_functions_give_the_same_reason() -> Result<()> {
    for rule in [PlacementRule::Auto, PlacementRule::PreferGpu] {
        let runtime = machine()?;
        runtime.set_placement_rule(rule)?;
        with_runtime(&runtime, || {
            let x = ones(&[N], DType::F32)?.to_device("/GPU:0")?;
            let eager = || x.reshape(&[N as isize, 1])?.matmul(&x.reshape(&[1, N as isize])?);
            let f = outer();
            for scoped in [false, true] {
                let pair = || -> Result<(Tensor, (DeviceId, Reason))> {
                    Ok((eager()?, place(&f, &[&x], "matmul")?))
                };
                let (made, placed) = if scoped { with_device("/GPU:0", pair)? } else { pair()? };
                assert_eq!((made.device(), made.reason()), placed, "{rule:?}, scoped: {scoped}");
                let said = made.reason().to_string();
                assert_eq!(
                    said, "too large for GPU:0: 1.4 MiB in one output, where 1.0 MiB is the most",
                    "{rule:?}"
                );
            }
            Result::<()>::Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn where_fallback_is_forbidden_the_error_has_the_figures() -> Result<()> {
    let runtime = machine()?;
    with_runtime(&runtime, || {
        let x = ones(&[N], DType::F32)?;
        let square = ones(&[N, N], DType::F32)?;
        let _strict = fallback_policy(Policy::Forbid);
        let scoped = |f: &dyn Fn() -> Result<Tensor>| with_device("/GPU:0", f);
        for error in [
            scoped(&|| outer().call(&x)).unwrap_err(),
            scoped(&|| Function::new(|x| x.exp()).call(&square)).unwrap_err(),
            scoped(&|| square.exp()).unwrap_err(),
            scoped(&|| ones(&[N, N], DType::F32)).unwrap_err(),
            scoped(&|| tensor(vec![1.0f32; N * N])).unwrap_err(),
            scoped(&|| Variable::new(&square).map(|v| v.value())).unwrap_err(),
            square.to_device("/GPU:0").unwrap_err(),
        ] {
            let Error::TooLarge(report) = &error else { panic!("{error}") };
            assert_eq!(report.device, GPU);
            assert_eq!(
                (report.excess.needs, report.excess.limit),
                (4 * (N * N) as u64, BLOCK as u64),
                "{error}"
            );
            assert!(error.to_string().contains("1.4 MiB in one"), "{error}");
        }
        Ok(())
    })
}

#[test]
fn arguments_captures_variables_and_results_beyond_a_block_stay_off_the_device() -> Result<()> {
    for rule in [PlacementRule::Auto, PlacementRule::PreferGpu] {
        let runtime = machine()?;
        runtime.set_placement_rule(rule)?;
        with_runtime(&runtime, || {
            let large = with_device("/CPU:0", || ones(&[N, N], DType::F32))?;
            let column = with_device("/CPU:0", || ones(&[N, 1], DType::F32))?;
            for scoped in [false, true] {
                let run = |f: &Function, x: &Tensor| match scoped {
                    true => with_device("/GPU:0", || f.call(x)),
                    false => f.call(x),
                };
                let sums = vec![N as f32; N];
                let argument = Function::new(|x| x.sum(&[1]));
                assert_eq!(run(&argument, &large)?.to_vec::<f32>()?, sums);
                let captured = large.clone();
                let capture = Function::new(move |x| captured.matmul(x));
                assert_eq!(run(&capture, &column)?.to_vec::<f32>()?, sums);
                // A part of it that fits may be anywhere.
                let captured = large.clone();
                let part = Function::new(move |x| captured.narrow(0, 0, 10)?.matmul(x)?.neg()?.abs());
                assert_eq!(run(&part, &column)?.to_vec::<f32>()?, [N as f32; 10]);
                let result = Function::new(|x| x.matmul(&x.transpose(&[1, 0])?));
                let made = run(&result, &column)?;
                assert_eq!(made.device(), CPU);
                assert_eq!(made.to_vec::<f32>()?, vec![1.0; N * N]);
                let v = Variable::new(&large)?;
                let (held, step) = (
                    v.clone(),
                    Function::new({
                        let v = v.clone();
                        move |x| {
                            v.assign_add(&v.value())?;
                            v.value().matmul(x)
                        }
                    }),
                );
                run(&step, &column)?;
                assert_eq!(run(&step, &column)?.to_vec::<f32>()?, vec![4.0 * N as f32; N]);
                assert_eq!(held.device(), CPU);
                assert_eq!(held.value().to_vec::<f32>()?, vec![4.0; N * N]);
            }
            Result::<()>::Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn joined_ops_and_their_workspaces_keep_within_a_block() -> Result<()> {
    let runtime = machine()?;
    with_runtime(&runtime, || {
        let _gpu = situ_tensor::device("/GPU:0")?;
        let x = with_device("/CPU:0", || ones(&[N, N], DType::F32))?;
        let chain = Function::new(|x| &(&x.neg()?.abs()? * 3.0)? + 1.0);
        assert_eq!(chain.call(&x)?.to_vec::<f32>()?, vec![4.0; N * N]);
        assert!(chain.places(&[&x])?.iter().all(|p| p.device == CPU && is_too_large(p.reason)));
        // Bools that fit, by way of floats that do not.
        let bools = with_device("/CPU:0", || ones(&[1000, 1000], DType::Bool))?;
        let through = Function::new(|x| (&x.cast(DType::F32)? * 3.0)?.greater(&tensor(2.0f32)?));
        assert_eq!(through.call(&bools)?.to_vec::<bool>()?, vec![true; 1_000_000]);
        // A product with bias and activation.
        let (a, b) = (ones(&[N, 8], DType::F32)?, ones(&[8, N], DType::F32)?);
        let bias = ones(&[N], DType::F32)?;
        let layer = Function::new(move |x| x.matmul(&b)?.add(&bias)?.relu());
        let y = layer.call(&a)?;
        assert_eq!((y.device(), y.to_vec::<f32>()?), (CPU, vec![9.0; N * N]));
        Ok(())
    })
}

#[test]
fn branches_with_operands_beyond_a_block_run_elsewhere() -> Result<()> {
    let runtime = machine()?;
    with_runtime(&runtime, || {
        let x = ones(&[N], DType::F32)?.to_device("/GPU:0")?;
        let f = Function::new(|x| {
            let n = N as isize;
            let large = || -> Result<Vec<Tensor>> {
                let product = x.reshape(&[n, 1])?.matmul(&x.reshape(&[1, n])?)?;
                Ok(vec![product.sum(&[1])?])
            };
            let repeated = || -> Result<Vec<Tensor>> {
                let again = x.reshape(&[1, n])?.expand(&[N, N])?.reshape(&[n * n])?;
                Ok(vec![again.narrow(0, 0, N)?.mul(x)?])
            };
            Ok(cond(&x.sum(&[])?.greater(&tensor(0.0f32)?)?, large, repeated)?[0].clone())
        });
        for sign in [1.0, -1.0] {
            let x = (&x * sign)?;
            let y = with_device("/GPU:0", || f.call(&x))?;
            let expected = if sign > 0.0 { N as f32 } else { 1.0 };
            assert_eq!(y.to_vec::<f32>()?, vec![expected; N]);
        }
        Ok(())
    })
}

#[test]
fn a_view_that_would_be_too_large_once_dense_is_made_dense_elsewhere() -> Result<()> {
    let runtime = machine()?;
    with_runtime(&runtime, || {
        let numbers: Vec<f32> = (0..N).map(|i| i as f32).collect();
        let x = tensor(numbers.clone())?.to_device("/GPU:0")?;
        let n = N as isize;
        let repeated = move |x: &Tensor| x.reshape(&[n, 1])?.expand(&[N, N])?.reshape(&[n * n]);
        let expected: Vec<f32> = (0..N * N).map(|i| (i / N) as f32).collect();
        let _gpu = situ_tensor::device("/GPU:0")?;
        assert_eq!(repeated(&x)?.to_vec::<f32>()?, expected);
        let all = Function::new(move |x| repeated(x));
        assert_eq!(all.call(&x)?.to_vec::<f32>()?, expected);
        // Only a part of it is read.
        let part = Function::new(move |x| repeated(x)?.narrow(0, N * N - N, N * N)?.add(x));
        let sums: Vec<f32> = numbers.iter().map(|x| x + (N - 1) as f32).collect();
        assert_eq!(part.call(&x)?.to_vec::<f32>()?, sums);
        // A view that is no memory at all may leave the function, be captured, be read and be moved.
        let view = Function::new(move |x| x.reshape(&[n, 1])?.expand(&[N, N])).call(&x)?;
        assert_eq!(view.to_vec::<f32>()?, expected);
        assert_eq!(view.to_device("/CPU:0")?.to_vec::<f32>()?, expected);
        assert_eq!(view.sum(&[1])?.to_vec::<f32>()?[N - 1], (N * (N - 1)) as f32);
        let held = view.clone();
        let captured = Function::new(move |x| held.sum(&[0])?.sub(x));
        let column: f32 = numbers.iter().sum();
        assert_eq!(captured.call(&x)?.to_vec::<f32>()?[1], column - 1.0);
        Ok(())
    })
}

#[test]
fn host_data_beyond_a_block_goes_to_the_host_with_the_reason() -> Result<()> {
    let runtime = machine()?;
    with_runtime(&runtime, || {
        let made = with_device("/GPU:0", || tensor(vec![1.0f32; N * N]))?;
        assert!(made.device() == CPU && is_too_large(made.reason()), "{:?}", made.reason());
        let v = with_device("/GPU:0", || Variable::new(&made))?;
        assert_eq!(v.device(), CPU);
        runtime.set_placement_rule(PlacementRule::PreferGpu)?;
        let made = tensor(vec![1.0f32; N * N])?;
        assert!(made.device() == CPU && is_too_large(made.reason()), "{:?}", made.reason());
        assert_eq!(tensor([1.0f32])?.device(), GPU);
        Ok(())
    })
}

#[test]
fn a_real_gpu_is_left_out_for_what_is_beyond_its_largest_buffer() -> Result<()> {
    let Some(runtime) = cpu_and_gpu() else { return Ok(()) };
    let device = runtime.logical_device(&GPU.spec())?;
    let most = device.device()?.max_block();
    let n = ((most / 4) as f64).sqrt() as usize + 1;
    if 4 * n * n > 1 << 30 {
        println!("skipped: its largest buffer is of {most} bytes, more than a test should take");
        return Ok(());
    }
    runtime.set_fallback_policy(Policy::Allow)?;
    with_runtime(&runtime, || {
        let x = ones(&[n], DType::F32)?;
        let f = outer();
        for rule in [PlacementRule::Auto, PlacementRule::PreferGpu] {
            runtime.set_placement_rule(rule)?;
            assert_eq!(f.call(&x)?.to_vec::<f32>()?, vec![n as f32; n], "{rule:?}");
        }
        let y = with_device("/GPU:0", || f.call(&x))?;
        assert_eq!(y.to_vec::<f32>()?, vec![n as f32; n]);
        let there = x.to_device("/GPU:0")?;
        let square = there.reshape(&[n as isize, 1])?.expand(&[n, n])?;
        let sums = with_device("/GPU:0", || square.sum(&[1]))?;
        assert!(matches!(sums.reason(), Reason::TooLarge { .. }), "{:?}", sums.reason());
        assert_eq!(sums.to_vec::<f32>()?, vec![n as f32; n]);
        Ok(())
    })
}
