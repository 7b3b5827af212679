//! Which device an eager op runs on: the scope, then Auto or PreferGpu; and what it says about it.

use crate::listening::Heard;
use situ_core::{DType, DeviceId, DeviceKind, Error, Reason, Result};
use situ_runtime::function::NodePlace;
use situ_runtime::{PlacementRule, Topic};
use situ_tensor::{Function, Tensor, Variable, device, tensor, with_device, with_runtime, zeros};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;
use std::collections::HashSet;
use std::time::Duration;

fn small() -> Result<Tensor> {
    tensor([1.0f32, 2.0, 3.0, 4.0])
}

fn zeros_on(name: &str, dims: &[usize]) -> Result<Tensor> {
    with_device(name, || zeros(dims, DType::F32))
}

#[test]
fn a_scope_decides_and_the_reason_says_so() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        for (name, id) in [("/CPU:0", CPU), ("/GPU:0", GPU), ("gpu:0", GPU), ("/device:GPU:0", GPU)] {
            let x = with_device(name, small)?;
            let sum = with_device(name, || x.add(&x))?;
            assert_eq!((x.device(), sum.device()), (id, id), "{name}");
            assert_eq!((x.reason(), sum.reason()), (Reason::Requested, Reason::Requested));
            assert_eq!(sum.reason().to_string(), "requested");
        }
        Ok(())
    })
}

#[test]
fn a_scope_moves_inputs_that_are_elsewhere() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let x = with_device("/CPU:0", small)?;
        let sum = with_device("/GPU:0", || x.add(&x))?;
        assert_eq!((x.device(), sum.device()), (CPU, GPU));
        assert_eq!(sum.to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
        Ok(())
    })
}

#[test]
fn the_inner_scope_wins_and_a_new_thread_has_none() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let _gpu = device("/GPU:0")?;
        let inner = with_device("/CPU:0", small)?;
        assert_eq!((inner.device(), small()?.device()), (CPU, GPU));
        let elsewhere = std::thread::scope(|s| s.spawn(|| with_runtime(&runtime, small)).join().unwrap())?;
        assert_eq!(elsewhere.device(), CPU);
        Ok(())
    })
}

#[test]
fn this_process_may_be_named_and_no_other_can() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let here = with_device("/job:localhost/replica:0/task:0/device:GPU:0", small)?;
        assert_eq!(here.device(), GPU);
        for elsewhere in ["/job:worker/task:0/GPU:0", "/task:3/CPU:0"] {
            // Under the default policy, which allows falling back: another process is no fallback.
            let error = with_device(elsewhere, || here.add(&here)).unwrap_err();
            assert!(matches!(error, Error::NoSuchDevice(_)), "{error}");
            assert!(error.to_string().contains("CPU:0, GPU:0"), "{error}");
            let error = with_device(elsewhere, small).unwrap_err();
            assert!(matches!(error, Error::NoSuchDevice(_)), "host data does not go there either: {error}");
        }
        Ok(())
    })
}

#[test]
fn a_partial_scope_leaves_the_choice_among_its_matches() -> Result<()> {
    let gpus = [SimulatedGpu::new(), SimulatedGpu::new()];
    with_runtime(&cpu_and(&[&gpus[0], &gpus[1]]), || {
        let x = with_device("/GPU:1", small)?;
        let sum = with_device("/GPU", || x.add(&x))?;
        assert_eq!(sum.device(), DeviceId::gpu(1), "the inputs are there");
        assert_eq!(sum.reason(), Reason::Requested);
        // A type clears the index of the scope around it.
        let _outer = device("/GPU:0")?;
        assert_eq!(with_device("/GPU", || x.add(&x))?.device(), DeviceId::gpu(1));
        // The index alone matches a device of each kind.
        assert_eq!(with_device("/CPU", || x.add(&x))?.device(), CPU);
        Ok(())
    })
}

#[test]
fn a_device_with_work_waiting_is_passed_by() -> Result<()> {
    let gpus = [SimulatedGpu::new().delay(Duration::from_millis(20)), SimulatedGpu::new()];
    with_runtime(&cpu_and(&[&gpus[0], &gpus[1]]), || {
        let x = small()?;
        assert_eq!(with_device("/GPU", || x.neg())?.device(), GPU, "nobody waits: the first will do");
        let y = with_device("/GPU:0", || x.abs()?.neg())?;
        assert_eq!(with_device("/GPU", || x.neg())?.device(), DeviceId::gpu(1));
        y.to_vec::<f32>()?;
        assert_eq!(with_device("/GPU", || x.neg())?.device(), GPU, "the queue is empty again");
        Ok(())
    })
}

