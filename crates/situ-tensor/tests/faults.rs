//! What goes wrong in the middle of a function's call: the right error or a second attempt, no hang, nothing
//! lost.

use situ_core::{DeviceId, Error, Policy, Result};
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, Variable, tensor, with_device, with_runtime};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::{Fault, SimulatedGpu};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A function that goes to the GPU and back twice and counts its calls in a variable on the CPU.
fn back_and_forth(count: &Variable) -> Function {
    let held = count.clone();
    Function::new(move |x| {
        let a = with_device("/GPU:0", || x.tanh()?.matmul(x))?;
        let b = with_device("/CPU:0", || a.exp()?.add(x))?;
        let c = with_device("/GPU:0", || b.matmul(&a)?.relu())?;
        with_device("/CPU:0", || held.assign_add(&tensor(1.0f32)?))?;
        with_device("/CPU:0", || c.sum(&[1]))
    })
}

fn start() -> Result<(Tensor, Variable)> {
    with_device("/CPU:0", || Ok((tensor([[0.1f32, 0.2], [0.3, -0.4]])?, Variable::new(&tensor(0.0f32)?)?)))
}

fn said(runtime: &Runtime) -> Arc<Mutex<Vec<String>>> {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let list = said.clone();
    runtime.set_listener(Some(Box::new(move |notice| list.lock().unwrap().push(notice.text.clone()))));
    said
}

#[test]
fn a_device_lost_at_any_launch_is_done_without_and_no_variable_is_written_twice() -> Result<()> {
    let expected = with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let (x, count) = start()?;
        back_and_forth(&count).call(&x)?.to_vec::<f32>()
    })?;
    let mut retried = 0;
    for launch in 0..6 {
        let gpu = SimulatedGpu::new();
        let runtime = cpu_and(&[&gpu]);
        let said = said(&runtime);
        with_runtime(&runtime, || {
            let (x, count) = start()?;
            let f = back_and_forth(&count);
            f.call(&x)?;
            gpu.controls().fail_launch_after(launch, Fault::Lost);
            let y = f.call(&x)?;
            assert_eq!(y.to_vec::<f32>()?, expected, "lost at launch {launch}");
            assert_eq!(count.value().item::<f32>()?, 2.0);
            if gpu.controls().lost().is_some() {
                retried += 1;
                let said = said.lock().unwrap().join("\n");
                assert!(said.contains("GPU:0 was lost in a call"), "{said}");
                let places = f.places(&[&x])?;
                assert!(places.iter().all(|p| p.device == CPU), "{places:?}");
                let moved = places.iter().find(|p| p.name == "tanh").expect("tanh is an op of it");
                assert_eq!(moved.reason.to_string(), "GPU:0 is lost");
            }
            Ok::<_, Error>(())
        })?;
    }
    assert!(retried >= 3, "the function has at least three launches on the GPU, {retried} were hit");
    Ok(())
}

#[test]
fn where_no_fallback_is_allowed_a_lost_device_is_an_error() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    said(&runtime);
    runtime.set_fallback_policy(Policy::Forbid)?;
    with_runtime(&runtime, || {
        let (x, count) = start()?;
        let f = back_and_forth(&count);
        f.call(&x)?;
        gpu.controls().fail_launch_after(1, Fault::Lost);
        let error = f.call(&x).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { device: GPU, .. }), "{error}");
        assert_eq!(count.value().item::<f32>()?, 1.0, "the failed call wrote nothing");
        assert_eq!(x.sum(&[])?.item::<f32>()?, 0.2);
        Ok(())
    })
}

#[test]
fn what_was_only_on_the_lost_device_is_named() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    said(&runtime);
    with_runtime(&runtime, || {
        let (x, _) = start()?;
        let there = with_device("/GPU:0", || Variable::new(&x))?;
        let held = there.clone();
        let f = Function::new(move |x| x.add(&held.value()));
        f.call(&x)?;
        gpu.controls().lose("unplugged");
        let error = f.call(&x).unwrap_err().to_string();
        assert!(error.contains("unplugged") && error.contains("variable 0 (f32[2, 2])"), "{error}");
        assert!(x.add(&x).is_ok(), "all else stays usable");
        Ok(())
    })
}

