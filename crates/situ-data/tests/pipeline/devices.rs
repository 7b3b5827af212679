//! Where elements go, and where closures run.

use situ_core::{DType, Policy};
use situ_data::Dataset;
use situ_runtime::{Cause, LogicalConfig};
use situ_tensor::{Tensor, tensor, with_device, with_runtime, zeros};
use situ_testkit::machines::{self, CPU, GPU};
use situ_testkit::simulated::SimulatedGpu;
use std::time::{Duration, Instant};

#[test]
fn a_map_runs_in_the_scope_in_which_it_was_written() {
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let source = Dataset::from_tensors(zeros(&[6, 4], DType::F32).unwrap()).unwrap();
        let _strict = situ_tensor::fallback_policy(Policy::Forbid);
        let on_gpu = with_device("/GPU:0", || Ok(source.map_parallel(2, |x| x.add(&x)))).unwrap();
        let on_cpu = with_device("/CPU:0", || Ok(source.map_parallel(2, |x| x.add(&x)))).unwrap();
        // Iterated in another scope, on other threads.
        let _other = situ_tensor::device("/GPU:0").unwrap();
        assert!(on_gpu.iter().all(|x| x.unwrap().device() == GPU));
        assert!(on_cpu.iter().all(|x| x.unwrap().device() == CPU));
        let batch = on_gpu.batch(3).iter().next().unwrap().unwrap();
        assert_eq!((batch.device(), batch.shape().dims()), (GPU, &[3, 4][..]), "stacked where its rows are");
    });
}

#[test]
fn a_tensor_on_a_device_is_brought_to_the_host_once() {
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let x = with_device("/GPU:0", || tensor([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])).unwrap();
        runtime.clear_ledger();
        let batches = Dataset::from_tensors(x).unwrap().batch(2);
        let values: Vec<_> = batches.iter().map(|b| b.unwrap().to_vec::<f32>().unwrap()).collect();
        assert_eq!(values, [vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0]]);
        let entries = runtime.ledger().entries;
        assert_eq!(entries.iter().map(|e| e.count).sum::<u64>(), 1, "{entries:?}");
    });
}

#[test]
fn batches_arrive_on_the_device_with_their_values_and_every_copy_is_booked() {
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let x = situ_tensor::range(0.0f32, 40.0, 1.0).unwrap().reshape(&[10, 4]).unwrap();
        let y = situ_tensor::range(0, 10, 1).unwrap();
        runtime.clear_ledger();
        let batches = Dataset::from_tensors((x, y)).unwrap().batch(4).prefetch_to_device("/GPU:0");
        let mut rows = Vec::new();
        for batch in &batches {
            let (x, y) = batch.unwrap();
            assert_eq!((x.device(), y.device()), (GPU, GPU));
            rows.extend(x.to_vec::<f32>().unwrap());
        }
        assert_eq!(rows, (0..40).map(|n| n as f32).collect::<Vec<_>>());
        let ledger = runtime.ledger();
        let explicit = ledger.entries.iter().filter(|e| e.cause == Cause::Explicit);
        assert_eq!(
            explicit.map(|e| (e.count, e.bytes)).fold((0, 0), |a, e| (a.0 + e.0, a.1 + e.1)),
            (6, 200)
        );
    });
}

#[test]
fn the_next_batch_is_made_and_copied_while_this_one_is_used() {
    const STEPS: u32 = 12;
    const EACH: Duration = Duration::from_millis(15);
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let source = Dataset::from_tensors(zeros(&[STEPS as usize, 4], DType::F32).unwrap()).unwrap();
        let slow = source.map(|x| {
            std::thread::sleep(EACH);
            Ok(x)
        });
        let time = |batches: Dataset<Tensor>| {
            let start = Instant::now();
            for batch in &batches {
                batch.unwrap();
                std::thread::sleep(EACH);
            }
            start.elapsed()
        };
        let serial = time(slow.batch(1));
        let overlapped = time(slow.batch(1).prefetch_to_device("/GPU:0"));
        // Sleeps of both sides add up without overlap, and fall together with it.
        assert!(serial >= EACH * STEPS * 2);
        assert!(overlapped < serial * 4 / 5, "{overlapped:?} of {serial:?}");
    });
}

#[test]
fn no_more_than_one_batch_waits_on_the_device() {
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let source = Dataset::from_tensors(zeros(&[64, 1024], DType::F32).unwrap()).unwrap();
        let batches = source.batch(4).prefetch(4).prefetch_to_device("/GPU:0");
        let mut iter = batches.iter();
        let in_use = iter.next().unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(60));
        let device = &runtime.list_logical_devices(Some(situ_core::DeviceKind::Gpu))[0];
        let held: usize = device.live().iter().map(|o| o.count).sum();
        assert_eq!(held, 2, "the one in use and the next");
        drop(in_use);
    });
}

#[test]
fn a_device_that_is_lost_is_an_error_and_no_hang() {
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let source = Dataset::from_tensors(zeros(&[64, 8], DType::F32).unwrap()).unwrap();
        let batches = source.batch(1).prefetch_to_device("/GPU:0");
        let mut iter = batches.iter();
        iter.next().unwrap().unwrap();
        gpu.controls().lose("unplugged");
        let error = iter.find_map(Result::err).expect("an error").to_string();
        assert!(error.contains("unplugged") && error.contains("prefetch_to_device of element"), "{error}");
    });
}

#[test]
fn a_cpu_device_with_cores_does_the_input_work_in_its_memory() {
    let cores = situ_runtime::discover()[0].description().cores.clone();
    if cores.len() < 2 {
        println!("skipped: two cores are needed");
        return;
    }
    let runtime = machines::cpu();
    let split = [LogicalConfig::cores([cores[0]]), LogicalConfig::cores([cores[1]])];
    runtime.set_logical_devices(CPU, &split).unwrap();
    with_runtime(&runtime, || {
        let source = Dataset::from_tensors(zeros(&[8, 4], DType::F32).unwrap()).unwrap();
        let batches = source.map_parallel(1, |x| x.add(&x)).batch(2).prefetch(1).on_device("/CPU:1");
        for batch in &batches {
            assert_eq!(batch.unwrap().device().to_string(), "CPU:1");
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn threads_stay_on_the_cores_they_are_given() {
    let core = situ_runtime::discover()[0].description().cores[0];
    let source = super::numbers(20).map_parallel(2, |_| {
        // The system's own word on where this thread may run.
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap();
        tensor(line.trim().parse::<i32>().unwrap_or(-1))
    });
    let seen = super::epoch(&source.on_cores(&[core]), 0);
    assert_eq!(seen, vec![core as i32; 20]);
}
