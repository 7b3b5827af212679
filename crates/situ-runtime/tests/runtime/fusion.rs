//! Joined ops where devices differ in which of them they have.

use situ_core::{DType, DeviceId, Reason, Result, Rule};
use situ_runtime::PlacementRule;
use situ_runtime::function::NodePlace;
use situ_tensor::{Function, Tensor, arange, cond, current_runtime, tensor, with_device, with_runtime};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;
use std::collections::HashSet;

const OTHER: DeviceId = DeviceId::gpu(1);

/// Enough elements that no chain of three ops is worth a copy of them.
const MANY: usize = 1 << 20;

/// Kernels of a function on a device.
fn kernels(places: &[NodePlace], device: DeviceId) -> usize {
    places.iter().filter(|p| p.device == device).map(|p| p.node).collect::<HashSet<_>>().len()
}

fn chain(x: &Tensor) -> Result<Tensor> {
    x.neg()?.exp()?.add(x)
}

fn numbers() -> Result<Tensor> {
    arange(MANY, DType::F32)?.mul(&tensor(1e-6f32)?)
}

#[test]
fn a_device_without_a_joined_kernel_leaves_it_to_the_others() -> Result<()> {
    let gpus = [SimulatedGpu::new().without_ops(&["fused", "matmul_bias"]), SimulatedGpu::new()];
    for rule in [PlacementRule::Auto, PlacementRule::Manual] {
        with_runtime(&cpu_and(&[&gpus[0], &gpus[1]]), || {
            current_runtime().set_placement_rule(rule)?;
            let x = numbers()?;
            let (there, beside) = (x.to_device("/GPU:0")?, x.to_device("/GPU:1")?);
            let f = Function::many(|args| Ok(vec![chain(&args[0])?, chain(&args[1])?]));
            let made = f.call_many(&[&there, &beside])?;
            let places = f.places(&[&there, &beside])?;
            assert_eq!((kernels(&places, GPU), kernels(&places, OTHER)), (3, 1), "{rule:?}: {places:?}");
            let eager = with_device("/CPU:0", || chain(&x))?.to_vec::<f32>()?;
            assert_eq!(made[0].to_vec::<f32>()?, eager);
            assert_eq!(made[1].to_vec::<f32>()?, eager);
            let text = f.explain(&[&there, &beside])?.to_string();
            assert!(text.contains("in parts: GPU:0 has these, and no kernel for the whole"), "{text}");
            Ok::<(), situ_core::Error>(())
        })?;
    }
    Ok(())
}

#[test]
fn what_a_gpu_lacks_does_not_switch_joining_off_on_the_cpu() -> Result<()> {
    let gpu = SimulatedGpu::new().without_ops(&["fused", "matmul_bias"]);
    with_runtime(&cpu_and(&[&gpu]), || {
        current_runtime().set_placement_rule(PlacementRule::Manual)?;
        let x = numbers()?;
        let dense = Function::many(|args| {
            let product = args[0].matmul(&args[1])?;
            Ok(vec![product.bias_add(&args[2])?.relu()?])
        });
        // The GPU is open, and so is asked; by the rule, ops stay where their inputs are.
        tensor([1.0f32])?.to_device("/GPU:0")?;
        let f = Function::new(chain);
        f.call(&x)?;
        assert_eq!(kernels(&f.places(&[&x])?, CPU), 1);
        let (a, b) = (x.reshape(&[1024, 1024])?, x.narrow(0, 0, 1024)?);
        let args = [&a, &a, &b];
        let made = dense.call_many(&args)?;
        let places = dense.places(&args)?;
        assert_eq!(kernels(&places, CPU), 1, "{places:?}");
        let apart = dense.without("matmul_bias")?.without("fuse")?.call_many(&args)?;
        assert_eq!(made[0].to_vec::<f32>()?, apart[0].to_vec::<f32>()?);
        Ok(())
    })
}

#[test]
fn what_is_joined_in_a_block_is_split_for_the_device_of_the_block() -> Result<()> {
    let gpus = [SimulatedGpu::new().without_ops(&["fused"]), SimulatedGpu::new()];
    with_runtime(&cpu_and(&[&gpus[0], &gpus[1]]), || {
        current_runtime().set_placement_rule(PlacementRule::Manual)?;
        let x = numbers()?;
        let there = x.to_device("/GPU:0")?;
        let f = Function::new(|x| {
            let up = x.sum(&[])?.greater(&tensor(0.0f32)?)?;
            let mut sides = cond(&up, || Ok(vec![chain(x)?]), || Ok(vec![x.neg()?]))?;
            Ok(sides.remove(0))
        });
        let eager = with_device("/CPU:0", || chain(&x))?.to_vec::<f32>()?;
        assert_eq!(f.call(&there)?.to_vec::<f32>()?, eager);
        let places = f.places(&[&there])?;
        let inside = places.iter().filter(|p| p.inside.is_some_and(|(_, block)| block == "then"));
        assert!(inside.clone().count() == 3 && inside.clone().all(|p| p.device == GPU && !p.fused));
        Ok(())
    })
}

#[test]
fn a_gpu_that_could_not_even_begin_in_time_is_not_opened() -> Result<()> {
    let gpus = [SimulatedGpu::new(), SimulatedGpu::new()];
    with_runtime(&cpu_and(&[&gpus[0], &gpus[1]]), || {
        let x = tensor([1.0f32, 2.0, 3.0])?;
        let f = Function::new(chain);
        let made = f.call(&x)?;
        assert_eq!(made.device(), CPU);
        assert!(gpus.iter().all(|gpu| gpu.controls().opened() == 0));
        for place in f.places(&[&x])? {
            let by_cost = [Rule::Faster, Rule::CheaperThanMoving].contains(&place.reason.rule());
            assert!(by_cost && place.reason != Reason::OnlyDevice, "{}", place.reason);
        }
        // What may be worth it is asked, and weighed.
        let large = numbers()?;
        f.call(&large)?;
        assert!(gpus.iter().all(|gpu| gpu.controls().opened() == 1));
        Ok(())
    })
}
