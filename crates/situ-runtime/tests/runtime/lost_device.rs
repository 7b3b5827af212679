//! A device that is lost: its tensors are gone, everything else stays usable.

use situ_core::{DType, Error, Policy, Reason, Result};
use situ_tensor::{tensor, with_device, with_runtime, zeros};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

#[test]
fn tensors_that_lived_only_there_return_an_error_that_names_the_device() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0])?;
        let there = here.to_device("/GPU:0")?;
        gpu.controls().lose("the driver stopped answering");
        for error in [
            there.to_vec::<f32>().unwrap_err(),
            there.add(&there).unwrap_err(),
            there.to_device("/CPU:0").unwrap_err(),
            with_device("/CPU:0", || there.add(&here)).unwrap_err(),
        ] {
            let Error::DeviceLost { device, why } = &error else { panic!("{error}") };
            assert_eq!((*device, why.as_str()), (GPU, "the driver stopped answering"));
        }
        // All others stay usable.
        assert_eq!(here.add(&here)?.to_vec::<f32>()?, [2.0, 4.0]);
        Ok(())
    })
}

#[test]
fn an_op_asked_to_run_there_says_that_it_is_lost() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0])?;
        with_device("/GPU:0", || here.neg())?;
        gpu.controls().lose("unplugged");
        // What can be elsewhere is, with the reason, as in a function; unless that is forbidden.
        for moved in [with_device("/GPU:0", || here.neg())?, with_device("/GPU:0", || tensor([1.0f32]))?] {
            assert_eq!((moved.device(), moved.reason()), (CPU, Reason::DeviceLost { wanted: GPU }));
        }
        runtime.set_fallback_policy(Policy::Forbid)?;
        let error = with_device("/GPU:0", || here.neg()).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { device: GPU, .. }), "{error}");
        let error = with_device("/GPU:0", || tensor([1.0f32])).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { device: GPU, .. }), "{error}");
        Ok(())
    })
}

#[test]
fn without_a_scope_a_lost_device_is_passed_over() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let large = with_device("/CPU:0", || zeros(&[700, 700], DType::F32))?;
        assert_eq!(large.matmul(&large)?.device(), GPU);
        gpu.controls().lose("unplugged");
        assert_eq!(large.matmul(&large)?.device(), CPU);
        Ok(())
    })
}

#[test]
fn memory_of_a_lost_device_can_still_be_dropped() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let there = with_device("/GPU:0", || zeros(&[1000], DType::F32))?;
        gpu.controls().lose("unplugged");
        drop(there);
        let info = runtime.memory_info(&"/GPU:0".parse().unwrap())?;
        assert_eq!((info.in_use, info.live), (0, 0));
        // And the device can be taken out of sight.
        runtime.set_visible_devices(situ_core::DeviceKind::Gpu, &[])
    })
}
