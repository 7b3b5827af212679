//! Memory: figures, limits, growth, and giving back.

use situ_core::{DType, DeviceSpec, Error, Policy, Reason, Result};
use situ_device::DeviceClass;
use situ_runtime::{LogicalConfig, MemoryInfo, Runtime};
use situ_tensor::{Tensor, device, fallback_policy, with_device, with_runtime, zeros};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

fn info(runtime: &Runtime, name: &str) -> MemoryInfo {
    runtime.memory_info(&name.parse::<DeviceSpec>().expect("a valid name")).expect("a device of that name")
}

fn floats(count: usize) -> Result<Tensor> {
    zeros(&[count], DType::F32)
}

#[test]
fn figures_follow_tensors_as_they_come_and_go() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        assert_eq!(info(&runtime, "/GPU:0").reserved, 0, "nothing before the first use");
        let a = floats(1024)?;
        let b = floats(2048)?;
        let two = info(&runtime, "/GPU:0");
        assert_eq!((two.in_use, two.live, two.peak), (12 << 10, 2, 12 << 10));
        assert!(two.reserved >= two.in_use && two.largest_free <= two.reserved - two.in_use, "{two:?}");
        drop(a);
        let one = info(&runtime, "/GPU:0");
        assert_eq!((one.in_use, one.live, one.peak), (8 << 10, 1, 12 << 10), "the peak stays");
        // A view, a clone and a reshape are no memory of their own.
        let same = [b.clone(), b.narrow(0, 0, 4)?, b.reshape(&[2, 1024])?];
        assert_eq!(info(&runtime, "/GPU:0").in_use, 8 << 10);
        drop(b);
        assert_eq!(info(&runtime, "/GPU:0").in_use, 8 << 10, "a view keeps it alive");
        drop(same);
        assert_eq!(info(&runtime, "/GPU:0").in_use, 0);
        assert_eq!(info(&runtime, "/CPU:0").in_use, 0, "nothing happened on the CPU");
        Ok(())
    })
}

#[test]
fn trim_gives_everything_back_that_holds_nothing() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        for name in ["/CPU:0", "/GPU:0"] {
            let _scope = device(name)?;
            let kept = floats(16)?;
            let large = floats(8 << 20)?;
            drop(large);
            let before = info(&runtime, name);
            assert!(before.reserved >= 32 << 20, "{name}: a freed block is kept for the next: {before:?}");
            runtime.trim()?;
            let after = info(&runtime, name);
            assert!(after.reserved <= 1 << 20 && after.reserved > 0, "{name}: {after:?}");
            assert_eq!(kept.to_vec::<f32>()?, [0.0; 16]);
            drop(kept);
            runtime.trim()?;
            assert_eq!((info(&runtime, name).reserved, info(&runtime, name).in_use), (0, 0), "{name}");
            // And it grows again.
            assert_eq!(floats(3)?.to_vec::<f32>()?, [0.0; 3]);
        }
        Ok(())
    })
}

#[test]
fn reserved_never_passes_the_limit_and_counts_staging_once() -> Result<()> {
    let limit = 4 << 20;
    let runtime = cpu_and(&[&SimulatedGpu::new().staging(1 << 20)]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(limit)])?;
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        let mut held = vec![floats(16)?];
        assert!(info(&runtime, "/GPU:0").reserved >= 1 << 20, "staging is reserved too");
        let full = loop {
            match floats(64 << 10) {
                Ok(tensor) => held.push(tensor),
                Err(error) => break error,
            }
            let now = info(&runtime, "/GPU:0");
            assert!(now.reserved <= limit, "{now:?}");
        };
        assert!(full.is_out_of_memory(), "{full}");
        let now = info(&runtime, "/GPU:0");
        assert!(now.in_use > 2 << 20, "most of what is left of the limit is usable: {now:?}");
        drop(held);
        runtime.trim()?;
        assert_eq!(info(&runtime, "/GPU:0").reserved, 1 << 20, "the staging alone");
        Ok(())
    })
}

#[test]
fn a_budget_too_small_to_open_a_device_is_a_fallback_or_an_error_that_says_so() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new().staging(1 << 20)]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(1 << 10)])?;
    with_runtime(&runtime, || {
        let elsewhere = with_device("/GPU:0", || floats(3))?;
        assert_eq!((elsewhere.device(), elsewhere.reason()), (CPU, Reason::Unopened { wanted: GPU }));
        let _strict = fallback_policy(Policy::Forbid);
        let error = with_device("/GPU:0", || floats(3)).unwrap_err();
        assert!(error.to_string().contains("open GPU:0"), "{error}");
        // Without a scope, there is still the CPU.
        assert_eq!(floats(3)?.device(), CPU);
        Ok(())
    })
}

#[test]
fn with_growth_off_the_whole_limit_is_taken_at_first_use() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new().max_block(1 << 20)]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(3 << 20)])?;
    runtime.set_memory_growth(GPU, false)?;
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        assert_eq!(info(&runtime, "/GPU:0").reserved, 0);
        let a = floats(16)?;
        assert_eq!(info(&runtime, "/GPU:0").reserved, 3 << 20);
        let elsewhere = floats(300 << 10)?;
        assert_eq!(elsewhere.device(), CPU);
        assert!(elsewhere.reason().to_string().contains("1.0 MiB is the most"), "{}", elsewhere.reason());
        let error = (0..4).try_fold(vec![], |mut held, _| {
            held.push(floats(250 << 10)?);
            Result::<Vec<Tensor>>::Ok(held)
        });
        let text = error.unwrap_err().to_string();
        assert!(text.contains("memory growth is off"), "{text}");
        drop(a);
        assert_eq!(info(&runtime, "/GPU:0").reserved, 3 << 20, "it is the program's to keep");
        runtime.set_memory_growth(GPU, true)?;
        let _b = floats(16)?;
        assert!(info(&runtime, "/GPU:0").reserved <= 1 << 20);
        Ok(())
    })
}

