//! Advice: each finding names what is the matter, what to do, and what that saves.

use super::{machine, on, square, two_layers};
use situ_core::{DType, Policy, Result};
use situ_observe::record::{Finding, FindingKind};
use situ_observe::{Record, profile};
use situ_runtime::{LogicalConfig, PlacementRule};
use situ_tensor::{Function, Variable, fallback_policy, name_scope, random, tensor, with_device};
use situ_testkit::machines::cpu_and;
use situ_testkit::simulated::SimulatedGpu;
use std::time::Duration;

fn only(record: &Record, kind: FindingKind) -> &Finding {
    let found: Vec<&Finding> = record.findings.iter().filter(|f| f.kind == kind).collect();
    match found.as_slice() {
        [only] => only,
        other => panic!("{other:#?} of {:#?}", record.findings),
    }
}

#[test]
fn an_op_without_a_kernel_is_told_what_a_cast_saves() -> Result<()> {
    on(&machine(), || {
        let _quiet = fallback_policy(Policy::Allow);
        let x = with_device("/CPU:0", || random::normal(&[512, 512])?.cast(DType::F64))?;
        let f = Function::new(|x| with_device("/GPU:0", || x.matmul(x)?.matmul(x)?.matmul(x)));
        let (_, record) = profile(|| f.call(&x))?;
        let finding = only(&record, FindingKind::Fallback);
        assert!(finding.text.contains("GPU:0 has no f64 kernel for matmul"), "{}", finding.text);
        assert!(finding.text.contains("Cast to f32") && finding.gain_seconds > 0.0, "{finding:?}");
        assert_eq!(finding.nodes.len(), 3);
        Ok(())
    })
}

#[test]
fn a_scope_that_costs_time_is_named_with_the_placers_gain() -> Result<()> {
    on(&machine(), || {
        let f = Function::new(|x| with_device("/CPU:0", || x.matmul(x)?.matmul(x)?.matmul(x)));
        let x = square(768)?;
        let (_, record) = profile(|| f.call(&x))?;
        let finding = only(&record, FindingKind::Scope);
        assert!(
            finding.text.contains("The scope CPU:0 costs") && finding.text.contains("run on GPU:0"),
            "{}",
            finding.text
        );
        assert!(finding.gain_seconds > 0.0 && finding.gain_seconds < record.call_lengths()[0], "{finding:?}");
        let free = Function::new(|x| x.matmul(x)?.matmul(x)?.matmul(x));
        let (_, record) = profile(|| free.call(&x))?;
        assert!(!record.findings.iter().any(|f| f.kind == FindingKind::Scope), "{:?}", record.findings);
        Ok(())
    })
}

#[test]
fn an_argument_that_is_copied_at_each_call_is_worth_keeping_there() -> Result<()> {
    on(&machine(), || {
        let (f, x) = (two_layers(), square(512)?);
        let (_, record) = profile(|| (0..3).try_for_each(|_| f.call(&x).map(drop)))?;
        let finding = only(&record, FindingKind::RepeatedCopy);
        assert!(
            finding.text.contains("1.0 MiB") && finding.text.contains("to_device(\"GPU:0\")"),
            "{}",
            finding.text
        );
        assert_eq!(finding.calls, 3);
        let (_, once) = profile(|| f.call(&x))?;
        assert!(!once.findings.iter().any(|f| f.kind == FindingKind::RepeatedCopy), "once is no habit");
        Ok(())
    })
}