#[test]
fn without_a_scope_small_work_stays_where_its_inputs_are() -> Result<()> {
    let gpu = SimulatedGpu::new();
    with_runtime(&cpu_and(&[&gpu]), || {
        let here = small()?;
        assert_eq!(here.reason().to_string(), "stays with the host's data");
        let sum = here.add(&here)?;
        assert_eq!(sum.device(), CPU);
        assert!(
            matches!(sum.reason(), Reason::Faster { than: GPU, saves } if saves > 0.0),
            "{}",
            sum.reason()
        );
        assert!(sum.reason().to_string().ends_with("over GPU:0"), "{}", sum.reason());
        assert_eq!(gpu.controls().opened(), 0, "a GPU that nobody needs is not opened");

        let there = with_device("/GPU:0", small)?;
        let sum = there.add(&there)?;
        assert_eq!(sum.device(), GPU);
        // The CPU would compute it faster; bringing the inputs there would cost more.
        assert!(matches!(sum.reason(), Reason::CheaperThanMoving { to: CPU, .. }), "{}", sum.reason());
        assert!(sum.reason().to_string().contains("over moving its inputs to CPU:0"), "{}", sum.reason());
        Ok(())
    })
}

#[test]
fn without_a_scope_large_products_go_to_the_gpu_and_large_sums_stay() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let x = zeros_on("/CPU:0", &[700, 700])?;
        let product = x.matmul(&x)?;
        assert_eq!(product.device(), GPU, "arithmetic grows faster than what must be moved");
        assert!(matches!(product.reason(), Reason::Faster { than: CPU, .. }), "{}", product.reason());

        let long = zeros_on("/CPU:0", &[4 << 20])?;
        let sum = long.sum(&[])?;
        assert_eq!(sum.device(), CPU, "one addition for each element moved");
        assert!(matches!(sum.reason(), Reason::CheaperThanMoving { to: GPU, .. }), "{}", sum.reason());
        Ok(())
    })
}

#[test]
fn auto_takes_no_device_without_a_kernel() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new().without_ops(&["matmul"])]), || {
        let x = zeros_on("/CPU:0", &[400, 400])?;
        let product = x.matmul(&x)?;
        assert_eq!((product.device(), product.reason()), (CPU, Reason::OnlyDevice));
        assert_eq!(product.reason().to_string(), "no other device can run it");
        Ok(())
    })
}

#[test]
fn prefer_gpu_takes_the_first_gpu_with_a_kernel() -> Result<()> {
    let gpus = [SimulatedGpu::new().without_ops(&["neg"]), SimulatedGpu::new()];
    let runtime = cpu_and(&[&gpus[0], &gpus[1]]);
    runtime.set_placement_rule(PlacementRule::PreferGpu)?;
    with_runtime(&runtime, || {
        let x = small()?;
        assert_eq!((x.device(), x.reason()), (GPU, Reason::PreferGpu));
        let sum = x.add(&x)?;
        assert_eq!((sum.device(), sum.reason()), (GPU, Reason::PreferGpu));
        assert_eq!(sum.reason().to_string(), "a GPU with a kernel comes first");
        assert_eq!(x.neg()?.device(), DeviceId::gpu(1));
        let wide = tensor([1.0f64, 2.0])?;
        assert_eq!(wide.device(), CPU);
        let sum = wide.add(&wide)?;
        assert_eq!((sum.device(), sum.reason()), (CPU, Reason::OnlyDevice));
        Ok(())
    })
}

#[test]
fn an_op_without_inputs_and_without_a_scope_is_made_on_the_cpu() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let made = zeros(&[3], DType::F32)?;
        assert_eq!(made.device(), CPU);
        assert!(matches!(made.reason(), Reason::Faster { than: GPU, .. }), "{}", made.reason());
        Ok(())
    })
}

#[test]
fn the_only_device_is_the_reason_where_there_is_one() -> Result<()> {
    with_runtime(&cpu(), || {
        let x = small()?;
        let sum = x.add(&x)?;
        assert_eq!((sum.device(), sum.reason()), (CPU, Reason::OnlyDevice));
        Ok(())
    })
}

#[test]
fn a_view_is_where_its_tensor_is_whatever_the_scope() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let x = with_device("/GPU:0", || tensor([[1.0f32, 2.0], [3.0, 4.0]]))?;
        let view = with_device("/CPU:0", || x.transpose(&[]))?;
        assert_eq!((view.device(), view.reason()), (GPU, Reason::View));
        assert_eq!(view.reason().to_string(), "a view of a tensor there");
        assert!(view.shares_memory_with(&x));
        assert_eq!(view.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
        Ok(())
    })
}

#[test]
fn a_copy_by_name_is_requested_and_must_exist() -> Result<()> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let x = small()?;
        let there = x.to_device("/GPU:0")?;
        assert_eq!((there.device(), there.reason()), (GPU, Reason::Requested));
        assert!(there.to_device("gpu")?.shares_memory_with(&there), "it is there already");
        assert_eq!(there.to_device("/CPU:0")?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
        let error = x.to_device("/GPU:5").unwrap_err();
        assert!(matches!(error, Error::NoSuchDevice(_)) && error.to_string().contains("GPU:5"), "{error}");
        Ok(())
    })
}

#[test]
fn copies_between_gpus_go_through_the_host() -> Result<()> {
    let gpus = [SimulatedGpu::new(), SimulatedGpu::new()];
    with_runtime(&cpu_and(&[&gpus[0], &gpus[1]]), || {
        let x = with_device("/GPU:0", small)?;
        let y = with_device("/GPU:1", || x.add(&x))?;
        assert_eq!(y.device(), DeviceId::gpu(1));
        assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
        Ok(())
    })
}

