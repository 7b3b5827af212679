//! What happens where a scope can't be met: fallback policies, warnings, memory limits.

use crate::listening::Heard;
use situ_core::{DType, DeviceId, DeviceKind, Error, Policy, Reason, Result};
use situ_runtime::{Cause, LogicalConfig, PlacementRule, Topic};
use situ_tensor::{Function, Variable, device, fallback_policy, tensor, with_device, with_runtime, zeros};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

#[test]
fn an_index_that_is_not_there_falls_to_the_same_type_first() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_fallback_policy(Policy::Allow)?;
    with_runtime(&runtime, || {
        let x = with_device("/GPU:7", || tensor([1.0f32]))?;
        assert_eq!((x.device(), x.reason().to_string().as_str()), (GPU, "there is no GPU:7"));
        let sum = with_device("/GPU:7", || x.add(&x))?;
        assert_eq!(sum.device(), GPU);
        assert_eq!(sum.reason(), Reason::NoSuchDevice { kind: Some(DeviceKind::Gpu), index: Some(7) });
        Ok(())
    })
}

#[test]
fn a_type_that_is_not_there_falls_to_the_cpu() -> Result<()> {
    let runtime = cpu();
    runtime.set_fallback_policy(Policy::Allow)?;
    with_runtime(&runtime, || {
        let x = with_device("/GPU:0", || tensor([1.0f32]))?;
        let sum = with_device("/GPU", || x.add(&x))?;
        assert_eq!((x.device(), sum.device()), (CPU, CPU));
        assert_eq!(sum.reason().to_string(), "there is no GPU");
        Ok(())
    })
}

#[test]
fn an_op_without_a_kernel_falls_to_the_same_type_first_then_to_the_cpu() -> Result<()> {
    let without = SimulatedGpu::new().without_ops(&["erf"]);
    let with = SimulatedGpu::new();
    for (gpus, ran) in [(vec![&without, &with], DeviceId::gpu(1)), (vec![&without, &without], CPU)] {
        let runtime = cpu_and(&gpus);
        runtime.set_fallback_policy(Policy::Allow)?;
        with_runtime(&runtime, || {
            let _gpu = device("/GPU:0")?;
            let y = tensor([0.5f32])?.erf()?;
            assert_eq!(y.device(), ran);
            assert_eq!(y.reason(), Reason::NoKernel { op: "erf", dtype: DType::F32, wanted: GPU });
            assert_eq!(y.reason().to_string(), "GPU:0 has no f32 kernel for erf");
            Result::<()>::Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn f64_under_a_gpu_scope_runs_on_the_cpu_and_says_why() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    let heard = Heard::from(&runtime);
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        let x = tensor([1.0f64, 2.0])?;
        let sum = x.add(&x)?;
        assert_eq!((x.device(), sum.device()), (CPU, CPU));
        assert_eq!(sum.reason().to_string(), "GPU:0 has no f64 kernel for add");
        assert_eq!(sum.to_vec::<f64>()?, [2.0, 4.0]);
        let said = heard.about(Topic::Fallback);
        assert!(
            said.iter().any(|s| s.contains("add runs on CPU:0") && s.contains("no f64 kernel")),
            "{said:?}"
        );
        // Cast down, it runs where it was asked to.
        let narrow = x.cast(DType::F32)?.to_device("/GPU:0")?;
        assert_eq!(narrow.add(&narrow)?.reason(), Reason::Requested);
        Ok(())
    })
}

#[test]
fn a_fallback_warns_once_for_each_op_dtype_and_device() -> Result<()> {
    let gpus =
        [SimulatedGpu::new().without_ops(&["erf", "neg"]), SimulatedGpu::new().without_ops(&["erf", "neg"])];
    let runtime = cpu_and(&[&gpus[0], &gpus[1]]);
    let heard = Heard::from(&runtime);
    with_runtime(&runtime, || {
        let x = tensor([1.0f32])?;
        let whole = tensor([1i32])?;
        for _ in 0..3 {
            with_device("/GPU:0", || x.erf())?;
        }
        assert_eq!(heard.about(Topic::Fallback).len(), 1);
        with_device("/GPU:0", || x.neg())?;
        assert_eq!(heard.about(Topic::Fallback).len(), 2, "another op");
        with_device("/GPU:0", || whole.neg())?;
        assert_eq!(heard.about(Topic::Fallback).len(), 3, "another dtype");
        with_device("/GPU:1", || x.erf())?;
        let said = heard.about(Topic::Fallback);
        assert_eq!(said.len(), 4, "another device");
        assert!(
            said[0].contains("erf runs on CPU:0") && said[0].contains("GPU:0 has no f32 kernel"),
            "{said:?}"
        );
        assert!(said[0].contains("fallback.rs:"), "{said:?}");
        // All of them are in the books, said or not.
        assert_eq!(runtime.ledger().count(Cause::Fallback), 6);
        Ok(())
    })
}

#[test]
fn policies_allow_in_silence_warn_or_forbid_globally_and_by_scope() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new().without_ops(&["erf", "exp"])]);
    let heard = Heard::from(&runtime);
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        let x = tensor([1.0f32])?;
        runtime.set_fallback_policy(Policy::Allow)?;
        assert_eq!(x.erf()?.device(), CPU);
        assert!(heard.about(Topic::Fallback).is_empty());

        runtime.set_fallback_policy(Policy::Forbid)?;
        let error = x.erf().unwrap_err();
        assert!(matches!(error, Error::NoKernel(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("erf has no f32 kernel on GPU:0") && text.contains("CPU:0 has it"), "{text}");
        let error = with_device("/GPU:3", || x.add(&x)).unwrap_err();
        assert!(matches!(error, Error::NoSuchDevice(_)), "{error}");
        assert!(error.to_string().contains("GPU:3") && error.to_string().contains("CPU:0, GPU:0"), "{error}");
        let error = tensor([1.0f64]).unwrap_err();
        assert!(matches!(error, Error::NoKernel(_)) && error.to_string().contains("f64"), "{error}");
        {
            let _lenient = fallback_policy(Policy::Warn);
            assert_eq!(x.exp()?.device(), CPU);
            assert_eq!(heard.about(Topic::Fallback).len(), 1);
            let _strict = fallback_policy(Policy::Forbid);
            assert!(x.exp().is_err(), "the inner policy wins");
        }
        assert!(x.exp().is_err(), "the scope has ended");
        Ok(())
    })
}

