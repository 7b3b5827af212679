//! Scopes and policies inside conditions and loops hold as they do in a plain function.

use crate::{is_up, only};
use situ_core::{DType, DeviceId, Policy, Result};
use situ_runtime::{Cause, Runtime};
use situ_tensor::{
    Function, Tape, Tensor, cond, copy_policy, device, fallback_policy, tensor, while_loop, with_device,
    with_runtime,
};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and, cpu_and_gpu, shared_cpu_and_gpu};
use situ_testkit::simulated::SimulatedGpu;
use std::sync::{Arc, Mutex};

/// Runs a test on a machine with a simulated GPU, and on one with a real one where there is one.
fn with_gpus(test: impl Fn(&Runtime) -> Result<()>) -> Result<()> {
    let simulated = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&simulated, || test(&simulated))?;
    // One of the test's own: others would be in its ledger.
    let Some(runtime) = cpu_and_gpu() else { return Ok(()) };
    with_runtime(&runtime, || test(&runtime))
}

fn on_cpu(values: &[f32]) -> Result<Tensor> {
    with_device("/CPU:0", || tensor(values.to_vec()))
}

/// tanh under a scope on one side, the negative on the other.
fn under(device: &'static str) -> Function {
    Function::new(move |x| {
        let sides = cond(&is_up(x)?, || Ok(vec![with_device(device, || x.tanh())?]), || Ok(vec![x.neg()?]))?;
        Ok(only(sides))
    })
}

fn places(f: &Function, x: &Tensor, op: &str) -> Result<Vec<DeviceId>> {
    Ok(f.places(&[x])?.iter().filter(|place| place.name == op).map(|place| place.device).collect())
}

#[test]
fn an_impossible_scope_in_a_branch_is_an_error_where_fallback_is_forbidden() -> Result<()> {
    with_gpus(|_| {
        let x = on_cpu(&[1.0, 2.0])?;
        let refused = |f: Function| {
            let error = f.call(&x).expect_err("there is no such device").to_string();
            assert!(error.contains("GPU:7"), "{error}");
        };
        let _strict = fallback_policy(Policy::Forbid);
        refused(Function::new(|x| with_device("/GPU:7", || x.tanh())));
        refused(under("/GPU:7"));
        refused(Function::new(|x| {
            let body = |s: &[Tensor]| Ok(vec![with_device("/GPU:7", || s[0].tanh())?]);
            Ok(only(while_loop(std::slice::from_ref(x), |s| is_up(&s[0]), body)?))
        }));
        drop(_strict);
        // The policy of the branch itself, in a program that allows fallbacks.
        refused(Function::new(|x| {
            let inner = || {
                let _strict = fallback_policy(Policy::Forbid);
                let deep = cond(
                    &is_up(x)?,
                    || Ok(vec![with_device("/GPU:7", || x.tanh())?]),
                    || Ok(vec![x.exp()?]),
                )?;
                Ok(deep)
            };
            Ok(only(cond(&is_up(x)?, inner, || Ok(vec![x.neg()?]))?))
        }));
        Ok(())
    })
}

#[test]
fn a_fallback_in_a_branch_is_in_the_ledger_and_warned_of_once() -> Result<()> {
    let runtime = cpu();
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let list = said.clone();
    runtime.set_listener(Some(Box::new(move |notice| list.lock().unwrap().push(notice.text.clone()))));
    runtime.set_fallback_policy(Policy::Warn)?;
    with_runtime(&runtime, || {
        let x = on_cpu(&[1.0, 2.0])?;
        let f = under("/GPU:0");
        for _ in 0..3 {
            assert_eq!(f.call(&x)?.to_vec::<f32>()?, x.tanh()?.to_vec::<f32>()?);
        }
        let booked = runtime.ledger();
        let booked: Vec<_> = booked.entries.iter().filter(|e| e.cause == Cause::Fallback).collect();
        assert_eq!(booked.len(), 1, "{booked:?}");
        assert_eq!((booked[0].op, booked[0].to, booked[0].count), ("tanh", CPU, 1));
        let said = said.lock().unwrap();
        let about: Vec<_> = said.iter().filter(|text| text.contains("tanh")).collect();
        assert_eq!(about.len(), 1, "{said:?}");
        let place = f.places(&[&x])?.into_iter().find(|place| place.name == "tanh").expect("it is listed");
        assert_eq!(place.device, CPU);
        assert!(
            place.reason.to_string().contains("no such device") || place.reason.wanted().is_some(),
            "{}",
            place.reason
        );
        Ok(())
    })
}

