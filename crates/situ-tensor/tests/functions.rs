//! Functions on the CPU and, where there is one, on the GPU.

use situ_core::{DType, DeviceId, Result};
use situ_ir::ops::Format;
use situ_runtime::function::EventKind;
use situ_tensor::{
    Function, Span, Tensor, Variable, Windows, cond, constant, current_runtime, device, name_scope, random,
    tensor, where_, while_loop, with_device, with_runtime,
};
use situ_testkit::machines::{CPU, cpu_and, say_skipped};
use situ_testkit::simulated::SimulatedGpu;
use std::time::Duration;

fn has_gpu() -> bool {
    let found = !current_runtime().list_logical_devices(Some(situ_core::DeviceKind::Gpu)).is_empty();
    if !found {
        say_skipped();
    }
    found
}

#[test]
fn a_function_gives_what_its_closure_gives_eagerly() -> Result<()> {
    let f = Function::many(|x| {
        let sum = x[0].add(&x[1])?;
        Ok(vec![sum.relu()?.transpose(&[])?, sum.mean(&[1])?, x[0].clone()])
    });
    let a = tensor([[1.0f32, -2.0, 3.0], [4.0, 5.0, -6.0]])?;
    let b = tensor([0.5f32, 0.5, 0.5])?;
    let out = f.call_many(&[&a, &b])?;
    assert_eq!(out[0].to_vec::<f32>()?, [1.5, 4.5, 0.0, 5.5, 3.5, 0.0]);
    assert_eq!(out[0].shape().dims(), [3, 2]);
    assert_eq!(out[1].to_vec::<f32>()?, a.add(&b)?.mean(&[1])?.to_vec::<f32>()?);
    assert!(out[2].shares_memory_with(&a), "an argument that is returned is not copied");
    Ok(())
}

#[test]
fn each_signature_is_traced_once_and_a_view_is_a_fine_argument() -> Result<()> {
    let f = Function::new(|x| &x.sum(&[])? * 2.0);
    let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
    for _ in 0..3 {
        assert_eq!(f.call(&x)?.item::<f32>()?, 20.0);
        assert_eq!(f.call(&x.transpose(&[])?)?.item::<f32>()?, 20.0);
    }
    assert_eq!(f.traces(), 1);
    f.call(&tensor([1.0f32])?)?;
    f.call(&tensor([1.0f64])?)?;
    assert_eq!(f.traces(), 3);
    Ok(())
}

#[test]
fn variables_are_read_at_each_call_and_written_at_its_end() -> Result<()> {
    let counter = Variable::new(&tensor([0.0f32, 10.0])?)?;
    let held = counter.clone();
    let step = Function::new(move |x| {
        held.assign_add(x)?;
        let after_one = held.value();
        held.assign(&after_one.mul(&after_one)?)?;
        Ok(after_one)
    });
    let one = tensor([1.0f32, 1.0])?;
    assert_eq!(step.call(&one)?.to_vec::<f32>()?, [1.0, 11.0]);
    assert_eq!(counter.value().to_vec::<f32>()?, [1.0, 121.0]);
    assert_eq!(step.call(&one)?.to_vec::<f32>()?, [2.0, 122.0]);
    assert_eq!(counter.value().to_vec::<f32>()?, [4.0, 14884.0]);
    Ok(())
}

#[test]
fn branches_and_loops_run_inside_a_function() -> Result<()> {
    let scale = tensor(3.0f32)?;
    let f = Function::new(move |x| {
        let positive = x.sum(&[])?.greater(&tensor(0.0f32)?)?;
        let (a, b) = (x.clone(), scale.clone());
        Ok(cond(&positive, || Ok(vec![a.mul(&b)?]), || Ok(vec![a.neg()?]))?.remove(0))
    });
    assert_eq!(f.call(&tensor([1.0f32, 2.0])?)?.to_vec::<f32>()?, [3.0, 6.0]);
    assert_eq!(f.call(&tensor([-1.0f32, -2.0])?)?.to_vec::<f32>()?, [1.0, 2.0]);
    assert_eq!(f.traces(), 1);

    let powers = Function::many(|x| {
        let limit = tensor(100.0f32)?;
        let step = x[0].clone();
        while_loop(
            &[x[0].clone(), tensor(0)?],
            |s| s[0].less(&limit),
            |s| Ok(vec![s[0].mul(&step)?, (&s[1] + 1.0)?]),
        )
    });
    let out = powers.call_many(&[&tensor(3.0f32)?])?;
    assert_eq!((out[0].item::<f32>()?, out[1].item::<i32>()?), (243.0, 4));
    Ok(())
}

