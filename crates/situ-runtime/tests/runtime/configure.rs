//! Configuring devices: when a change is made, when it is refused, and what it does.

use situ_core::{DType, DeviceId, DeviceKind, DeviceSpec, Error, Result};
use situ_runtime::{LogicalConfig, Runtime};
use situ_tensor::{device, tensor, with_device, with_runtime, zeros};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;
use std::sync::Barrier;
use std::time::Duration;

fn ids(runtime: &Runtime) -> Vec<String> {
    runtime.list_logical_devices(None).iter().map(|d| d.id().to_string()).collect()
}

fn spec(name: &str) -> DeviceSpec {
    name.parse().expect("a valid name")
}

#[test]
fn a_change_is_refused_while_a_tensor_is_live_there_and_names_it() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let held = with_device("/GPU:0", || zeros(&[1000], DType::F32))?;
        let view = held.narrow(0, 0, 10)?;
        drop(held);
        for refused in [
            runtime.set_logical_devices(GPU, &[LogicalConfig::limit(1 << 20)]),
            runtime.set_visible_devices(DeviceKind::Gpu, &[]),
            runtime.set_memory_growth(GPU, false),
        ] {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Config(_)), "{error}");
            let text = error.to_string();
            for part in ["1 tensors are live on GPU:0", "1 of fill", "drop them first"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        // Nothing has changed, and the tensor is as it was: a view keeps the whole of it alive.
        assert_eq!(ids(&runtime), ["CPU:0", "GPU:0"]);
        assert_eq!(view.to_vec::<f32>()?, [0.0; 10]);
        drop(view);
        runtime.set_logical_devices(GPU, &[LogicalConfig::limit(1 << 20), LogicalConfig::limit(2 << 20)])?;
        assert_eq!(ids(&runtime), ["CPU:0", "GPU:0", "GPU:1"]);
        Ok(())
    })
}

#[test]
fn tensors_on_other_devices_do_not_stand_in_the_way() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new(), &SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0])?;
        let there = with_device("/GPU:1", || tensor([3.0f32, 4.0]))?;
        runtime.set_memory_growth(GPU, false)?;
        runtime.set_placement_rule(situ_runtime::PlacementRule::Auto)?;
        // Devices that the change does not concern are the same as before.
        assert_eq!(with_device("/GPU:1", || here.add(&there))?.to_vec::<f32>()?, [4.0, 6.0]);
        Ok(())
    })
}

#[test]
fn a_gpu_splits_into_logical_devices_with_limits_of_their_own() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(1 << 20), LogicalConfig::limit(3 << 20)])?;
    with_runtime(&runtime, || {
        let second = DeviceId::gpu(1);
        assert_eq!(runtime.memory_info(&spec("/GPU:0"))?.limit, Some(1 << 20));
        assert_eq!(runtime.memory_info(&spec("/GPU:1"))?.limit, Some(3 << 20));
        assert!(with_device("/GPU:0", || zeros(&[600 << 10], DType::F32)).unwrap_err().is_out_of_memory());
        let fits = with_device("/GPU:1", || zeros(&[600 << 10], DType::F32))?;
        assert_eq!(fits.device(), second);
        let physical = runtime.list_physical_devices(Some(DeviceKind::Gpu));
        assert_eq!(physical[0].logical, [LogicalConfig::limit(1 << 20), LogicalConfig::limit(3 << 20)]);
        let logical = runtime.list_logical_devices(Some(DeviceKind::Gpu));
        assert_eq!(logical.iter().map(|d| d.physical_index()).collect::<Vec<_>>(), [0, 0]);
        Ok(())
    })
}