#[test]
fn an_op_with_a_scope_in_a_branch_runs_there_and_its_copies_are_booked() -> Result<()> {
    with_gpus(|runtime| {
        let x = on_cpu(&[0.5; 256])?;
        // The sums keep the condition on the CPU; only the tanh goes.
        let f = Function::new(|x| {
            let _around = device("/CPU:0")?;
            let sides = cond(
                &is_up(x)?,
                || {
                    let y = with_device("/CPU:0", || x.exp())?;
                    let y = with_device("/GPU:0", || y.tanh())?;
                    Ok(vec![with_device("/CPU:0", || y.sum(&[]))?])
                },
                || Ok(vec![with_device("/CPU:0", || x.sum(&[]))?]),
            )?;
            Ok(only(sides))
        });
        let expected = x.exp()?.tanh()?.sum(&[])?.item::<f32>()?;
        assert_eq!(places(&f, &x, "tanh")?, [GPU]);
        assert_eq!(places(&f, &x, "exp")?, [CPU]);
        let explained = f.explain(&[&x])?;
        let tanh = explained.ops.iter().find(|op| op.place.name == "tanh").expect("it is explained");
        assert_eq!(
            (tanh.place.device, tanh.place.reason.rule()),
            (GPU, situ_core::Rule::Requested),
            "{explained}"
        );
        let before = runtime.ledger();
        for _ in 0..3 {
            let got = f.call(&x)?.item::<f32>()?;
            assert!((got - expected).abs() < 1e-3, "{got} {expected}");
        }
        f.call(&on_cpu(&[-0.5; 256])?)?;
        let after = runtime.ledger();
        let moved = |from, to| after.bytes(from, to) - before.bytes(from, to);
        assert_eq!(moved(CPU, GPU), 3 * 1024, "{after}");
        assert_eq!(moved(GPU, CPU), 3 * 1024, "{after}");
        let lines: Vec<_> =
            after.entries.iter().filter(|e| e.location.file().ends_with("scopes.rs")).collect();
        assert!(lines.iter().any(|e| e.from == CPU && e.to == GPU && e.bytes >= 3 * 1024), "{after}");
        Ok(())
    })
}

#[test]
fn a_branch_whose_ops_all_ask_for_one_device_is_there() -> Result<()> {
    with_gpus(|runtime| {
        let x = on_cpu(&[0.5; 256])?;
        let f = Function::new(|x| {
            let on_gpu = |f: &dyn Fn() -> Result<Tensor>| with_device("/GPU:0", f);
            let up = with_device("/CPU:0", || is_up(x))?;
            let body = |s: &[Tensor]| {
                let next = on_gpu(&|| s[0].tanh()?.mul(&s[0]))?;
                Ok(vec![next, with_device("/GPU:0", || s[1].add(&tensor(1)?))?])
            };
            let trips = |s: &[Tensor]| with_device("/GPU:0", || s[1].less(&tensor(4)?));
            Ok(only(cond(
                &up,
                || Ok(vec![while_loop(&[x.clone(), tensor(0)?], trips, body)?.remove(0)]),
                || Ok(vec![on_gpu(&|| x.neg())?]),
            )?))
        });
        let mut expected = x.clone();
        for _ in 0..4 {
            expected = expected.tanh()?.mul(&expected)?;
        }
        let got = f.call(&x)?;
        assert_eq!(got.device(), GPU);
        for (g, e) in got.to_vec::<f32>()?.iter().zip(expected.to_vec::<f32>()?) {
            assert!((g - e).abs() < 1e-6, "{g} {e}");
        }
        let before = runtime.ledger().bytes(CPU, GPU);
        f.call(&x)?;
        let moved = runtime.ledger().bytes(CPU, GPU) - before;
        assert!(moved <= 1024 + 16, "the input goes there once, not at every trip: {moved}");
        Ok(())
    })
}

#[test]
fn a_loop_that_goes_from_device_to_device_at_every_trip_counts_each_copy() -> Result<()> {
    with_gpus(|runtime| {
        let x = on_cpu(&[1.0; 64])?;
        let f = Function::new(|x| {
            let body = |s: &[Tensor]| {
                let there = with_device("/GPU:0", || &s[0] * 2.0)?;
                Ok(vec![with_device("/CPU:0", || &there + 1.0)?, with_device("/CPU:0", || &s[1] + 1.0)?])
            };
            let test = |s: &[Tensor]| with_device("/CPU:0", || s[1].less(&tensor(5)?));
            let _around = device("/CPU:0")?;
            let start = tensor(0)?;
            Ok(while_loop(&[x.clone(), start], test, body)?.remove(0))
        });
        let before = runtime.ledger();
        assert_eq!(f.call(&x)?.to_vec::<f32>()?, [63.0; 64]);
        let after = runtime.ledger();
        assert_eq!(after.bytes(CPU, GPU) - before.bytes(CPU, GPU), 5 * 256, "{after}");
        assert_eq!(after.bytes(GPU, CPU) - before.bytes(GPU, CPU), 5 * 256, "{after}");
        Ok(())
    })
}

