//! The ledger: every copy and fallback, with its bytes, its time and the line that caused it.

use situ_core::{DeviceId, Result};
use situ_runtime::{Cause, Entry, Route, Runtime};
use situ_tensor::{tensor, with_device, with_runtime};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

fn entries(runtime: &Runtime, cause: Cause) -> Vec<Entry> {
    runtime.ledger().entries.into_iter().filter(|e| e.cause == cause).collect()
}

#[test]
fn each_cause_is_booked_with_bytes_devices_and_the_line_of_the_program() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new().without_ops(&["erf"])]);
    runtime.set_fallback_policy(situ_core::Policy::Allow)?;
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0, 3.0])?;
        assert!(runtime.ledger().entries.is_empty(), "host data on the CPU is no copy between devices");

        let upload_line = line!() + 1;
        let there = with_device("/GPU:0", || tensor([1.0f32, 2.0, 3.0]))?;
        let implicit_line = line!() + 1;
        with_device("/GPU:0", || here.add(&there))?;
        let explicit_line = line!() + 1;
        let copy = here.to_device("/GPU:0")?;
        let read_line = line!() + 1;
        copy.to_vec::<f32>()?;
        let fallback_line = line!() + 1;
        with_device("/GPU:0", || here.erf())?;

        for (cause, op, from, to, bytes, line) in [
            (Cause::Upload, "constant", CPU, GPU, 12, upload_line),
            (Cause::Implicit, "add", CPU, GPU, 12, implicit_line),
            (Cause::Explicit, "to_device", CPU, GPU, 12, explicit_line),
            (Cause::Read, "read", GPU, CPU, 12, read_line),
            (Cause::Fallback, "erf", GPU, CPU, 0, fallback_line),
        ] {
            let found = entries(&runtime, cause);
            assert_eq!(found.len(), 1, "{cause:?}: {found:?}");
            let entry = found[0];
            assert_eq!((entry.op, entry.from, entry.to, entry.count, entry.bytes), (op, from, to, 1, bytes));
            assert!(entry.location.file().ends_with("ledger.rs"), "{}", entry.location);
            assert_eq!(entry.location.line(), Some(line), "{cause:?}");
            assert!(entry.seconds >= 0.0);
        }
        let report = runtime.ledger();
        assert_eq!((report.bytes(CPU, GPU), report.bytes(GPU, CPU)), (36, 12));
        let text = report.to_string();
        assert!(
            text.contains("implicit copy") && text.contains("add at") && text.contains("ledger.rs:"),
            "{text}"
        );
        Ok(())
    })
}

#[test]
fn a_line_that_runs_often_is_one_entry_with_a_count() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let here = tensor([0.0f32; 100])?;
        for _ in 0..5 {
            with_device("/GPU:0", || here.neg())?;
        }
        let found = entries(&runtime, Cause::Implicit);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].bytes), (5, 2000));
        runtime.clear_ledger();
        assert!(runtime.ledger().entries.is_empty());
        assert!(runtime.ledger().to_string().contains("nothing was copied"));
        Ok(())
    })
}

#[test]
fn a_copy_between_gpus_is_one_entry_that_says_it_went_through_the_host() -> Result<()> {
    let gpus = [SimulatedGpu::new(), SimulatedGpu::new()];
    let runtime = cpu_and(&[&gpus[0], &gpus[1]]);
    with_runtime(&runtime, || {
        let x = with_device("/GPU:0", || tensor([1.0f32; 50]))?;
        runtime.clear_ledger();
        with_device("/GPU:1", || x.neg())?;
        let report = runtime.ledger();
        assert_eq!(report.count(Cause::Implicit), 1);
        assert_eq!(report.entries[0].route, Route::ThroughHost);
        assert_eq!((report.bytes(GPU, CPU), report.bytes(GPU, DeviceId::gpu(1))), (0, 200));
        Ok(())
    })
}

#[test]
fn only_the_elements_of_a_view_are_copied() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let x = with_device("/GPU:0", || situ_tensor::zeros(&[100, 100], situ_core::DType::F32))?;
        let corner = x.slice(&[(0..2).into(), (0..3).into()])?;
        runtime.clear_ledger();
        assert_eq!(corner.to_vec::<f32>()?, [0.0; 6]);
        assert_eq!(runtime.ledger().bytes(GPU, CPU), 24);
        Ok(())
    })
}

#[test]
fn work_on_one_device_books_nothing() -> Result<()> {
    let runtime = cpu();
    with_runtime(&runtime, || {
        let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
        x.matmul(&x)?.transpose(&[])?.reshape(&[4])?.to_vec::<f32>()?;
        assert!(runtime.ledger().entries.is_empty());
        Ok(())
    })
}