#[test]
fn variables_that_go_to_and_fro_at_each_call_are_one_finding() -> Result<()> {
    let runtime = machine();
    runtime.set_placement_rule(PlacementRule::PreferGpu)?;
    on(&runtime, || {
        // Pinned to the host by a scope, and used on the GPU: both ways at each call.
        let pinned = |side| with_device("/CPU:0", || Variable::new(&random::normal(&[side, side])?));
        let weights = [pinned(256)?, pinned(256)?, pinned(8)?];
        let step = Function::new(move |x| {
            for w in &weights[..2] {
                w.assign(&with_device("/GPU:0", || w.value().matmul(x))?)?;
            }
            weights[2].assign(&with_device("/GPU:0", || weights[2].value().tanh())?)?;
            x.sum(&[])
        });
        let x = square(256)?;
        let (_, record) = profile(|| (0..3).try_for_each(|_| step.call(&x).map(drop)))?;
        let about = record.findings.iter().filter(|f| f.text.contains("variables (")).collect::<Vec<_>>();
        let [finding] = about.as_slice() else { panic!("{:#?}", record.findings) };
        assert_eq!(finding.kind, FindingKind::RepeatedCopy);
        assert!(
            finding.text.starts_with("3 variables (512.2 KiB) go from CPU:0 to GPU:0 at each call"),
            "{}",
            finding.text
        );
        assert!(finding.text.contains("3 new values (512.2 KiB) come back"), "{}", finding.text);
        assert!(
            !record.findings.iter().any(|f| f.text.starts_with("A variable of")),
            "{:#?}",
            record.findings
        );
        Ok(())
    })
}

#[test]
fn a_limit_that_keeps_ops_away_says_how_much_is_missing() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    runtime.set_logical_devices(situ_testkit::machines::GPU, &[LogicalConfig::limit(8 << 20)])?;
    on(&runtime, || {
        let f = Function::new(|x| {
            let (a, b) = (x.matmul(x)?, x.add(x)?.matmul(x)?);
            a.matmul(&b)?.add(&a)?.matmul(&b)?.sum(&[])
        });
        let x = square(768)?;
        let (_, record) = profile(|| f.call(&x))?;
        assert!(
            record.plans[0].nodes.iter().any(|n| n.reason.rule == situ_core::Rule::MemoryLimit),
            "{}",
            record.tables()
        );
        let finding = only(&record, FindingKind::Memory);
        assert!(
            finding.text.contains("GPU:0 has no memory for") && finding.gain_seconds > 0.0,
            "{finding:?}"
        );
        Ok(())
    })
}

#[test]
fn changing_shapes_are_told_to_be_padded() -> Result<()> {
    on(&machine(), || {
        let f = Function::new(|x| x.exp()?.sum(&[])).named("steps");
        let (_, record) = profile(|| (1..4).try_for_each(|n| f.call(&square(n)?).map(drop)))?;
        let finding = only(&record, FindingKind::Retraces);
        assert!(finding.text.starts_with("steps was compiled anew 2 times"), "{}", finding.text);
        assert!(finding.gain_seconds > 0.0 && finding.calls == 2);
        Ok(())
    })
}

#[test]
fn ops_one_by_one_are_told_of_functions() -> Result<()> {
    on(&machine(), || {
        let x = with_device("/CPU:0", || tensor([1.0f32; 4]))?;
        let (_, record) =
            profile(|| (0..200).try_for_each(|_| with_device("/CPU:0", || x.add(&x)).map(drop)))?;
        let finding = only(&record, FindingKind::Eager);
        assert!(finding.text.contains("200 ops ran one by one"), "{}", finding.text);
        Ok(())
    })
}

/// Three steps of Adam on a table of which few rows are looked up; `lazy`: of these rows alone.
fn looked_up(lazy: bool) -> Result<Record> {
    use situ_core::Real;
    use situ_ir::ops::{Update, UpdateKind};
    let zero = || with_device("/CPU:0", || Variable::new(&situ_tensor::zeros(&[50_000, 8], DType::F32)?));
    let (table, mean, square) = (zero()?, zero()?, zero()?);
    let kind = UpdateKind::Adam { beta1: Real(0.9), beta2: Real(0.999), epsilon: Real(1e-8) };
    let adam = Update { kind, decay: Real(0.0), decoupled: false };
    let step = Function::new(move |indices| {
        let tape = situ_tensor::Tape::new();
        let loss = table.value().embedding(indices)?.sum(&[])?;
        let rates = tensor([0.1f32, 1.0])?;
        if let Some(gradient) = tape.gradient(&loss, &table)? {
            match gradient.rows() {
                Some(rows) if lazy => table.step_rows(adam, rows, &rates, &[&mean, &square])?,
                _ => table.step(adam, &gradient, &rates, &[&mean, &square])?,
            }
        }
        Ok(loss)
    });
    let indices = tensor((0..600i32).collect::<Vec<_>>())?;
    Ok(profile(|| (0..3).try_for_each(|_| step.call(&indices).map(drop)))?.1)
}