#[test]
fn copies_in_a_branch_are_booked_as_their_own_and_not_as_copies_around_it() -> Result<()> {
    with_gpus(|runtime| {
        let x = on_cpu(&[0.5; 512])?;
        let f = Function::new(|x| {
            // 2048 bytes go up and come back around the condition, 4 within it.
            let y = with_device("/GPU:0", || x.tanh())?;
            let y = with_device("/CPU:0", || y.exp())?;
            let up = with_device("/CPU:0", || is_up(&y))?;
            let sum = with_device("/CPU:0", || y.sum(&[]))?;
            let inside = || {
                let there = with_device("/GPU:0", || sum.square())?;
                Ok(vec![with_device("/CPU:0", || there.neg())?])
            };
            let _around = device("/CPU:0")?;
            Ok(only(cond(&up, inside, || Ok(vec![with_device("/CPU:0", || sum.exp())?]))?))
        });
        f.call(&x)?;
        let ledger = runtime.ledger();
        // By their lines: a constant of no scope may be made anywhere.
        let here = ledger.entries.iter().filter(|e| e.location.file() == file!());
        let bytes = |from| here.clone().filter(|e| e.from == from).map(|e| e.bytes).collect::<Vec<_>>();
        assert_eq!((bytes(CPU), bytes(GPU)), (vec![2048, 4], vec![2048, 4]), "{ledger}");
        Ok(())
    })
}

#[test]
fn a_copy_in_a_branch_may_be_forbidden() -> Result<()> {
    with_gpus(|_| {
        let x = on_cpu(&[1.0, 2.0])?;
        let f = Function::new(|x| {
            let inside = || {
                let _strict = copy_policy(Policy::Forbid);
                let there = with_device("/GPU:0", || x.tanh())?;
                Ok(vec![with_device("/CPU:0", || there.exp())?])
            };
            let up = with_device("/CPU:0", || is_up(x))?;
            Ok(only(cond(&up, inside, || Ok(vec![with_device("/CPU:0", || x.neg())?]))?))
        });
        let error = f.call(&x).expect_err("it would have to be copied").to_string();
        assert!(error.contains("cop"), "{error}");
        Ok(())
    })
}

#[test]
fn a_gradient_op_in_a_branch_runs_where_its_forward_op_does() -> Result<()> {
    with_gpus(|_| {
        let x = on_cpu(&[0.5, 1.0])?;
        let f = Function::new(|x| {
            let tape = Tape::new();
            let x = tape.watch(x)?;
            let up = with_device("/CPU:0", || is_up(&x))?;
            let y = cond(&up, || Ok(vec![with_device("/GPU:0", || x.tanh())?]), || Ok(vec![x.neg()?]))?;
            Ok(tape.gradient(&only(y), &x)?.expect("it depends on x"))
        });
        let got = f.call(&x)?.to_vec::<f32>()?;
        for (g, x) in got.iter().zip([0.5f32, 1.0]) {
            assert!((g - (1.0 - x.tanh().powi(2))).abs() < 1e-5, "{g}");
        }
        assert!(places(&f, &x, "tanh")?.iter().all(|d| *d == GPU));
        Ok(())
    })
}

#[test]
fn an_op_that_the_gpu_lacks_falls_back_alone_in_a_branch_on_it() -> Result<()> {
    let runtime = shared_cpu_and_gpu();
    let Some(runtime) = runtime else { return Ok(()) };
    with_runtime(runtime, || {
        // No GPU of today's has f64 here.
        let x = on_cpu(&[1.0, 2.0])?;
        let f = Function::new(|x| {
            let inside = || Ok(vec![x.tanh()?.cast(DType::F64)?.exp()?.cast(DType::F32)?]);
            Ok(only(cond(&is_up(x)?, inside, || Ok(vec![x.neg()?]))?))
        });
        // Fused with what only the CPU has, the tanh would be there too.
        let f = f.without("fuse")?;
        let got = with_device("/GPU:0", || f.call(&x))?.to_vec::<f32>()?;
        for (g, x) in got.iter().zip([1.0f64, 2.0]) {
            assert!((f64::from(*g) - x.tanh().exp()).abs() < 1e-5, "{g}");
        }
        let (tanh, exp) = with_device("/GPU:0", || Ok((places(&f, &x, "tanh")?, places(&f, &x, "exp")?)))?;
        assert_eq!((tanh.as_slice(), exp.as_slice()), ([GPU].as_slice(), [CPU].as_slice()));
        Ok(())
    })
}

#[test]
fn a_loop_may_give_views_of_its_state() -> Result<()> {
    with_gpus(|_| {
        for device in ["/CPU:0", "/GPU:0"] {
            let turned = |x: &Tensor| -> Result<Tensor> {
                let body = |s: &[Tensor]| Ok(vec![s[0].transpose(&[])?, (&s[1] + 1.0)?]);
                Ok(while_loop(&[x.clone(), tensor(0)?], |s| s[1].less(&tensor(3)?), body)?.remove(0))
            };
            with_device(device, || {
                let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
                assert_eq!(turned(&x)?.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
                assert_eq!(
                    Function::new(turned).call(&x)?.to_vec::<f32>()?,
                    [1.0, 3.0, 2.0, 4.0],
                    "{device}"
                );
                let sides = |x: &Tensor| -> Result<Tensor> {
                    let out = cond(&is_up(x)?, || Ok(vec![x.transpose(&[])?]), || Ok(vec![x.clone()]))?;
                    out[0].narrow(0, 1, 2)
                };
                assert_eq!(Function::new(sides).call(&x)?.to_vec::<f32>()?, [2.0, 4.0]);
                Ok(())
            })?;
        }
        Ok(())
    })
}