#[test]
fn placements_are_logged_with_their_line_when_asked() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    let heard = Heard::from(&runtime);
    with_runtime(&runtime, || {
        let x = small()?;
        x.add(&x)?;
        assert!(heard.about(Topic::Placement).is_empty(), "not asked yet");
        runtime.set_log_placement(true)?;
        let line = line!() + 1;
        with_device("/GPU:0", || x.mul(&x))?;
        let said = heard.about(Topic::Placement);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("mul -> GPU:0: requested (") && said[0].contains("placement.rs"),
            "{said:?}"
        );
        assert!(said[0].contains(&format!(":{line}")), "{said:?} at {line}");
        Ok(())
    })
}

#[test]
fn kinds_list_their_devices() {
    let runtime = cpu_and(&[&SimulatedGpu::new(), &SimulatedGpu::new()]);
    let ids = |kind| runtime.list_logical_devices(kind).iter().map(|d| d.id()).collect::<Vec<_>>();
    assert_eq!(ids(None), [CPU, GPU, DeviceId::gpu(1)]);
    assert_eq!(ids(Some(DeviceKind::Gpu)), [GPU, DeviceId::gpu(1)]);
    let physical = runtime.list_physical_devices(Some(DeviceKind::Gpu));
    assert_eq!(physical.len(), 2);
    assert_eq!(physical[1].id, DeviceId::gpu(1));
    assert_eq!(physical[0].description.hardware, "simulated");
}

#[test]
fn under_manual_an_op_runs_where_its_largest_input_is_and_nothing_is_weighed() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    runtime.set_placement_rule(PlacementRule::Manual)?;
    with_runtime(&runtime, || {
        let large = with_device("/CPU:0", || zeros(&[300, 300], DType::F32))?;
        let small = with_device("/GPU:0", || zeros(&[300], DType::F32))?;
        let product = large.matmul(&large)?;
        assert_eq!(
            (product.device(), product.reason()),
            (CPU, Reason::Colocated { with: "its largest input" })
        );
        assert_eq!(large.add(&small)?.device(), CPU);
        assert_eq!(small.neg()?.device(), GPU);
        let f = Function::new2(|large, small| {
            let on_gpu = with_device("/GPU:0", || large.tanh())?;
            large.matmul(large)?.add(small)?.sum(&[])?.add(&on_gpu.matmul(&on_gpu)?.sum(&[])?)
        });
        let places = f.places(&[&large, &small])?;
        let of = |name: &str| places.iter().filter(|p| p.name == name).map(|p| p.device).collect::<Vec<_>>();
        assert_eq!(of("matmul"), [CPU, GPU], "{places:?}");
        assert!(f.call2(&large, &small)?.item::<f32>()? == 0.0);
        Ok(())
    })
}

/// How many nodes these ops became.
fn kernels(places: &[NodePlace]) -> usize {
    places.iter().map(|place| place.node).collect::<HashSet<_>>().len()
}

#[test]
fn a_gpu_that_a_function_does_not_ask_for_is_not_opened_for_it() -> Result<()> {
    let gpu = SimulatedGpu::new();
    with_runtime(&cpu_and(&[&gpu]), || {
        let _cpu = device("/CPU:0")?;
        let (weights, bias) = (Variable::new(&tensor([[1.0f32, 2.0], [3.0, 4.0]])?)?, tensor([1.0f32, 1.0])?);
        let held = weights.clone();
        // A product with what follows it, elementwise ops, a captured tensor, a variable that is assigned.
        let f = Function::new(move |x| {
            let _cpu = device("/CPU:0")?;
            let y = x.matmul(&held.value())?.add(&bias)?.relu()?;
            held.assign_add(&y.mul(&y)?.neg()?.exp()?)?;
            y.sum(&[])
        });
        let x = tensor([[1.0f32, 0.0], [0.0, 1.0]])?;
        assert_eq!(f.call(&x)?.item::<f32>()?, 14.0);
        let places = f.places(&[&x])?;
        assert!(kernels(&places) < places.len(), "some were joined, so it was looked for: {places:?}");
        assert_eq!(gpu.controls().opened(), 0);
        Ok(())
    })
}

#[test]
fn what_one_device_lacks_does_not_switch_fusion_off_where_another_is_asked_for() -> Result<()> {
    let gpu = SimulatedGpu::new().without_ops(&["fused", "matmul_bias"]);
    with_runtime(&cpu_and(&[&gpu]), || {
        let x = tensor([1.0f32, 2.0])?;
        let on = |name: &'static str| Function::new(move |x| with_device(name, || x.neg()?.exp()?.add(x)));
        let ops = |f: &Function| -> Result<usize> { Ok(kernels(&f.places(&[&x])?)) };
        assert_eq!(ops(&on("/CPU:0"))?, 1, "joined where it runs");
        assert_eq!(ops(&on("/GPU:0"))?, 3, "and not where that is not to be had");
        assert_eq!(on("/CPU:0").call(&x)?.to_vec::<f32>()?, on("/GPU:0").call(&x)?.to_vec::<f32>()?);
        Ok(())
    })
}