#[test]
fn a_dense_step_of_a_table_is_told_what_its_rows_would_take() -> Result<()> {
    on(&machine(), || {
        let record = looked_up(false)?;
        let finding = only(&record, FindingKind::Rows);
        assert!(finding.text.contains("changes all 50000 rows of a table for 600"), "{}", finding.text);
        assert!(finding.text.contains("lazy: true") && finding.gain_seconds > 0.0, "{finding:?}");
        let record = looked_up(true)?;
        assert!(!record.findings.iter().any(|f| f.kind == FindingKind::Rows), "{:#?}", record.findings);
        Ok(())
    })
}

#[test]
fn the_largest_gain_comes_first() -> Result<()> {
    on(&machine(), || {
        let (f, x) = (two_layers(), square(512)?);
        let (_, record) = profile(|| (0..6).try_for_each(|_| f.call(&x)?.item::<f32>().map(drop)))?;
        let gains: Vec<f64> = record.findings.iter().map(Finding::total).collect();
        assert!(gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
        Ok(())
    })
}

#[test]
fn a_copy_from_a_queue_is_said_to_wait_and_promises_nothing() -> Result<()> {
    on(&machine(), || {
        let there = with_device("/GPU:0", || square(64)?.neg())?;
        let here = || with_device("/CPU:0", || there.neg().map(drop));
        let (_, record) = profile(|| (0..4).try_for_each(|_| here()))?;
        let finding = only(&record, FindingKind::RepeatedCopy);
        assert!(finding.text.contains("with the wait for the work before it"), "{}", finding.text);
        assert_eq!(finding.gain_seconds, 0.0);
        Ok(())
    })
}

#[test]
fn a_device_that_is_much_slower_than_its_costs_say_is_told_to_be_calibrated() -> Result<()> {
    let slow = SimulatedGpu::new().delay(Duration::from_millis(5));
    on(&cpu_and(&[&slow]), || {
        let (f, x) = (two_layers(), square(64)?);
        let (_, record) = profile(|| (0..6).try_for_each(|_| f.call(&x)?.item::<f32>().map(drop)))?;
        let finding = only(&record, FindingKind::Drift);
        assert!(finding.text.starts_with("A call of two layers takes "), "{}", finding.text);
        assert!(
            finding.text.contains("GPU:0") && finding.text.contains("situ calibrate"),
            "{}",
            finding.text
        );
        assert_eq!((finding.gain_seconds, finding.calls), (0.0, 6), "what it costs nobody can tell");
        let (_, few) = profile(|| f.call(&x))?;
        assert!(!few.findings.iter().any(|f| f.kind == FindingKind::Drift), "one call is no pattern");
        Ok(())
    })
}

#[test]
fn what_holds_for_several_plans_is_said_once_with_the_greatest_gain() -> Result<()> {
    on(&machine(), || {
        let slow = |x: &situ_tensor::Tensor| with_device("/CPU:0", || x.matmul(x)?.matmul(x)?.matmul(x));
        let (train, test) = (Function::new(slow).named("train"), Function::new(slow).named("test"));
        // So far apart that no pause of a busy machine turns them round.
        let [large, small] = [square(1280)?, square(512)?];
        let (_, record) = profile(|| {
            train.call(&large)?;
            train.call(&small)?;
            test.call(&small)?;
            test.call(&small)
        })?;
        let finding = only(&record, FindingKind::Scope);
        let gains: Vec<f64> = finding.elsewhere.iter().map(|other| other.gain_seconds).collect();
        assert_eq!(gains.len(), 2, "{finding:#?}");
        assert!(gains.iter().all(|gain| *gain > 0.0 && *gain <= finding.gain_seconds), "{finding:#?}");
        assert_eq!(record.plans[finding.plan.expect("a plan")].signature, "f32[1280, 1280]");
        for also in ["Also in another plan of train (", " a call), and in test ("] {
            assert!(finding.text.contains(also), "{}", finding.text);
        }
        let total = finding.gain_seconds
            + finding.elsewhere.iter().map(|o| o.gain_seconds * o.calls as f64).sum::<f64>();
        assert!((finding.total() - total).abs() < 1e-12);
        Ok(())
    })
}

#[test]
fn a_gpu_that_waits_for_the_cpu_is_told_of_with_what_it_waits_for() -> Result<()> {
    on(&machine(), || {
        let f = Function::new(|x| {
            let y = {
                let _layer = name_scope("slow");
                with_device("/CPU:0", || x.matmul(x)?.matmul(x)?.matmul(x))?
            };
            let _layer = name_scope("head");
            with_device("/GPU:0", || y.sum(&[]))
        });
        let x = square(512)?;
        let (_, record) = profile(|| (0..4).try_for_each(|_| f.call(&x)?.item::<f32>().map(drop)))?;
        let idle = record.findings.iter().filter(|f| f.kind == FindingKind::Idle);
        let gpu = idle.clone().find(|f| f.text.starts_with("GPU:0 stands still for "));
        let gpu = gpu.unwrap_or_else(|| panic!("{:#?}", record.findings));
        assert!(gpu.text.contains("% of a call, mostly waiting for slow/matmul on CPU:0"), "{}", gpu.text);
        assert!(gpu.nodes.iter().all(|n| record.plans[0].nodes[*n].full_name() == "head/sum"), "{gpu:?}");
        Ok(())
    })
}

#[test]
fn a_lost_device_is_the_cause_of_a_new_plan_and_of_fallbacks() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    runtime.set_listener(Some(Box::new(|_| {})));
    on(&runtime, || {
        let _quiet = fallback_policy(Policy::Allow);
        let (f, x) = (two_layers(), square(64)?);
        let before = f.call(&x)?.item::<f32>()?;
        let (after, record) = profile(|| {
            gpu.controls().lose("unplugged");
            f.call(&x)?.item::<f32>()
        })?;
        assert!((before - after).abs() <= 1e-3 * before.abs().max(1.0), "{before} and {after}");
        let again = record.replacements.last().unwrap_or_else(|| panic!("{}", record.tables()));
        assert!(again.cause.contains("lost"), "{again:?}");
        let fallback = record.fallbacks.first().expect("it ran elsewhere");
        assert_eq!((fallback.op.as_str(), fallback.reason.as_str()), ("matmul", "GPU:0 is lost"));
        let finding = only(&record, FindingKind::Fallback);
        assert!(
            finding.text.contains("dense/matmul") && finding.text.contains("GPU:0 is lost"),
            "{}",
            finding.text
        );
        assert!(finding.text.contains("look at its driver"), "{}", finding.text);
        Ok(())
    })
}

#[test]
fn gains_go_by_what_was_measured_where_it_was() -> Result<()> {
    // By its costs the GPU is faster; it is not, and a scope keeps the op there.
    let slow = SimulatedGpu::new().delay(Duration::from_millis(20));
    on(&cpu_and(&[&slow]), || {
        let f = Function::new(|x| with_device("/GPU:0", || x.matmul(x)?.matmul(x)));
        let x = square(256)?;
        for _ in 0..6 {
            f.call(&x)?.to_vec::<f32>()?;
        }
        let (_, record) = profile(|| f.call(&x)?.to_vec::<f32>().map(drop))?;
        let finding = only(&record, FindingKind::Scope);
        assert!(finding.text.contains("The scope GPU:0 costs"), "{}", finding.text);
        assert!(finding.gain_seconds > 0.02, "two kernels of 20 ms each: {finding:?}");
        Ok(())
    })
}