#[test]
fn a_limit_on_the_cpu_holds_too() -> Result<()> {
    let runtime = cpu();
    runtime.set_logical_devices(CPU, &[LogicalConfig::limit(4 << 20)])?;
    with_runtime(&runtime, || {
        let a = floats(512 << 10)?;
        let error = floats(768 << 10).unwrap_err();
        assert!(error.is_out_of_memory() && error.to_string().contains("limit 4.0 MiB"), "{error}");
        drop(a);
        // The freed 2 MiB block is given back to make room for the one of 3 MiB.
        assert_eq!(floats(768 << 10)?.elements(), 768 << 10);
        Ok(())
    })
}

#[test]
fn freed_pieces_join_and_are_used_again() -> Result<()> {
    let runtime = cpu();
    runtime.set_logical_devices(CPU, &[LogicalConfig::limit(1 << 20)])?;
    with_runtime(&runtime, || {
        for _ in 0..50 {
            let pieces: Vec<Tensor> = (0..7).map(|_| floats(32 << 10)).collect::<Result<_>>()?;
            drop(pieces);
            // Only if the seven are one again is there room for this.
            assert_eq!(floats(224 << 10)?.elements(), 224 << 10);
        }
        assert!(info(&runtime, "/CPU:0").reserved <= 1 << 20);
        Ok(())
    })
}

#[test]
fn empty_tensors_cost_next_to_nothing_and_work() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        for name in ["/CPU:0", "/GPU:0"] {
            let _scope = device(name)?;
            let nothing = zeros(&[0, 3], DType::F32)?;
            let sum = nothing.add(&nothing)?;
            assert!(sum.to_vec::<f32>()?.is_empty());
            assert!(info(&runtime, name).in_use <= 1024);
        }
        Ok(())
    })
}

#[test]
fn default_limits_follow_the_hardware() {
    let limit_of = |gpu: SimulatedGpu| info(&cpu_and(&[&gpu]), "/GPU:0").limit.expect("a limit");
    let discrete = limit_of(SimulatedGpu::new().memory(1000 << 20));
    assert_eq!(discrete, 900 << 20);
    let host = info(&cpu(), "/CPU:0").limit.expect("the host's memory is known");
    assert!(limit_of(SimulatedGpu::new().class(DeviceClass::IntegratedGpu)) < host);
    assert!(limit_of(SimulatedGpu::new().class(DeviceClass::SoftwareGpu)) <= 4 << 30);
}

#[test]
fn a_software_gpu_is_charged_to_the_host_as_well() -> Result<()> {
    // Both devices together may not pass what the host has: the common parent refuses.
    let gpu = SimulatedGpu::new().class(DeviceClass::SoftwareGpu);
    let runtime = cpu_and(&[&gpu]);
    let host = info(&runtime, "/CPU:0").limit.expect("the host's memory is known");
    let software = info(&runtime, "/GPU:0").limit.expect("a limit");
    assert!(software < host);
    with_runtime(&runtime, || {
        let held = with_device("/GPU:0", || floats(1 << 10))?;
        assert_eq!(held.device(), GPU);
        Ok(())
    })
}

#[test]
fn a_tensor_beyond_the_largest_block_says_so() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new().max_block(1 << 20)]);
    with_runtime(&runtime, || {
        let large = with_device("/GPU:0", || floats(1 << 20))?;
        let said = "too large for GPU:0: 4.0 MiB in one output, where 1.0 MiB is the most";
        assert_eq!((large.device(), large.reason().to_string().as_str()), (CPU, said));
        assert_eq!(floats(1 << 20)?.device(), CPU);
        runtime.set_fallback_policy(Policy::Forbid)?;
        let error = with_device("/GPU:0", || floats(1 << 20)).unwrap_err();
        let Error::TooLarge(report) = &error else { panic!("{error}") };
        assert_eq!((report.excess.needs, report.excess.limit, report.device), (4 << 20, 1 << 20, GPU));
        assert!(
            error.to_string().starts_with("fill is too large for GPU:0: 4.0 MiB in one output"),
            "{error}"
        );
        // What fits a block and not the limit is something else.
        assert_eq!(with_device("/GPU:0", || floats(1 << 18))?.device(), GPU);
        Ok(())
    })
}

#[test]
fn absurd_sizes_are_out_of_memory_or_too_many_elements() -> Result<()> {
    with_runtime(&cpu(), || {
        let error = zeros(&[1 << 40], DType::F64).unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
        let error = zeros(&[usize::MAX, 2], DType::U8).unwrap_err();
        assert!(error.to_string().contains("more elements than memory can address"), "{error}");
        Ok(())
    })
}

#[test]
fn the_slack_of_blocks_leaves_a_small_limit_usable() -> Result<()> {
    let limit = 24 << 20;
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_logical_devices(GPU, &[LogicalConfig::limit(limit)])?;
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        // Small ones and larger ones in turn: blocks that only double would hold 15 MiB after these.
        let held: Vec<_> = (0..5).flat_map(|_| [floats(16), floats(160 << 10)]).collect::<Result<_>>()?;
        let now = info(&runtime, "/GPU:0");
        assert!(now.reserved - now.in_use <= 2 * limit / 16, "{now:?}");
        let rest = floats((limit - now.reserved) / 4)?;
        drop((held, rest));
        Ok(())
    })
}