#[test]
fn host_data_and_variables_fall_back_by_the_same_policy_and_are_booked() -> Result<()> {
    let runtime = cpu();
    let heard = Heard::from(&runtime);
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        let x = tensor([1.0f32])?;
        let v = Variable::new(&x)?;
        assert_eq!((x.device(), v.device(), v.is_pinned()), (CPU, CPU, true));
        assert_eq!(x.reason().to_string(), "there is no GPU:0");
        let said = heard.about(Topic::Fallback);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("constant of f32[1] is on CPU:0: there is no GPU:0 ("), "{said:?}");
        assert!(said[1].starts_with("variable of f32[1] is on CPU:0"), "{said:?}");
        assert_eq!(runtime.ledger().count(Cause::Fallback), 2);
        let _strict = fallback_policy(Policy::Forbid);
        for error in [tensor([1.0f32]).unwrap_err(), Variable::new(&x).unwrap_err()] {
            assert!(matches!(error, Error::NoSuchDevice(_)), "{error}");
        }
        Ok(())
    })
}

#[test]
fn a_type_that_no_machine_here_has_is_an_error_under_any_policy() -> Result<()> {
    let runtime = cpu();
    with_runtime(&runtime, || {
        let x = tensor([1.0f32])?;
        for policy in [Policy::Allow, Policy::Warn, Policy::Forbid] {
            runtime.set_fallback_policy(policy)?;
            let error = with_device("/device:TPU:0", || x.add(&x)).unwrap_err();
            assert!(error.to_string().contains("TPU"), "{error}");
        }
        Ok(())
    })
}

