//! Errors that depend on data, found when queued work has run.

use situ_core::error::Fault;
use situ_core::{DeviceKind, Error, Result};
use situ_runtime::Runtime;
use situ_tensor::{Tensor, device, tensor, with_runtime};
use situ_testkit::machines::{cpu, cpu_and, cpu_and_gpu};
use situ_testkit::simulated::SimulatedGpu;

/// Logits of three rows and four classes.
fn logits() -> Result<Tensor> {
    tensor([[1.0f32, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 9.0, 0.0]])
}

fn assert_names(error: &Error, op: &str, row: usize, value: i64, line: u32) {
    let Error::Data(data) = error else { panic!("{error}") };
    assert_eq!((data.op, data.row), (op, row), "{error}");
    assert!(matches!(data.fault, Fault::OutOfRange { value: v, .. } if v == value), "{error}");
    let text = error.to_string();
    for part in [op, &format!("row {row}"), &value.to_string(), &format!("queued_errors.rs:{line}")] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// On a device that queues: the call succeeds, the read fails, dependents are poisoned, others are not.
fn late_errors(runtime: &Runtime) -> Result<()> {
    with_runtime(runtime, || {
        let _gpu = device("/GPU:0")?;
        let good = tensor([1.0f32, 2.0])?;
        let line = line!() + 1;
        let losses = logits()?.sparse_softmax_cross_entropy(&tensor([3i32, 7, -1])?)?;
        let dependent = losses.mean(&[])?.neg()?;
        let unrelated = good.add(&good)?;
        // The first bad row is named, by whichever is read first.
        assert_names(&dependent.to_vec::<f32>().unwrap_err(), "sparse_softmax_cross_entropy", 1, 7, line);
        assert_names(&losses.to_vec::<f32>().unwrap_err(), "sparse_softmax_cross_entropy", 1, 7, line);
        assert_eq!(unrelated.to_vec::<f32>()?, [2.0, 4.0]);
        assert_eq!(good.to_vec::<f32>()?, [1.0, 2.0]);
        // Known to be bad: an op on it fails at the call, and so does a copy to another device.
        assert_names(&losses.neg().unwrap_err(), "sparse_softmax_cross_entropy", 1, 7, line);
        assert_names(&losses.to_device("/CPU:0").unwrap_err(), "sparse_softmax_cross_entropy", 1, 7, line);
        Ok(())
    })
}

fn sync_reports(runtime: &Runtime) -> Result<()> {
    with_runtime(runtime, || {
        let _gpu = device("/GPU:0")?;
        let table = tensor([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
        let line = line!() + 1;
        let picked = table.gather(&tensor([0i32, 2, 3, 1])?, 0)?;
        assert_names(&runtime.sync().unwrap_err(), "gather", 2, 3, line);
        runtime.sync()?;
        assert_names(&picked.to_vec::<f32>().unwrap_err(), "gather", 2, 3, line);
        // One that nobody holds any more is reported all the same.
        let line = line!() + 1;
        table.gather(&tensor([-5i32])?, 0)?;
        assert_names(&runtime.sync().unwrap_err(), "gather", 0, -5, line);
        assert_eq!(table.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        Ok(())
    })
}

fn division_by_zero(runtime: &Runtime) -> Result<()> {
    with_runtime(runtime, || {
        let _gpu = device("/GPU:0")?;
        let (a, b) = (tensor([10i32, 20, 30])?, tensor([2i32, 0, 0])?);
        for quotient in [a.div(&b)?, a.rem(&b)?] {
            let error = quotient.to_vec::<i32>().unwrap_err();
            let Error::Data(data) = &error else { panic!("{error}") };
            assert_eq!((data.fault, data.row), (Fault::DivisionByZero, 1), "{error}");
        }
        assert_eq!(a.to_vec::<i32>()?, [10, 20, 30]);
        Ok(())
    })
}

#[test]
fn a_simulated_queue_reports_late_and_poisons_dependents() -> Result<()> {
    late_errors(&cpu_and(&[&SimulatedGpu::new()]))?;
    sync_reports(&cpu_and(&[&SimulatedGpu::new()]))?;
    division_by_zero(&cpu_and(&[&SimulatedGpu::new()]))
}

#[test]
fn a_real_queue_reports_late_and_poisons_dependents() -> Result<()> {
    let Some(runtime) = cpu_and_gpu() else { return Ok(()) };
    late_errors(&runtime)?;
    sync_reports(&runtime)?;
    division_by_zero(&runtime)
}

#[test]
fn on_the_cpu_the_call_itself_fails() -> Result<()> {
    with_runtime(&cpu(), || {
        let line = line!() + 1;
        let error = logits()?.sparse_softmax_cross_entropy(&tensor([3i32, 7, -1])?).unwrap_err();
        assert_names(&error, "sparse_softmax_cross_entropy", 1, 7, line);
        let line = line!() + 1;
        let error = tensor([1.0f32, 2.0])?.gather(&tensor([[0i64, 1], [2, 0]])?, 0).unwrap_err();
        assert_names(&error, "gather", 2, 2, line);
        let line = line!() + 1;
        let error = tensor([1i32, 2])?.scatter_add(&tensor([-1i32])?, &tensor([5i32])?, 0).unwrap_err();
        assert_names(&error, "scatter_add", 0, -1, line);
        let error = tensor([5i64, 6])?.div(&tensor([1i64, 0])?).unwrap_err();
        assert!(error.to_string().contains("div: integer division by zero at element 1"), "{error}");
        Ok(())
    })
}

#[test]
fn queued_work_runs_in_order_whoever_waits() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        let mut x = tensor([1.0f32])?;
        for _ in 0..20 {
            // Each intermediate is dropped while work on it is still queued; its memory is used again.
            x = x.add(&x)?;
        }
        assert_eq!(x.to_vec::<f32>()?, [1_048_576.0]);
        assert_eq!(runtime.list_logical_devices(Some(DeviceKind::Gpu))[0].memory_info().live, 1);
        Ok(())
    })
}
