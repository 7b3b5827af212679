//! Copies from one device to another, neither of which is the host: directly where they share their hardware,
//! else through the host.

use situ_core::{DeviceId, Result};
use situ_runtime::{Cause, Entry, LogicalConfig, Route, Runtime};
use situ_tensor::{Function, Variable, range, tensor, with_device, with_runtime};
use situ_testkit::machines::{self, CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

const OTHER: DeviceId = DeviceId::gpu(1);

/// Splits the first GPU in two.
fn halved(runtime: &Runtime) -> Result<()> {
    let half = LogicalConfig::limit(64 << 20);
    runtime.set_logical_devices(GPU, &[half.clone(), half])
}

fn between(runtime: &Runtime) -> Vec<Entry> {
    let apart = |e: &Entry| e.from != CPU && e.to != CPU && e.cause != Cause::Fallback;
    runtime.ledger().entries.into_iter().filter(apart).collect()
}

/// What is moved and computed between two GPUs, and what must come of it.
fn there_and_back(runtime: &Runtime) -> Result<()> {
    halved(runtime)?;
    with_runtime(runtime, || {
        let count = 100_003;
        let x = with_device("/GPU:0", || range(0.0f32, count as f32, 1.0))?;
        // It waits in the first queue as it is copied, and is made before the copy nevertheless.
        let doubled = with_device("/GPU:0", || x.add(&x))?;
        let moved = doubled.to_device("/GPU:1")?;
        assert_eq!(moved.device(), OTHER);
        // What it came from goes, and its memory is used again at once.
        drop(doubled);
        let zeros = with_device("/GPU:0", || x.sub(&x))?;
        let sum = with_device("/GPU:1", || moved.add(&moved))?;
        let expected: Vec<f32> = (0..count).map(|n| 4.0 * n as f32).collect();
        assert_eq!(sum.to_vec::<f32>()?, expected);
        assert!(zeros.to_vec::<f32>()?.iter().all(|z| *z == 0.0));
        // A part of it that begins anywhere, and a single number.
        let part = with_device("/GPU:1", || x.slice(&[(3..20).into()])?.add(&x.slice(&[(5..22).into()])?))?;
        assert_eq!(part.to_vec::<f32>()?[0], 8.0);
        assert_eq!(x.sum(&[])?.to_device("/GPU:1")?.device(), OTHER);
        Ok(())
    })
}

#[test]
fn devices_on_one_gpu_copy_without_the_host_as_one_booked_copy() -> Result<()> {
    let gpu = SimulatedGpu::new().with_peers();
    let runtime = cpu_and(&[&gpu]);
    there_and_back(&runtime)?;
    let booked = between(&runtime);
    assert!(!booked.is_empty() && booked.iter().all(|e| e.route == Route::Peer), "{booked:?}");
    assert_eq!(booked.iter().map(|e| e.count).sum::<u64>(), gpu.controls().peer_copies() as u64);
    let explicit = booked.iter().find(|e| e.cause == Cause::Explicit && e.bytes == 400_012);
    assert_eq!(explicit.map(|e| (e.from, e.to, e.count)), Some((GPU, OTHER, 1)));
    assert!(runtime.ledger().to_string().contains("GPU:0 -> GPU:1 directly"), "{}", runtime.ledger());
    Ok(())
}

#[test]
fn gpus_that_do_not_see_each_other_copy_through_the_host_as_one_booked_copy() -> Result<()> {
    let gpu = SimulatedGpu::new();
    let runtime = cpu_and(&[&gpu]);
    there_and_back(&runtime)?;
    let booked = between(&runtime);
    assert!(!booked.is_empty() && booked.iter().all(|e| e.route == Route::ThroughHost), "{booked:?}");
    assert_eq!(gpu.controls().peer_copies(), 0);
    assert!(runtime.ledger().to_string().contains("GPU:0 -> GPU:1 through the host"));
    Ok(())
}

#[test]
fn two_cards_are_no_peers_even_if_each_has_peers_of_its_own() -> Result<()> {
    let (a, b) = (SimulatedGpu::new().with_peers(), SimulatedGpu::new().with_peers());
    let runtime = cpu_and(&[&a, &b]);
    with_runtime(&runtime, || {
        let x = with_device("/GPU:0", || tensor([1.0f32, 2.0]))?;
        assert_eq!(x.to_device("/GPU:1")?.to_vec::<f32>()?, [1.0, 2.0]);
        let booked = between(&runtime);
        assert_eq!(booked.iter().map(|e| (e.route, e.bytes)).collect::<Vec<_>>(), [(Route::ThroughHost, 8)]);
        assert_eq!((a.controls().peer_copies(), b.controls().peer_copies()), (0, 0));
        Ok(())
    })
}

#[test]
fn a_function_copies_between_devices_in_one_step() -> Result<()> {
    for peers in [true, false] {
        let gpu = if peers { SimulatedGpu::new().with_peers() } else { SimulatedGpu::new() };
        let runtime = cpu_and(&[&gpu]);
        halved(&runtime)?;
        with_runtime(&runtime, || {
            let total = with_device("/GPU:1", || Variable::new(&tensor([0.0f32; 8])?))?;
            let kept = total.clone();
            let f = Function::new(move |x| {
                let y = with_device("/GPU:0", || x.add(x)?.sqrt())?;
                let z = with_device("/GPU:1", || y.mul(&y))?;
                kept.assign_add(&z)?;
                with_device("/GPU:0", || z.add(&y))
            });
            let x = with_device("/GPU:0", || tensor([2.0f32; 8]))?;
            for call in 1..=3u64 {
                assert_eq!(f.call(&x)?.to_vec::<f32>()?, [6.0; 8]);
                assert_eq!(total.value().to_vec::<f32>()?, [4.0 * call as f32; 8]);
                let direct: u64 = between(&runtime).iter().map(|e| e.count).sum();
                assert_eq!(direct, 2 * call, "there and back, {peers}");
            }
            assert_eq!(gpu.controls().peer_copies(), if peers { 6 } else { 0 });
            let route = if peers { Route::Peer } else { Route::ThroughHost };
            assert!(between(&runtime).iter().all(|e| e.route == route), "{}", runtime.ledger());
            assert!(runtime.ledger().bytes(GPU, CPU) <= 96, "only reads go to the host");
            let explained = f.explain(&[&x])?;
            let copies = explained.copies.iter().map(|c| (c.from, c.to, c.route)).collect::<Vec<_>>();
            assert_eq!(copies, [(GPU, OTHER, route), (OTHER, GPU, route)]);
            assert!(explained.to_string().contains(&format!("GPU:0 -> GPU:1{}", route.phrase())));
            Ok::<(), situ_core::Error>(())
        })?;
    }
    Ok(())
}

#[test]
fn a_copy_between_peers_is_priced_by_their_own_memory() -> Result<()> {
    let place = |gpu: SimulatedGpu| -> Result<f64> {
        let runtime = cpu_and(&[&gpu]);
        halved(&runtime)?;
        with_runtime(&runtime, || {
            let f = Function::new(|x| {
                let y = with_device("/GPU:0", || x.neg())?;
                with_device("/GPU:1", || y.exp())
            });
            let x = with_device("/GPU:0", || range(0.0f32, 1e6, 1.0))?;
            Ok(f.explain(&[&x])?.predicted)
        })
    };
    let (direct, through) = (place(SimulatedGpu::new().with_peers())?, place(SimulatedGpu::new())?);
    assert!(direct < through / 4.0, "{direct} {through}");
    Ok(())
}

#[test]
fn two_halves_of_the_machines_gpu_copy_without_the_host() -> Result<()> {
    let Some(runtime) = machines::cpu_and_gpu() else { return Ok(()) };
    there_and_back(&runtime)?;
    let booked = between(&runtime);
    assert!(!booked.is_empty() && booked.iter().all(|e| e.route == Route::Peer), "{booked:?}");
    // And in a function, call after call, with results that wait in the queues.
    with_runtime(&runtime, || {
        let f = Function::new(|x| {
            let y = with_device("/GPU:0", || x.matmul(x))?;
            let z = with_device("/GPU:1", || y.sub(x))?;
            with_device("/GPU:0", || z.add(&y))
        });
        let x = with_device("/GPU:0", || tensor([[0.5f32, 0.25], [0.125, 1.0]]))?;
        // Twice the square, less itself.
        let [a, b, c, d] = [0.5f32, 0.25, 0.125, 1.0];
        let square = [a * a + b * c, a * b + b * d, c * a + d * c, c * b + d * d];
        let expected: Vec<f32> = square.iter().zip([a, b, c, d]).map(|(s, x)| 2.0 * s - x).collect();
        for _ in 0..20 {
            assert_eq!(f.call(&x)?.to_vec::<f32>()?, expected);
        }
        Ok(())
    })
}