#[test]
fn an_arena_that_is_refused_fails_the_call_before_its_first_step() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let (x, count) = start()?;
        let f = back_and_forth(&count);
        let y = f.call(&x)?.to_vec::<f32>()?;
        for device in [GPU, CPU] {
            let device = runtime.logical_device(&device.spec())?;
            device.fail_allocations_after(Some(0))?;
            let launches = gpu.controls().launches();
            let error = f.call(&x).unwrap_err();
            assert!(error.is_out_of_memory(), "{error}");
            assert_eq!(gpu.controls().launches(), launches, "nothing ran");
            device.fail_allocations_after(None)?;
            let before = count.value().item::<f32>()?;
            assert_eq!(f.call(&x)?.to_vec::<f32>()?, y);
            assert_eq!(count.value().item::<f32>()?, before + 1.0);
        }
        Ok(())
    })
}

#[test]
fn a_kernel_that_panics_fails_the_call_with_its_op_and_line_and_the_next_call_works() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let (x, count) = start()?;
        let f = back_and_forth(&count);
        let y = f.call(&x)?.to_vec::<f32>()?;
        gpu.controls().fail_launch_after(0, Fault::Panic);
        let error = f.call(&x).unwrap_err().to_string();
        assert!(error.contains("tanh failed on GPU:0") && error.contains("faults.rs:"), "{error}");
        assert_eq!(count.value().item::<f32>()?, 1.0);
        assert_eq!(f.call(&x)?.to_vec::<f32>()?, y);
        // The same where the plan has one lane, on the calling thread.
        let alone = Function::new(|x| with_device("/GPU:0", || x.tanh()?.exp()));
        let x = x.to_device("/GPU:0")?;
        alone.call(&x)?;
        gpu.controls().fail_launch_after(0, Fault::Panic);
        let error = alone.call(&x).unwrap_err().to_string();
        assert!(error.contains("panicked") && error.contains("faults.rs:"), "{error}");
        alone.call(&x)?;
        Ok(())
    })
}

#[test]
fn a_slow_device_is_waited_for() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(3));
    let runtime = cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let (x, count) = start()?;
        let f = back_and_forth(&count);
        let first = f.call(&x)?.to_vec::<f32>()?;
        std::thread::scope(|threads| {
            let calls: Vec<_> = (0..4).map(|_| threads.spawn(|| f.call(&x)?.to_vec::<f32>())).collect();
            for call in calls {
                assert_eq!(call.join().expect("no call panics").unwrap(), first);
            }
        });
        Ok(())
    })
}

#[test]
fn calls_on_cpus_that_own_cores_do_not_wait_for_each_other_for_ever() -> Result<()> {
    use situ_runtime::LogicalConfig;
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("skipped: one core only");
        return Ok(());
    }
    let runtime = cpu_and(&[]);
    runtime.set_logical_devices(DeviceId::CPU0, &[LogicalConfig::cores([0]), LogicalConfig::cores([1])])?;
    with_runtime(&runtime, || {
        let x = tensor([[0.1f32, 0.2], [0.3, -0.4]])?;
        let zigzag = |first: &'static str, second: &'static str| {
            Function::new(move |x| {
                let mut x = x.clone();
                for _ in 0..8 {
                    x = with_device(first, || x.matmul(&x)?.tanh())?;
                    x = with_device(second, || x.exp()?.matmul(&x))?;
                    x = with_device(first, || x.softmax(-1))?;
                }
                Ok(x)
            })
        };
        let (there, back) = (zigzag("/CPU:0", "/CPU:1"), zigzag("/CPU:1", "/CPU:0"));
        let expected = there.call(&x)?.to_vec::<f32>()?;
        std::thread::scope(|threads| {
            for f in [&there, &back, &there, &back] {
                let (x, expected) = (&x, &expected);
                threads.spawn(move || {
                    for _ in 0..200 {
                        assert_eq!(&f.call(x).unwrap().to_vec::<f32>().unwrap(), expected);
                    }
                });
            }
        });
        Ok(())
    })
}