#[test]
fn a_limit_too_small_to_open_the_device_is_a_fallback_like_any_other() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new().staging(1 << 16)]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(1)])?;
    let heard = Heard::from(&runtime);
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0])?;
        let double = Function::new(|x| x.add(x));
        let unopened = Reason::Unopened { wanted: GPU };
        for policy in [Policy::Allow, Policy::Warn] {
            runtime.set_fallback_policy(policy)?;
            let op = with_device("/GPU:0", || here.add(&here))?;
            let data = with_device("/GPU:0", || tensor([1.0f32]))?;
            let called = with_device("/GPU:0", || double.call(&here))?;
            assert_eq!([&op, &data, &called].map(|t| t.device()), [CPU; 3], "{policy:?}");
            assert_eq!([&op, &data].map(|t| t.reason()), [unopened; 2], "{policy:?}");
            let places = with_device("/GPU:0", || double.places(&[&here]))?;
            assert!(places.iter().any(|p| p.reason == unopened), "{places:?}");
            assert_eq!(called.to_vec::<f32>()?, [2.0, 4.0]);
        }
        let said = heard.about(Topic::Fallback);
        assert!(said.iter().any(|s| s.contains("add runs on CPU:0: GPU:0 can't be opened")), "{said:?}");
        runtime.set_fallback_policy(Policy::Forbid)?;
        for error in [
            with_device("/GPU:0", || here.add(&here)).unwrap_err(),
            with_device("/GPU:0", || tensor([1.0f32])).unwrap_err(),
            with_device("/GPU:0", || Function::new(|x| x.add(x)).call(&here)).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Config(_)), "{error}");
            assert!(error.to_string().contains("the limit holds not even its staging"), "{error}");
        }
        // Named outright, it must be there.
        assert!(matches!(here.to_device("/GPU:0").unwrap_err(), Error::Config(_)));
        Ok(())
    })
}

/// 1 MiB of memory is one block; a tensor of 4 MiB does not fit.
fn with_a_small_gpu() -> Result<situ_runtime::Runtime> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(1 << 20)])?;
    Ok(runtime)
}

#[test]
fn without_a_scope_a_full_device_passes_the_op_to_the_next() -> Result<()> {
    let runtime = with_a_small_gpu()?;
    let heard = Heard::from(&runtime);
    runtime.set_placement_rule(PlacementRule::PreferGpu)?;
    with_runtime(&runtime, || {
        let fits = zeros(&[1 << 10], DType::F32)?;
        assert_eq!(fits.device(), GPU);
        let made = zeros(&[1 << 20], DType::F32)?;
        assert_eq!((made.device(), made.reason()), (CPU, Reason::MemoryLimit { full: GPU }));
        assert_eq!(made.reason().to_string(), "GPU:0 has no memory left for it");
        assert_eq!(runtime.ledger().count(Cause::Fallback), 1);
        assert!(heard.about(Topic::Fallback)[0].contains("GPU:0 has no memory left"), "it is said");
        // The tensor that fits is as it was.
        assert_eq!(fits.to_vec::<f32>()?, vec![0.0; 1 << 10]);
        Ok(())
    })
}

#[test]
fn auto_passes_to_the_next_device_too() -> Result<()> {
    let runtime = with_a_small_gpu()?;
    with_runtime(&runtime, || {
        // Large enough that Auto wants the GPU, too large for its memory: inputs of 1.9 MiB each.
        let x = with_device("/CPU:0", || zeros(&[700, 700], DType::F32))?;
        let product = x.matmul(&x)?;
        assert_eq!((product.device(), product.reason()), (CPU, Reason::MemoryLimit { full: GPU }));
        Ok(())
    })
}

#[test]
fn with_a_scope_a_full_device_is_an_error_with_a_report() -> Result<()> {
    let runtime = with_a_small_gpu()?;
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        let held = zeros(&[1000], DType::F32)?;
        let error = zeros(&[1 << 20], DType::F32).unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
        let Error::OutOfMemory(report) = &error else { unreachable!() };
        assert_eq!(report.device, Some(GPU));
        assert_eq!((report.op, report.requested, report.limit), ("fill", 4 << 20, Some(1 << 20)));
        assert_eq!(report.owners.len(), 1);
        assert_eq!((report.owners[0].name, report.owners[0].count), ("fill", 1));
        let text = error.to_string();
        for part in ["fill asked for 4.0 MiB on GPU:0", "limit 1.0 MiB", "1 of fill", "try: "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(held.to_vec::<f32>()?, vec![0.0; 1000]);
        Ok(())
    })
}

#[test]
fn host_data_that_fits_nowhere_asked_for_is_an_error_or_moves_on() -> Result<()> {
    let runtime = with_a_small_gpu()?;
    runtime.set_placement_rule(PlacementRule::PreferGpu)?;
    let data = vec![1.0f32; 1 << 20];
    with_runtime(&runtime, || {
        let error = with_device("/GPU:0", || tensor(&data)).unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
        let placed = tensor(&data)?;
        assert_eq!((placed.device(), placed.reason()), (CPU, Reason::MemoryLimit { full: GPU }));
        Ok(())
    })
}
