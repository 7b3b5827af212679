//! Memory in proportion: what functions, variables and views hold, whatever the order of shapes.

use situ_core::{DType, DeviceSpec, Result};
use situ_runtime::{MemoryInfo, Runtime};
use situ_tensor::{Function, Tensor, Variable, ones, with_device, with_runtime, zeros};
use situ_testkit::machines::{cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

fn info(runtime: &Runtime, name: &str) -> MemoryInfo {
    runtime.memory_info(&name.parse::<DeviceSpec>().expect("a valid name")).expect("a device of that name")
}

/// A runtime of the CPU alone that says nothing.
fn quiet() -> Runtime {
    let runtime = cpu();
    runtime.set_listener(Some(Box::new(|_| ())));
    runtime
}

#[test]
fn three_hundred_growing_shapes_reserve_no_more_than_twice_the_peak() -> Result<()> {
    let runtime = quiet();
    with_runtime(&runtime, || {
        let f = Function::new(|x| x.matmul_transposed(x, false, true)?.softmax(-1)?.matmul(x));
        for n in 0..300 {
            f.call(&ones(&[1000 + n, 4], DType::F32)?)?;
            let now = info(&runtime, "/CPU:0");
            assert!(now.reserved <= 2 * now.peak + (64 << 20), "after {n} shapes: {now:?}");
        }
        Ok(())
    })
}

#[test]
fn a_captured_tensor_is_on_another_device_once_for_all_signatures() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let table = with_device("/CPU:0", || ones(&[1 << 20], DType::F32))?;
        let bytes = table.tensor_type().bytes();
        let captured = table.clone();
        let sum = Function::new(move |x| x.add(&captured.mul(&x.sum(&[])?)?.sum(&[])?));
        // A view of it is made dense once, too, and copied once.
        let turned = table.reshape(&[1 << 10, 1 << 10])?.transpose(&[])?;
        let product = Function::new(move |x| x.add(&turned.mul(&x.sum(&[])?)?.sum(&[])?));
        for n in 1..=6usize {
            let x = with_device("/GPU:0", || ones(&[n], DType::F32))?;
            for f in [&sum, &product] {
                let y = with_device("/GPU:0", || f.call(&x))?;
                assert_eq!(y.to_vec::<f32>()?, vec![1.0 + (n << 20) as f32; n]);
            }
        }
        let [on_gpu, on_cpu] = ["/GPU:0", "/CPU:0"].map(|name| info(&runtime, name).in_use);
        assert!(on_gpu < 2 * bytes + (1 << 20), "{on_gpu} bytes on the GPU for two captures of {bytes}");
        assert!(on_cpu < 2 * bytes + (1 << 20), "{on_cpu} bytes on the CPU for {bytes} and a dense view");
        // The copies go with the functions that need them, not with the tensor.
        drop((sum, product));
        assert!(info(&runtime, "/GPU:0").in_use < 1 << 20);
        assert!(info(&runtime, "/CPU:0").in_use < bytes + (1 << 20));
        drop(table);
        Ok(())
    })
}

#[test]
fn a_variable_holds_no_more_than_its_value() -> Result<()> {
    for name in ["/CPU:0", "/GPU:0"] {
        let runtime = cpu_and(&[&SimulatedGpu::new()]);
        with_runtime(&runtime, || -> Result<()> {
            let _scope = situ_tensor::device(name)?;
            let big = || zeros(&[1 << 20], DType::F32);
            let front = Variable::new(&big()?.narrow(0, 0, 4)?)?;
            let middle = Variable::new(&big()?.narrow(0, 1000, 1004)?)?;
            let v = Variable::new(&zeros(&[4], DType::F32)?)?;
            v.assign(&big()?.narrow(0, 0, 4)?)?;
            let most = |what: &str| {
                let now = info(&runtime, name);
                assert!(now.in_use <= 64 << 10, "{name}, {what}: {now:?}");
            };
            most("by narrow");
            let stepped = Function::many({
                let v = v.clone();
                move |x| {
                    v.assign(&x[0].mul(&x[0])?.narrow(0, 0, 4)?)?;
                    Ok(vec![])
                }
            });
            stepped.call_many(&[&big()?])?;
            assert_eq!(v.value().to_vec::<f32>()?, [0.0; 4]);
            drop((front, middle));
            most("by a function");
            // What is most of its memory is not copied.
            let most_of_it = big()?;
            let held = Variable::new(&most_of_it.narrow(0, 0, 1 << 19)?)?;
            let now = info(&runtime, name).in_use;
            assert!(now < 5 << 20, "{now}");
            drop((held, most_of_it));
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn results_that_are_small_views_do_not_hold_what_they_are_views_of() -> Result<()> {
    let runtime = cpu();
    with_runtime(&runtime, || {
        let x = zeros(&[512, 512], DType::F32)?;
        let by = |body: fn(&Tensor) -> Result<Tensor>| Function::new(body);
        let functions = [
            by(|x| x.tanh()?.matmul(x)?.narrow(0, 0, 1)),
            by(|x| x.tanh()?.matmul(x)?.narrow(1, 3, 5)),
            by(|x| x.narrow(0, 7, 8)),
        ];
        let mut kept = Vec::new();
        for f in &functions {
            for _ in 0..4 {
                kept.push(f.call(&x)?);
            }
        }
        assert_eq!(kept[0].to_vec::<f32>()?, [0.0; 512]);
        drop(x);
        let now = info(&runtime, "/CPU:0");
        assert!(now.in_use < 256 << 10, "{now:?}");
        Ok(())
    })
}

#[test]
fn a_function_of_ever_new_shapes_holds_a_bounded_number_of_them() -> Result<()> {
    let runtime = quiet();
    with_runtime(&runtime, || {
        // The sum of a shape's own constant is computed once and held by the plan.
        let f = Function::new(|x| x.add(&ones(x.shape().dims(), x.dtype())?.tanh()?));
        for n in 1..=1500 {
            let x = zeros(&[n + 5000], DType::F32)?;
            assert_eq!(f.call(&x)?.shape().dims(), [n + 5000]);
        }
        let now = info(&runtime, "/CPU:0");
        assert!(now.live <= 600 && now.in_use <= 16 << 20, "{now:?}");
        Ok(())
    })
}
