//! Devices that live in the host's memory: what they take together, and what they leave to each other.

use situ_core::{DType, DeviceSpec, Result, Shape, TensorType};
use situ_device::{Description, Device, DeviceClass, Open, Physical};
use situ_runtime::{LogicalConfig, MemoryInfo, Runtime};
use situ_tensor::{Tensor, with_device, with_runtime, written, zeros};
use situ_testkit::machines::{CPU, runtime};
use situ_testkit::simulated::SimulatedGpu;
use std::sync::Arc;

/// The machine's CPU with less memory.
#[derive(Debug)]
struct SmallHost(Arc<dyn Physical>, Description);

impl SmallHost {
    fn physical(memory: usize) -> Arc<dyn Physical> {
        let cpu = situ_cpu::physical();
        let description = Description { memory: Some(memory), ..cpu.description().clone() };
        Arc::new(SmallHost(cpu, description))
    }
}

impl Physical for SmallHost {
    fn description(&self) -> &Description {
        &self.1
    }

    fn open(&self, how: &Open) -> Result<Arc<dyn Device>> {
        self.0.open(how)
    }
}

/// The limit of a host of 1000 MiB.
const LIMIT: usize = 900 << 20;

fn host_and(gpu: Option<SimulatedGpu>) -> Runtime {
    let mut devices = vec![SmallHost::physical(1000 << 20)];
    devices.extend(gpu.map(|gpu| gpu.physical()));
    runtime(devices)
}

fn info(runtime: &Runtime, name: &str) -> MemoryInfo {
    runtime.memory_info(&name.parse::<DeviceSpec>().expect("a valid name")).expect("a device of that name")
}

/// Bytes on a CPU that are never touched, so that the system need not have them.
fn untouched(name: &str, bytes: usize) -> Result<Tensor> {
    with_device(name, || written(TensorType::new(DType::U8, Shape::new(&[bytes])?), |_| Ok(())))
}

fn on_gpu(bytes: usize) -> Result<Tensor> {
    with_device("/GPU:0", || zeros(&[bytes / 4], DType::F32))
}

#[test]
fn what_one_logical_cpu_has_freed_is_there_for_another() -> Result<()> {
    let runtime = host_and(None);
    runtime.set_logical_devices(CPU, &[LogicalConfig::default(), LogicalConfig::default()])?;
    with_runtime(&runtime, || {
        for name in ["/CPU:0", "/CPU:1", "/CPU:0", "/CPU:1"] {
            let held = untouched(name, LIMIT / 10 * 6)?;
            assert_eq!(info(&runtime, name).in_use, held.tensor_type().bytes().next_multiple_of(64));
        }
        // What is in use is nobody else's.
        let held = untouched("/CPU:0", LIMIT / 10 * 6)?;
        let error = untouched("/CPU:1", LIMIT / 10 * 6).unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
        drop(held);
        untouched("/CPU:1", LIMIT / 10 * 6)?;
        Ok(())
    })
}

#[test]
fn a_gpu_in_the_hosts_memory_and_the_cpu_make_room_for_each_other() -> Result<()> {
    for class in [DeviceClass::SoftwareGpu, DeviceClass::IntegratedGpu] {
        let gpu = SimulatedGpu::new().class(class).max_block(1 << 30).staging(1 << 20);
        let runtime = host_and(Some(gpu));
        with_runtime(&runtime, || -> Result<()> {
            // It can be opened, though the CPU's freed block fills the host.
            drop(untouched("/CPU:0", LIMIT - (256 << 10))?);
            drop(on_gpu(200 << 20)?);
            drop(untouched("/CPU:0", LIMIT / 10 * 9)?);
            on_gpu(200 << 20)?.to_vec::<f32>()?;
            assert!(info(&runtime, "/CPU:0").reserved <= LIMIT - (200 << 20), "{class:?}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn an_integrated_gpu_is_charged_to_the_host_as_a_software_gpu_is() -> Result<()> {
    for (class, charged) in [
        (DeviceClass::IntegratedGpu, true),
        (DeviceClass::SoftwareGpu, true),
        (DeviceClass::DiscreteGpu, false),
        (DeviceClass::VirtualGpu, false),
    ] {
        let gpu = SimulatedGpu::new().class(class).max_block(1 << 30);
        let runtime = host_and(Some(gpu));
        with_runtime(&runtime, || -> Result<()> {
            let held = on_gpu(200 << 20)?;
            let beside = untouched("/CPU:0", LIMIT - (100 << 20));
            assert_eq!(beside.is_err(), charged, "{class:?}");
            drop((held, beside));
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn devices_that_ask_each_other_for_room_at_the_same_time_do_not_wait_for_ever() -> Result<()> {
    let runtime = host_and(None);
    runtime.set_logical_devices(CPU, &[LogicalConfig::default(), LogicalConfig::default()])?;
    std::thread::scope(|scope| {
        let asks = ["/CPU:0", "/CPU:1"].map(|name| {
            let runtime = &runtime;
            scope.spawn(move || {
                with_runtime(runtime, || {
                    // Both can't have it at once, so some of these fail. Who had it often leaves it to the
                    // other, which may have been kept from its core meanwhile.
                    let tries = (0..10_000_000).filter(|_| untouched(name, LIMIT / 10 * 6).is_ok());
                    tries.take(1000).count()
                })
            })
        });
        for had in asks {
            assert_eq!(had.join().expect("no panic"), 1000);
        }
    });
    with_runtime(&runtime, || untouched("/CPU:0", LIMIT / 10 * 6).map(drop))
}