#[test]
fn hidden_devices_are_not_there() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new(), &SimulatedGpu::new().memory(64 << 20)]);
    runtime.set_visible_devices(DeviceKind::Gpu, &[DeviceId::gpu(1)])?;
    // The second physical GPU is the first logical one.
    assert_eq!(ids(&runtime), ["CPU:0", "GPU:0"]);
    assert_eq!(runtime.list_logical_devices(Some(DeviceKind::Gpu))[0].description().memory, Some(64 << 20));
    let visible: Vec<bool> = runtime.list_physical_devices(None).iter().map(|p| p.visible).collect();
    assert_eq!(visible, [true, false, true]);
    runtime.set_visible_devices(DeviceKind::Gpu, &[])?;
    assert_eq!(ids(&runtime), ["CPU:0"]);
    runtime.set_visible_devices(DeviceKind::Gpu, &[GPU, DeviceId::gpu(1)])?;
    assert_eq!(ids(&runtime), ["CPU:0", "GPU:0", "GPU:1"]);
    Ok(())
}

#[test]
fn wrong_configurations_are_errors_that_say_what_to_do() {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    let cores = runtime.list_physical_devices(Some(DeviceKind::Cpu))[0].description.cores.clone();
    let first = cores[0];
    let split = |id, list: &[LogicalConfig]| runtime.set_logical_devices(id, list).unwrap_err().to_string();
    let table = [
        (split(CPU, &[]), "split into none"),
        (split(CPU, &[LogicalConfig::limit(0)]), "0 bytes"),
        (split(GPU, &[LogicalConfig::cores([first])]), "only CPU devices own cores"),
        (split(CPU, &[LogicalConfig::cores([])]), "no cores"),
        (split(CPU, &[LogicalConfig::cores([99_999])]), "no core 99999"),
        (split(CPU, &[LogicalConfig::cores([first]), LogicalConfig::cores([first])]), "given twice"),
        (split(DeviceId::gpu(4), &[LogicalConfig::limit(1)]), "GPU:4"),
        (runtime.set_visible_devices(DeviceKind::Cpu, &[]).unwrap_err().to_string(), "keep CPU:0 visible"),
        (runtime.set_visible_devices(DeviceKind::Gpu, &[CPU]).unwrap_err().to_string(), "CPU:0 is no GPU"),
        (runtime.set_visible_devices(DeviceKind::Gpu, &[DeviceId::gpu(3)]).unwrap_err().to_string(), "GPU:3"),
        (runtime.set_memory_growth(DeviceId::gpu(9), true).unwrap_err().to_string(), "GPU:9"),
        (runtime.set_intra_op_threads(Some(0)).unwrap_err().to_string(), "0 threads"),
        (runtime.set_inter_op_threads(Some(0)).unwrap_err().to_string(), "0 threads"),
        (runtime.memory_info(&spec("/GPU:2")).unwrap_err().to_string(), "GPU:2"),
    ];
    for (text, part) in table {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(ids(&runtime), ["CPU:0", "GPU:0"], "nothing has changed");
}

#[test]
fn logical_cpus_own_disjoint_cores() -> Result<()> {
    let runtime = cpu();
    let cores = runtime.list_physical_devices(None)[0].description.cores.clone();
    let (first, rest) = cores.split_at(1);
    let mut split = vec![LogicalConfig::cores(first.to_vec())];
    if !rest.is_empty() {
        split.push(LogicalConfig::cores(rest.to_vec()));
    }
    runtime.set_logical_devices(CPU, &split)?;
    let logical = runtime.list_logical_devices(None);
    assert_eq!(logical.len(), split.len());
    assert_eq!(logical[0].cores(), Some(first));
    with_runtime(&runtime, || {
        let last = format!("/CPU:{}", split.len() - 1);
        let x = with_device("/CPU:0", || zeros(&[300, 300], DType::F32)?.add(&tensor(1.0f32)?))?;
        let y = with_device(&last, || x.add(&x))?;
        assert_eq!(y.device(), DeviceId::cpu(split.len() as u16 - 1));
        assert_eq!(y.sum(&[])?.to_vec::<f32>()?, [180_000.0]);
        if split.len() > 1 {
            let bytes = runtime.ledger().bytes(CPU, DeviceId::cpu(1));
            assert_eq!(bytes, 2 * 360_000, "devices are apart even on one host: both inputs are copied");
        }
        Ok(())
    })
}

#[test]
fn logical_cpus_have_limits_of_their_own() -> Result<()> {
    let runtime = cpu();
    runtime.set_logical_devices(CPU, &[LogicalConfig::limit(2 << 20), LogicalConfig::limit(8 << 20)])?;
    with_runtime(&runtime, || {
        let _first = device("/CPU:0")?;
        assert!(zeros(&[1 << 20], DType::F32).unwrap_err().is_out_of_memory());
        assert_eq!(with_device("/CPU:1", || zeros(&[1 << 20], DType::F32))?.device(), DeviceId::cpu(1));
        Ok(())
    })
}

#[test]
fn threads_change_only_between_tensors_and_are_told() -> Result<()> {
    let runtime = cpu();
    with_runtime(&runtime, || {
        let held = tensor([1.0f32])?;
        assert!(runtime.set_intra_op_threads(Some(1)).unwrap_err().to_string().contains("live on CPU:0"));
        drop(held);
        runtime.set_intra_op_threads(Some(1))?;
        runtime.set_inter_op_threads(Some(2))?;
        assert_eq!(runtime.threads(), (Some(1), Some(2)));
        assert_eq!(tensor([1.0f32])?.neg()?.to_vec::<f32>()?, [-1.0]);
        Ok(())
    })
}

#[test]
fn policies_change_at_any_time() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let _here = tensor([1.0f32])?;
        let _there = with_device("/GPU:0", || tensor([1.0f32]))?;
        runtime.set_fallback_policy(situ_core::Policy::Forbid)?;
        runtime.set_copy_policy(situ_core::Policy::Warn)?;
        runtime.set_log_placement(false)
    })
}

