//! Copy policies: implicit copies allowed, said, or refused.

use crate::listening::Heard;
use situ_core::{DType, Error, Policy, Result, Shape, TensorType};
use situ_runtime::{Cause, Topic};
use situ_tensor::{Function, copy_policy, tensor, with_device, with_runtime};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

#[test]
fn implicit_copies_are_allowed_by_default_and_booked() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    let heard = Heard::from(&runtime);
    with_runtime(&runtime, || {
        let x = tensor([1.0f32, 2.0])?;
        with_device("/GPU:0", || x.neg())?;
        assert_eq!(runtime.ledger().count(Cause::Implicit), 1);
        assert!(heard.about(Topic::Copy).is_empty());
        Ok(())
    })
}

#[test]
fn a_copy_warns_once_for_each_op_dtype_and_device() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    let heard = Heard::from(&runtime);
    runtime.set_copy_policy(Policy::Warn)?;
    with_runtime(&runtime, || {
        let x = tensor([1.0f32, 2.0])?;
        for _ in 0..3 {
            with_device("/GPU:0", || x.neg())?;
        }
        with_device("/GPU:0", || x.abs())?;
        let said = heard.about(Topic::Copy);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("neg on GPU:0 copies its input 0 (8 B) from CPU:0"), "{said:?}");
        assert_eq!(runtime.ledger().count(Cause::Implicit), 4, "all of them are booked");
        Ok(())
    })
}

#[test]
fn a_forbidden_copy_in_a_function_names_the_input_that_is_elsewhere() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_copy_policy(Policy::Forbid)?;
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0])?;
        let there = here.to_device("/GPU:0")?;
        let sum = Function::new2(|a, b| with_device("/GPU:0", || a.sub(b)));
        for (a, b, input) in [(&there, &here, 1), (&here, &there, 0)] {
            let error = sum.call_many(&[a, b]).unwrap_err();
            let Error::CopyForbidden(copy) = &error else { panic!("{error}") };
            assert_eq!((copy.input, copy.from, copy.bytes), (input, CPU, 8), "{error}");
        }
        // A captured one, too.
        let f = Function::new(move |a| with_device("/GPU:0", || a.sub(&here)));
        let error = f.call(&there).unwrap_err();
        let Error::CopyForbidden(copy) = &error else { panic!("{error}") };
        assert_eq!((copy.input, copy.from), (1, CPU), "{error}");
        Ok(())
    })
}

#[test]
fn data_that_is_written_where_nobody_asked_for_it_is_told_of() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let _nowhere = situ_tensor::device("/CPU:3")?;
        let ty = TensorType::new(DType::U8, Shape::new(&[2])?);
        let write = |bytes: &mut [u8]| {
            bytes.fill(7);
            Ok(())
        };
        let line = line!() + 1;
        let made = situ_tensor::written(ty, write)?;
        assert_eq!(made.device(), CPU);
        let fallbacks: Vec<_> =
            runtime.ledger().entries.into_iter().filter(|e| e.cause == Cause::Fallback).collect();
        assert_eq!(fallbacks.len(), 1, "{fallbacks:?}");
        assert_eq!((fallbacks[0].op, fallbacks[0].location.line()), ("constant", Some(line)));
        Ok(())
    })
}

#[test]
fn a_forbidden_copy_names_the_op_the_input_and_both_devices() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_copy_policy(Policy::Forbid)?;
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0])?;
        let there = here.to_device("/GPU:0")?;
        let error = with_device("/GPU:0", || there.add(&here)).unwrap_err();
        let Error::CopyForbidden(copy) = &error else { panic!("{error}") };
        assert_eq!((copy.op, copy.input, copy.bytes), ("add", 1, 8));
        let text = error.to_string();
        for part in ["add runs on GPU:0", "input 1 is on CPU:0", "8 B", "to_device"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(runtime.ledger().count(Cause::Implicit), 0);
        // Copies that are asked for, and reads, are no implicit ones.
        assert_eq!(with_device("/GPU:0", || there.add(&there))?.device(), GPU);
        assert_eq!(there.to_device("/CPU:0")?.to_vec::<f32>()?, [1.0, 2.0]);
        let _lenient = copy_policy(Policy::Allow);
        assert_eq!(with_device("/GPU:0", || there.add(&here))?.to_vec::<f32>()?, [2.0, 4.0]);
        Ok(())
    })
}
