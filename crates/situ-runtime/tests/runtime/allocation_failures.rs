//! The k-th allocation fails, for every k, in a longer program: an error each time, and nothing is lost.

use situ_core::{DeviceId, DeviceKind, Result};
use situ_runtime::{PlacementRule, Runtime};
use situ_tensor::{scope, with_runtime};
use situ_testkit::array::Array;
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and, cpu_and_gpu};
use situ_testkit::program::Session;
use situ_testkit::simulated::SimulatedGpu;
use situ_testkit::suite::{Bound, compare::mismatch};
use std::sync::Arc;

/// What the program's values are, from a run on the CPU alone.
fn expected() -> Vec<Array> {
    let runtime = cpu();
    with_runtime(&runtime, || {
        let mut session = Session::new();
        session.run().expect("the program runs");
        session.values().expect("its values can be read")
    })
}

fn assert_values(session: &Session, expected: &[Array], kind: DeviceKind) {
    // The GPU's sums and exponentials differ in the last bits.
    let bound = match kind {
        DeviceKind::Cpu => Bound::Equal,
        DeviceKind::Gpu => Bound::Near { relative: 1e-5, absolute: 1e-5 },
    };
    let values = session.values().expect("live tensors can be read");
    for (((name, _), value), want) in session.results().zip(&values).zip(expected) {
        if let Some(wrong) = mismatch(value, &want.clone().into(), None, bound) {
            panic!("{name}: {wrong}");
        }
    }
}

/// Runs the program on `device` with ever more allocations allowed, until it needs no more. Gives how many it
/// needs.
fn every_failure(runtime: &Runtime, device: DeviceId, fail_after: &dyn Fn(Option<usize>)) -> usize {
    let expected = expected();
    let logical = runtime.list_logical_devices(Some(device.kind)).into_iter().find(|d| d.id() == device);
    let logical = logical.expect("the device is there");
    // What the device holds for itself when nothing is live.
    logical.sync().expect("nothing is queued");
    with_runtime(runtime, || {
        let _scope = scope::device(&format!("/{device}")).expect("a valid name");
        let mut first = Session::new();
        first.run().expect("the program runs");
        drop(first);
        logical.trim().expect("nothing is queued");
        let at_rest = logical.memory_info().reserved;
        for allowed in 0..1000 {
            let mut session = Session::new();
            fail_after(Some(allowed));
            let outcome = session.run();
            fail_after(None);
            let Err(error) = outcome else {
                assert_values(&session, &expected, device.kind);
                return allowed;
            };
            assert!(error.is_out_of_memory(), "allocation {allowed}: {error}");
            assert!(error.to_string().contains(&device.to_string()), "{error}");
            assert!(!session.is_done());
            assert_values(&session, &expected, device.kind);
            session.run().unwrap_or_else(|e| panic!("after allocation {allowed}: {e}"));
            assert_values(&session, &expected, device.kind);
            drop(session);
            let info = logical.memory_info();
            assert_eq!((info.in_use, info.live), (0, 0), "after allocation {allowed}: {info:?}");
            logical.trim().expect("nothing is queued");
            assert_eq!(logical.memory_info().reserved, at_rest, "after allocation {allowed}");
        }
        panic!("the program never ends");
    })
}

#[test]
fn on_the_cpu() {
    let runtime = cpu();
    let device = runtime.list_logical_devices(None)[0].clone();
    let needed = every_failure(&runtime, CPU, &|n| device.fail_allocations_after(n).expect("it is open"));
    assert!(needed > 20, "the program allocates {needed} times");
}

#[test]
fn on_a_simulated_gpu() {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    let device = runtime.list_logical_devices(Some(DeviceKind::Gpu))[0].clone();
    let needed = every_failure(&runtime, GPU, &|n| device.fail_allocations_after(n).expect("it is open"));
    assert!(needed > 20, "the program allocates {needed} times");
}

#[test]
fn on_a_simulated_gpu_whose_driver_refuses_blocks() {
    // Blocks so small that the program needs many.
    let gpu = SimulatedGpu::new().max_block(16 << 10);
    let runtime = cpu_and(&[&gpu]);
    let controls = Arc::clone(gpu.controls());
    let needed = every_failure(&runtime, GPU, &|n| controls.fail_blocks_after(n));
    assert!(needed >= 2, "the program needs {needed} blocks");
}

#[test]
fn on_the_real_gpu() {
    let Some(runtime) = cpu_and_gpu() else { return };
    let device = runtime.list_logical_devices(Some(DeviceKind::Gpu))[0].clone();
    let needed = every_failure(&runtime, GPU, &|n| device.fail_allocations_after(n).expect("it is open"));
    assert!(needed > 20, "the program allocates {needed} times");
}

#[test]
fn without_a_scope_the_program_goes_on_elsewhere() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_placement_rule(PlacementRule::PreferGpu)?;
    runtime.set_fallback_policy(situ_core::Policy::Allow)?;
    let device = runtime.list_logical_devices(Some(DeviceKind::Gpu))[0].clone();
    let expected = expected();
    with_runtime(&runtime, || {
        for allowed in [0, 1, 5, 12, 20, 26] {
            let mut session = Session::new();
            device.fail_allocations_after(Some(allowed))?;
            let outcome = session.run();
            device.fail_allocations_after(None)?;
            if let Err(error) = outcome {
                // Only the update of a variable may not go elsewhere: it runs where the variable lives.
                assert!(error.is_out_of_memory(), "{error}");
                assert_eq!(session.results().last().map(|(name, _)| name), Some("normal"), "{error}");
                session.run()?;
            }
            assert!(session.results().any(|(_, t)| t.device() == CPU), "something went elsewhere");
            assert_values(&session, &expected, DeviceKind::Cpu);
        }
        Ok(())
    })
}
