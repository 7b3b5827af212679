//! Advice: each finding names what is the matter, what to do, and what that saves.

use super::{machine, on, square, two_layers};
use situ_core::{DType, Policy, Result};
use situ_observe::record::{Finding, FindingKind};
use situ_observe::{Record, profile};
use situ_runtime::LogicalConfig;
use situ_tensor::{Function, fallback_policy, random, tensor, with_device};
use situ_testkit::machines::cpu_and;
use situ_testkit::simulated::SimulatedGpu;

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
        assert!(
            finding.gain_seconds > 0.0 && finding.gain_seconds < record.plans[0].predicted,
            "{finding:?}"
        );
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
        assert!(record.plans[0].nodes.iter().any(|n| n.reason.rule == "memory limit"), "{}", record.tables());
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
        assert!(finding.text.starts_with("steps was traced and compiled anew 2 times"), "{}", finding.text);
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

#[test]
fn the_largest_gain_comes_first() -> Result<()> {
    on(&machine(), || {
        let (f, x) = (two_layers(), square(512)?);
        let (_, record) = profile(|| (0..6).try_for_each(|_| f.call(&x)?.item::<f32>().map(drop)))?;
        let gains: Vec<f64> = record.findings.iter().map(situ_observe::findings::total).collect();
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
