//! Variables: where they live, what runs there, and the copies made for other devices.

use situ_core::{DType, Reason, Result};
use situ_runtime::Cause;
use situ_tensor::{Variable, constant, tensor, with_device, with_runtime, zeros};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

#[test]
fn a_variable_made_in_a_scope_is_pinned_there() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let value = tensor([1.0f32, 2.0])?;
        let pinned = with_device("/GPU:0", || Variable::new(&value))?;
        assert_eq!((pinned.device(), pinned.is_pinned()), (GPU, true));
        assert_eq!(pinned.value().device(), GPU);
        let free = Variable::new(&value)?;
        assert_eq!((free.device(), free.is_pinned()), (CPU, false));
        assert_eq!((free.dtype(), free.shape().dims()), (DType::F32, &[2][..]));
        Ok(())
    })
}

#[test]
fn updates_run_where_the_variable_lives_whatever_the_scope() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let value = tensor([1.0f32, 2.0])?;
        let v = with_device("/GPU:0", || Variable::new(&value))?;
        with_device("/CPU:0", || v.assign_add(&value))?;
        assert_eq!(v.value().device(), GPU);
        assert_eq!(v.value().to_vec::<f32>()?, [2.0, 4.0]);
        with_device("/CPU:0", || v.assign(&tensor([5.0f32, 6.0])?))?;
        assert_eq!(v.value().device(), GPU);
        v.assign_sub(&value)?;
        assert_eq!(v.value().to_vec::<f32>()?, [4.0, 4.0]);
        Ok(())
    })
}

#[test]
fn other_ops_on_a_variable_follow_the_scope() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let v = with_device("/GPU:0", || Variable::new(&tensor([1.0f32, 2.0])?))?;
        let doubled = with_device("/CPU:0", || v.value().add(&v.value()))?;
        assert_eq!((doubled.device(), doubled.reason()), (CPU, Reason::Requested));
        Ok(())
    })
}

#[test]
fn a_copy_for_another_device_is_kept_until_the_next_assignment() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let v = with_device("/CPU:0", || Variable::new(&tensor([1.0f32, 2.0])?))?;
        let copies = || runtime.ledger().count(Cause::Implicit);
        let on_gpu = || with_device("/GPU:0", || v.value().neg());
        assert_eq!(on_gpu()?.to_vec::<f32>()?, [-1.0, -2.0]);
        assert_eq!(copies(), 1);
        assert_eq!(on_gpu()?.to_vec::<f32>()?, [-1.0, -2.0]);
        assert_eq!(copies(), 1, "the copy was kept");
        v.assign_add(&tensor([1.0f32, 1.0])?)?;
        assert_eq!(on_gpu()?.to_vec::<f32>()?, [-2.0, -3.0]);
        assert_eq!(copies(), 2, "the old copy was let go");
        on_gpu()?;
        assert_eq!(copies(), 2);
        v.assign(&tensor([0.0f32, 0.0])?)?;
        assert_eq!(on_gpu()?.to_vec::<f32>()?, [0.0, 0.0]);
        assert_eq!(copies(), 3);
        Ok(())
    })
}

#[test]
fn a_kept_copy_is_let_go_with_the_variable_and_with_its_value() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    let live = || runtime.logical_device(&"/GPU:0".parse().unwrap()).unwrap().memory_info().live;
    with_runtime(&runtime, || {
        let v = with_device("/CPU:0", || Variable::new(&zeros(&[10], DType::F32)?))?;
        with_device("/GPU:0", || v.value().neg())?;
        assert_eq!(live(), 1, "the copy");
        v.assign(&zeros(&[10], DType::F32)?)?;
        assert_eq!(live(), 0);
        with_device("/GPU:0", || v.value().neg())?;
        assert_eq!(live(), 1);
        drop(v);
        assert_eq!(live(), 0);
        Ok(())
    })
}

#[test]
fn a_plain_tensor_keeps_no_copies() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let x = tensor([1.0f32])?;
        for _ in 0..3 {
            with_device("/GPU:0", || x.neg())?;
        }
        assert_eq!(runtime.ledger().count(Cause::Implicit), 3);
        Ok(())
    })
}

#[test]
fn a_value_read_earlier_does_not_change() -> Result<()> {
    with_runtime(&cpu(), || {
        let v = Variable::new(&tensor([1.0f32])?)?;
        let before = v.value();
        v.assign_add(&before)?;
        assert_eq!((before.to_vec::<f32>()?, v.value().to_vec::<f32>()?), (vec![1.0], vec![2.0]));
        Ok(())
    })
}

#[test]
fn a_variable_of_a_view_has_memory_of_its_own_order() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let view = constant(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?.transpose(&[])?;
        let v = Variable::new(&view)?;
        assert!(v.value().layout().is_dense());
        assert_eq!(v.value().to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
        v.assign(&view)?;
        assert!(v.value().layout().is_dense());
        Ok(())
    })
}

#[test]
fn threads_that_add_at_once_all_count() -> Result<()> {
    let runtime = cpu();
    with_runtime(&runtime, || {
        let v = Variable::new(&tensor([0i32])?)?;
        let one = tensor([1i32])?;
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| with_runtime(&runtime, || (0..50).for_each(|_| v.assign_add(&one).unwrap())));
            }
        });
        assert_eq!(v.value().to_vec::<i32>()?, [200]);
        Ok(())
    })
}
