//! Copy policies: implicit copies allowed, said, or refused.

use crate::listening::Heard;
use situ_core::{Error, Policy, Result};
use situ_runtime::{Cause, Topic};
use situ_tensor::{copy_policy, tensor, with_device, with_runtime};
use situ_testkit::machines::{GPU, cpu_and};
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