#[test]
fn a_loop_goes_on_from_a_view_that_its_body_gives() -> Result<()> {
    let x = constant(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[3, 3])?;
    for trips in 0..5 {
        let turned = move |x: &Tensor| {
            let (limit, none) = (tensor(trips)?, tensor(0)?);
            let body = |s: &[Tensor]| {
                let turned = s[0].transpose(&[])?.slice(&[Span::ALL.by(-1)])?;
                Ok(vec![turned, (&s[1] + 1.0)?])
            };
            Ok(while_loop(&[x.clone(), none], |s| s[1].less(&limit), body)?.remove(0))
        };
        let made = Function::new(turned).call(&x)?;
        assert_eq!(made.to_vec::<f32>()?, turned(&x)?.to_vec::<f32>()?, "{trips} quarter turns");
    }
    Ok(())
}

#[test]
fn reductions_give_the_same_bits_however_their_input_lies() -> Result<()> {
    let numbers: Vec<f32> = (0..40 * 70).map(|i| (i as f32 * 0.7).sin() * (i % 13) as f32).collect();
    let view = constant(&numbers, &[40, 70])?.transpose(&[])?;
    let dense = situ_tensor::apply_op(situ_ir::ops::Dense, &[&view])?.remove(0);
    use situ_ir::ops::ReduceKind::{ArgMax, ArgMin, Max, Mean, Min, Prod, Sum};
    let _here = device("/CPU:0")?;
    for kind in [Sum, Mean, Prod, Max, Min, ArgMax, ArgMin] {
        for axis in [0, 1] {
            let reduce = move |x: &Tensor| x.reduce(kind, &[axis], false);
            let want = reduce(&dense)?.to_bytes()?;
            assert_eq!(reduce(&view)?.to_bytes()?, want, "{kind:?} over {axis}");
            let function = Function::new(reduce);
            assert_eq!(function.call(&view)?.to_bytes()?, want, "{kind:?} over {axis} in a function");
        }
    }
    Ok(())
}

#[test]
fn reading_a_traced_value_is_an_error_that_says_why() {
    let f = Function::new(|x| {
        let text = x.item::<f32>().unwrap_err().to_string();
        assert!(text.contains("being traced") && text.contains("cond"), "{text}");
        assert_eq!(x.device(), DeviceId::UNDECIDED);
        x.neg()
    });
    f.call(&tensor(1.0f32).unwrap()).unwrap();
    let escaped = std::sync::Arc::new(std::sync::Mutex::new(None));
    let keep = escaped.clone();
    let g = Function::new(move |x| {
        *keep.lock().unwrap() = Some(x.clone());
        x.neg()
    });
    g.call(&tensor(1.0f32).unwrap()).unwrap();
    let stale = escaped.lock().unwrap().take().unwrap();
    assert!(stale.neg().is_err());
}

#[test]
fn nested_functions_become_part_of_the_outer_one() -> Result<()> {
    let inner = std::sync::Arc::new(Function::new(|x| x.square()));
    let used = inner.clone();
    let outer = Function::new(move |x| used.call(&used.call(x)?)?.neg());
    assert_eq!(outer.call(&tensor(2.0f32)?)?.item::<f32>()?, -16.0);
    assert_eq!(inner.traces(), 0);
    Ok(())
}

#[test]
fn random_numbers_differ_from_call_to_call_and_errors_name_their_line() -> Result<()> {
    let noise = Function::new(|x| x.add(&random::normal(&[3])?));
    let zero = tensor([0.0f32; 3])?;
    assert_ne!(noise.call(&zero)?.to_vec::<f32>()?, noise.call(&zero)?.to_vec::<f32>()?);
    let pick = Function::new2(|x, i| x.gather(i, 0));
    let error = pick.call2(&zero, &tensor([7])?).unwrap_err().to_string();
    assert!(error.contains("gather") && error.contains("functions.rs"), "{error}");
    assert!(pick.call2(&zero, &tensor([1])?).is_ok());
    Ok(())
}