#[test]
fn a_change_while_a_call_is_in_flight_is_refused() -> Result<()> {
    // A device that takes half a second for each launch, and does it at the call.
    let runtime = cpu_and(&[&SimulatedGpu::new().immediate().delay(Duration::from_millis(500))]);
    let begun = Barrier::new(2);
    std::thread::scope(|s| {
        let call = s.spawn(|| {
            with_runtime(&runtime, || {
                let x = tensor([1.0f32])?;
                begun.wait();
                with_device("/GPU:0", || x.neg())?.to_vec::<f32>()
            })
        });
        begun.wait();
        std::thread::sleep(Duration::from_millis(100));
        let error = runtime.set_fallback_policy(situ_core::Policy::Forbid).unwrap_err();
        assert!(error.to_string().contains("a call is in flight"), "{error}");
        assert_eq!(call.join().unwrap()?, [-1.0]);
        runtime.set_fallback_policy(situ_core::Policy::Forbid)
    })
}

#[test]
fn a_runtime_needs_a_cpu() {
    let gpu = SimulatedGpu::new();
    let error = Runtime::builder().devices(vec![gpu.physical()]).build().unwrap_err();
    assert!(error.to_string().contains("no CPU"), "{error}");
}

#[test]
fn a_tensor_whose_runtime_is_gone_is_an_error_not_a_crash() -> Result<()> {
    let runtime = cpu();
    let orphan = with_runtime(&runtime, || tensor([1.0f32]))?;
    drop(runtime);
    let error = orphan.neg().unwrap_err();
    assert!(error.to_string().contains("runtime was dropped"), "{error}");
    assert!(orphan.to_vec::<f32>().is_err());
    Ok(())
}

#[test]
fn tensors_of_two_runtimes_do_not_mix() -> Result<()> {
    let (one, other) = (cpu(), cpu());
    let a = with_runtime(&one, || tensor([1.0f32]))?;
    let b = with_runtime(&other, || tensor([1.0f32]))?;
    let error = a.add(&b).unwrap_err();
    assert!(
        error.to_string().starts_with("add:") && error.to_string().contains("another runtime"),
        "{error}"
    );
    Ok(())
}