#[test]
fn a_scope_inside_a_function_wins_over_the_one_around_the_call() -> Result<()> {
    if !has_gpu() {
        return Ok(());
    }
    let f = Function::new(|x| {
        let squared = with_device("/GPU:0", || x.square())?;
        with_device("/CPU:0", || squared.mean(&[]))
    });
    let x = random::normal(&[100, 100])?;
    let expected = x.square()?.mean(&[])?.item::<f32>()?;
    let _around = device("/CPU:0")?;
    let mean = f.call(&x)?;
    assert!((mean.item::<f32>()? - expected).abs() < 1e-5);
    assert_eq!(mean.device(), DeviceId::CPU0);
    let places = f.places(&[&x])?;
    let on = |name: &str| places.iter().find(|p| p.name == name).map(|p| p.device);
    assert_eq!((on("square"), on("mean")), (Some(DeviceId::gpu(0)), Some(DeviceId::CPU0)));
    let (_, events) = f.call_recorded(&[&x])?;
    let copies: Vec<_> = events.iter().filter(|e| matches!(e.kind, EventKind::Copy { .. })).collect();
    assert_eq!(copies.len(), 2, "the input goes up once and the squares come down once: {copies:?}");
    Ok(())
}

#[test]
fn results_do_not_depend_on_where_the_ops_run() -> Result<()> {
    let program = |first: &'static str, second: &'static str| {
        Function::many(move |x| {
            let a = with_device(first, || x[0].matmul(&x[1]))?;
            let b = with_device(second, || a.tanh()?.add(&x[2]))?;
            let c = with_device(first, || where_(&b.greater(&a)?, &b, &a))?;
            Ok(vec![c.transpose(&[])?, b.sum(&[0])?])
        })
    };
    let inputs = [random::normal(&[8, 6])?, random::normal(&[6, 5])?, random::normal(&[5])?];
    let inputs: Vec<_> = inputs.iter().collect();
    let expected: Vec<Vec<f32>> =
        program("/CPU:0", "/CPU:0").call_many(&inputs)?.iter().map(|t| t.to_vec()).collect::<Result<_>>()?;
    if has_gpu() {
        for (first, second) in [("/GPU:0", "/CPU:0"), ("/CPU:0", "/GPU:0"), ("/GPU:0", "/GPU:0")] {
            let got = program(first, second).call_many(&inputs)?;
            for (got, expected) in got.iter().zip(&expected) {
                for (g, e) in got.to_vec::<f32>()?.iter().zip(expected) {
                    assert!((g - e).abs() < 1e-5, "{first} {second}: {g} {e}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_call_takes_the_memory_that_was_planned_and_gives_it_back() -> Result<()> {
    let runtime = situ_testkit::machines::cpu();
    situ_tensor::with_runtime(&runtime, || {
        let f = Function::many(|x| {
            let a = x[0].matmul(&x[1])?;
            let b = a.softmax(-1)?.matmul(&a)?;
            Ok(vec![b.sum(&[0])?, a.transpose(&[])?.matmul(&b)?])
        });
        let inputs = [random::normal(&[64, 64])?, random::normal(&[64, 64])?];
        let inputs: Vec<_> = inputs.iter().collect();
        f.call_many(&inputs)?;
        let arena = f.plan(&inputs)?.arenas[0].1;
        assert!(arena >= 3 * 64 * 64 * 4, "{arena}");
        let cpu = runtime.logical_device(&DeviceId::CPU0.spec())?;
        let before = cpu.memory_info().in_use;
        let out = f.call_many(&inputs)?;
        let results: usize = out.iter().map(|t| (t.tensor_type().bytes()).next_multiple_of(64)).sum();
        assert_eq!(cpu.memory_info().in_use, before + results);
        // The peak is the largest ever: that of the first call at the latest.
        assert_eq!(cpu.memory_info().peak, before + arena + results);
        Ok(())
    })
}

#[test]
fn a_chain_of_elementwise_ops_runs_in_one_buffer() -> Result<()> {
    let runtime = situ_testkit::machines::cpu();
    situ_tensor::with_runtime(&runtime, || {
        let chain = |x: &situ_tensor::Tensor| {
            let mut y = x.softmax(-1)?;
            for _ in 0..5 {
                y = y.tanh()?.add(x)?;
            }
            y.exp()?.sum(&[])
        };
        let f = Function::new(chain).without_passes();
        let x = random::normal(&[100, 100])?;
        assert_eq!(
            f.call(&x)?.to_vec::<f32>()?,
            chain(&x)?.to_vec::<f32>()?,
            "the same kernels, the same bits"
        );
        let one = (100 * 100 * 4usize).next_multiple_of(64);
        assert!(f.plan(&[&x])?.arenas[0].1 < 2 * one, "{:?}", f.plan(&[&x])?);
        // What is read again later is not written over.
        let g = Function::new(|x| {
            let y = x.tanh()?;
            y.exp()?.add(&y)
        });
        let g = g.without_passes();
        assert_eq!(g.call(&x)?.to_vec::<f32>()?, x.tanh()?.exp()?.add(&x.tanh()?)?.to_vec::<f32>()?);
        Ok(())
    })
}

#[test]
fn an_explanation_has_every_op_its_reason_and_what_another_device_would_cost() -> Result<()> {
    use situ_testkit::{machines, simulated::SimulatedGpu};
    let runtime = machines::cpu_and(&[&SimulatedGpu::new()]);
    situ_tensor::with_runtime(&runtime, || {
        let f = Function::new(|x| {
            let y = x.matmul(x)?.relu()?;
            with_device("/CPU:0", || y.tanh()?.add(x)?.sum(&[]))
        });
        let x = with_device("/CPU:0", || random::normal(&[600, 600]))?;
        let why = f.explain(&[&x])?;
        let op = |name: &str| why.ops.iter().find(|o| o.place.name == name).expect("it is listed");
        assert_eq!(op("matmul").place.device, DeviceId::gpu(0), "{why}");
        assert_eq!(op("matmul").place.reason.rule(), situ_core::Rule::Faster);
        assert_eq!(op("matmul").alternatives[0].device, DeviceId::CPU0);
        assert!(op("matmul").alternatives[0].seconds > 0.0, "{why}");
        assert_eq!(
            (op("tanh").place.requested.to_string(), op("tanh").place.fused),
            ("/device:CPU:0".into(), true)
        );
        assert!(op("tanh").alternatives.is_empty(), "a scope leaves no alternative");
        assert_eq!(why.copies.len(), 2, "x goes up, the product comes down: {why}");
        assert!(why.lower_bound > 0.0 && why.lower_bound <= why.predicted);
        let text = why.to_string();
        for part in ["expected:", "matmul", "in the same kernel", "copy CPU:0 -> GPU:0", "memory of GPU:0"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        Ok(())
    })
}

#[test]
fn an_explanation_says_what_the_plan_says_and_its_columns_hold_for_long_names() -> Result<()> {
    // A GPU so slow that what is measured is far from its model, and placed by the model alone.
    let runtime = cpu_and(&[&SimulatedGpu::new().delay(Duration::from_millis(2))]);
    runtime.set_deterministic(true)?;
    with_runtime(&runtime, || {
        let f = Function::new(|x| {
            let y = x.matmul(x)?;
            let _block = name_scope("a_block_with_a_long_name");
            let _layer = name_scope("and_a_layer_within_it");
            y.matmul(x)?.tanh()?.sum(&[])
        });
        let x = with_device("/CPU:0", || random::normal(&[600, 600]))?;
        for _ in 0..6 {
            f.call(&x)?.item::<f32>()?;
        }
        let (why, plan) = (f.explain(&[&x])?, f.plan(&[&x])?);
        assert_eq!(why.expected, plan.predicted, "both go by what was measured");
        assert!(why.expected > why.predicted, "{} and {}", why.expected, why.predicted);
        let text = why.to_string();
        let [now, placed] = [why.expected, why.predicted].map(situ_core::reason::seconds);
        assert!(
            text.starts_with(&format!("expected: {now} a call, by what was measured; {placed} when")),
            "{text}"
        );
        let ops: Vec<&str> = text.lines().skip(1).take(why.ops.len()).collect();
        assert!(
            ops.iter().any(|line| line.contains("a_block_with_a_long_name/and_a_layer_within_it/")),
            "{text}"
        );
        // Behind the names of devices.
        let columns: Vec<Option<usize>> = ops.iter().map(|line| line.find(" GPU:0 ")).collect();
        assert!(columns.iter().all(|at| at.is_some() && *at == columns[0]), "{text}");
        Ok(())
    })
}

#[test]
fn a_function_is_planned_for_a_machine_that_is_not_there() -> Result<()> {
    let profile = "
        name = \"a desktop\"
        source = \"made up\"
        [[machine.devices]]
        name = \"CPU:0\"
        [[machine.devices]]
        name = \"GPU:0\"
        memory = 8e9
        [[machine.links]]
        from = \"CPU:0\"
        to = \"GPU:0\"
        latency = 1e-5
        bandwidth = 2e10
        [[machine.links]]
        from = \"GPU:0\"
        to = \"CPU:0\"
        latency = 1e-5
        bandwidth = 2e10
        [figures.\"CPU:0\"]
        flops = 1e12
        bandwidth = 5e10
        [figures.\"GPU:0\"]
        flops = 2e13
        bandwidth = 5e11
        launch = 5e-6
    ";
    let profile = situ_runtime::function::Profile::from_toml(profile).expect("a profile");
    let runtime = situ_testkit::machines::cpu();
    situ_tensor::with_runtime(&runtime, || {
        let f = Function::new(|x| with_device("/CPU:0", || x.matmul(x)?.matmul(x)?.sum(&[])));
        let free = Function::new(|x| x.matmul(x)?.matmul(x)?.sum(&[]));
        let x = random::normal(&[1000, 1000])?;
        let device = |f: &Function| -> Result<String> {
            let answer = f.plan_for(&profile, &[&x])?;
            assert!(answer.makespan > 0.0 && answer.lower_bound <= answer.makespan);
            let product = f.cost_graph(&[&x])?.nodes.iter().find(|n| n.name == "matmul").map(|n| n.id);
            Ok(answer.nodes.into_iter().find(|n| Some(n.id) == product).expect("it has a product").device)
        };
        assert_eq!(device(&free)?, "GPU:0");
        assert_eq!(device(&f)?, "CPU:0", "a scope holds there too");
        Ok(())
    })
}

#[test]
fn the_ledger_has_the_time_of_a_read_back_whether_it_was_asked_for_ahead_or_not() -> Result<()> {
    let slow = SimulatedGpu::new().delay(Duration::from_millis(5));
    for gpu in [slow.clone(), slow.without_asking()] {
        let runtime = cpu_and(&[&gpu]);
        with_runtime(&runtime, || -> Result<()> {
            let x = with_device("/CPU:0", || tensor([[0.1f32, 0.2], [0.3, -0.4]]))?;
            let f = Function::new(|x| {
                let product = with_device("/GPU:0", || x.matmul(x))?;
                with_device("/CPU:0", || product.exp())
            });
            f.call(&x)?;
            let ledger = runtime.ledger();
            let back = ledger.entries.iter().find(|e| e.to == CPU).expect("the product is read back");
            assert_eq!(back.count, 1);
            assert!(back.seconds >= 0.005, "{back:?}: it waits for the product");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn a_convolution_with_bias_and_activation_gives_the_bits_of_its_ops() -> Result<()> {
    let _cpu = device("/CPU:0")?;
    let odd = [f32::NAN, f32::INFINITY, -0.0, 0.0, -1.0, 0.5];
    for last in [false, true] {
        let dims = |list: [usize; 4]| {
            if last { [list[0], list[2], list[3], list[1]] } else { list }
        };
        // One channel, as the first layer of a network has; many; one filter for each channel.
        for (batch, channels, filters, groups) in [(3, 1, 32, 1), (2, 32, 70, 1), (2, 20, 20, 20)] {
            let generator = random::Generator::new(7);
            let normal = |dims: &[usize]| generator.normal(dims, 0.0, 1.0, DType::F32);
            let x = normal(&dims([batch, channels, 13, 14]))?;
            let taken = channels / groups;
            let filter = if last { [3, 3, taken, filters] } else { [filters, taken, 3, 3] };
            let filter = normal(&filter)?;
            let mut bias = normal(&[filters])?.to_vec::<f32>()?;
            bias[..odd.len()].copy_from_slice(&odd);
            let bias = tensor(bias)?.reshape(if last { &[-1][..] } else { &[-1, 1, 1] })?;
            let format = if last { Format::ChannelsLast } else { Format::ChannelsFirst };
            let windows = Windows { groups, format, ..Windows::default() };
            for activation in ["none", "relu", "gelu"] {
                let layer = {
                    let (filter, bias) = (filter.clone(), bias.clone());
                    move |x: &Tensor| {
                        let sum = x.conv2d(&filter, &windows)?.add(&bias)?;
                        match activation {
                            "relu" => sum.relu(),
                            "gelu" => sum.gelu(),
                            _ => Ok(sum),
                        }
                    }
                };
                let eager = layer(&x)?.to_vec::<f32>()?;
                let function = Function::new(layer);
                let compiled = function.call(&x)?.to_vec::<f32>()?;
                let joined = function.optimized_graph(&[&x])?.to_string();
                assert!(joined.contains("conv2d_bias"), "{joined}");
                // A NaN may have any bits.
                let bits = |v: &f32| if v.is_nan() { 1 } else { v.to_bits() };
                assert!(
                    compiled.iter().map(bits).eq(eager.iter().map(bits)),
                    "{activation}, channels last: {last}, {groups} groups"
                );
            }
        }
    }
    Ok(())
}
