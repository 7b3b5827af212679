//! One function called with many shapes: what is reused of the first compile gives what compiling anew gives,
//! to the bit, and is not reused where it would not.

mod buckets;
mod programs;

use situ_core::{DType, DeviceSpec, Result};
use situ_runtime::Runtime;
use situ_tensor::{
    Function, Span, Tape, Tensor, Variable, cond, constant, ones, random, tensor, while_loop, with_device,
    with_runtime, zeros,
};
use situ_testkit::machines::{cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;
use std::time::Duration;

/// Numbers that repeat late.
pub(crate) fn ramp(dims: &[usize], dtype: DType) -> Result<Tensor> {
    let count: usize = dims.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| ((i * 37 + 11) % 101) as f32 / 16.0 - 3.0).collect();
    constant(&numbers, dims)?.cast(dtype)
}

fn quiet(runtime: &Runtime) {
    runtime.set_listener(Some(Box::new(|_| {})));
}

/// Calls one function with every list of arguments in turn and a new one with each; gives how often the one
/// was traced.
fn alike(make: impl Fn() -> Function, calls: &[Vec<Tensor>]) -> Result<usize> {
    let one = make();
    for inputs in calls {
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let types: Vec<String> = inputs.iter().map(|t| t.tensor_type().to_string()).collect();
        let fresh = make();
        let (got, want) = (one.call_many(&inputs), fresh.call_many(&inputs));
        let (got, want) = match (got, want) {
            (Ok(got), Ok(want)) => (got, want),
            (Err(got), Err(want)) => {
                assert_eq!(got.to_string(), want.to_string(), "{types:?}");
                continue;
            }
            (got, want) => panic!("{types:?}: {got:?}, not {want:?}"),
        };
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.tensor_type(), want.tensor_type(), "{types:?}");
            assert_eq!(got.to_bytes()?, want.to_bytes()?, "{types:?}");
        }
        assert_eq!(one.optimized_graph(&inputs)?, fresh.optimized_graph(&inputs)?, "{types:?}");
    }
    Ok(one.traces())
}

fn rows(sizes: &[usize]) -> Result<Vec<Vec<Tensor>>> {
    sizes.iter().map(|&n| Ok(vec![ramp(&[n, 3], DType::F32)?])).collect()
}

const SIZES: &[usize] = &[4, 5, 1, 0, 3, 2, 300, 4, 7];

#[test]
fn what_asks_for_no_size_is_traced_once() -> Result<()> {
    with_runtime(&cpu(), || {
        let (w, b) = (ramp(&[3, 3], DType::F32)?, ramp(&[3], DType::F32)?);
        let dense = || {
            let (w, b) = (w.clone(), b.clone());
            Function::new(move |x| x.matmul(&w)?.bias_add(&b)?.relu()?.sub(&x.mean_keep(&[0])?)?.softmax(-1))
        };
        assert_eq!(alike(dense, &rows(SIZES)?)?, 1);
        // Given numbers are not sizes that anybody asked for; they may not fit.
        let given = || Function::new(|x| x.reshape(&[2, 6])?.add(&ones(&[6], DType::F32)?));
        assert!(alike(given, &rows(&[4, 5, 4, 0])?)? >= 1);
        Ok(())
    })
}

#[test]
fn what_asks_for_a_size_is_traced_for_each() -> Result<()> {
    let looks: &[fn(&Tensor) -> Result<Tensor>] = &[
        |x| if x.shape()[0] > 3 { x.neg() } else { x.exp() },
        |x| x.mul(&tensor(x.elements() as f32)?),
        |x| if x.tensor_type().bytes() > 40 { x.neg() } else { x.square() },
        |x| if x.layout().shape()[0] == 5 { x.neg() } else { x.square() },
        |x| if format!("{x:?}").contains('5') { x.neg() } else { x.square() },
        |x| x.reshape(&[-1])?.add(&tensor(1.0f32)?),
        |x| x.expand_dims(0)?.sum(&[1]),
        |x| x.squeeze(&[])?.neg(),
        |x| x.slice(&[Span::ALL.by(-1)]),
        |x| x.narrow(0, 0, 1).or_else(|_| x.neg()),
        // A product that does not fit is no product.
        |x| x.matmul(&ones(&[4, 4], DType::F32)?).or_else(|_| x.matmul(x)).or_else(|_| x.neg()),
        |x| {
            cond(&tensor(true)?, || Ok(vec![x.clone()]), || Ok(vec![ones(&[4, 3], DType::F32)?]))
                .map(|y| y[0].clone())
                .or_else(|_| x.exp())
        },
    ];
    with_runtime(&cpu(), || {
        quiet(&situ_tensor::current_runtime());
        for (n, look) in looks.iter().enumerate() {
            let make = || Function::new(*look);
            assert!(alike(make, &rows(SIZES)?)? > 1, "look {n}");
        }
        Ok(())
    })
}

#[test]
fn a_size_of_one_broadcasts_and_others_do_not() -> Result<()> {
    with_runtime(&cpu(), || {
        let make = || {
            Function::many(|x| {
                let sum = x[0].add(&x[1])?;
                Ok(vec![sum.mul(&x[0])?.sum(&[0])?, sum.maximum(&x[1])?, x[0].less(&x[1])?])
            })
        };
        let shapes: &[[[usize; 2]; 2]] = &[
            [[4, 3], [4, 3]],
            [[1, 3], [4, 3]],
            [[4, 1], [4, 3]],
            [[4, 3], [1, 1]],
            [[5, 3], [5, 3]],
            [[0, 3], [1, 3]],
            [[0, 3], [0, 3]],
            [[3, 4], [3, 4]],
            [[4, 3], [5, 3]],
            [[6, 6], [6, 1]],
            [[7, 5], [7, 1]],
            [[1, 1], [1, 1]],
        ];
        let pair = |[a, b]: &[[usize; 2]; 2]| Ok(vec![ramp(a, DType::F32)?, ramp(b, DType::F32)?]);
        let calls = shapes.iter().map(pair).collect::<Result<Vec<_>>>()?;
        alike(make, &calls)?;
        Ok(())
    })
}

#[test]
fn decisions_and_loops_hold_for_other_sizes() -> Result<()> {
    with_runtime(&cpu(), || {
        let make = || {
            Function::new(|x| {
                let total = x.sum(&[])?;
                let sides =
                    cond(&total.less(&tensor(0.0f32)?)?, || Ok(vec![x.neg()?]), || Ok(vec![x.square()?]))?;
                let limit = tensor(40.0f32)?;
                let grown = while_loop(
                    &[sides[0].clone(), tensor(1.0f32)?],
                    |s| s[1].less(&limit),
                    |s| Ok(vec![s[0].add(x)?, s[1].add(&s[1])?]),
                )?;
                grown[0].add(&grown[1])
            })
        };
        assert_eq!(alike(make, &rows(SIZES)?)?, 1);
        Ok(())
    })
}

#[test]
fn gradients_are_of_the_sizes_at_hand() -> Result<()> {
    with_runtime(&cpu(), || {
        let w = ramp(&[3, 2], DType::F32)?;
        let make = || {
            let w = w.clone();
            Function::many(move |inputs| {
                let tape = Tape::new();
                let (x, b) = (tape.watch(&inputs[0])?, tape.watch(&inputs[1])?);
                let y = x.add(&b)?.matmul(&w)?.tanh()?.mean(&[])?;
                Ok(tape.gradients(&y, [&x, &b])?.into_iter().flatten().collect())
            })
        };
        let mut calls = Vec::new();
        for &n in SIZES {
            for b in [1, n] {
                calls.push(vec![ramp(&[n, 3], DType::F32)?, ramp(&[b, 3], DType::F32)?]);
            }
        }
        alike(make, &calls)?;
        Ok(())
    })
}

#[test]
fn constants_that_follow_from_sizes_are_computed_for_each() -> Result<()> {
    with_runtime(&cpu(), || {
        // 3 for each element, which a pass finds out: the sum is another for each size.
        let counted = || Function::new(|x| x.sub(x)?.add(&tensor(3)?)?.sum(&[]));
        let made = || {
            Function::new(|x| {
                let n = x.shape()[0];
                ones(&[n, 3], DType::I32)?.sum(&[])?.add(&x.sum(&[])?)?.add(&zeros(&[n], DType::I32)?)
            })
        };
        let calls: Vec<Vec<Tensor>> =
            SIZES.iter().map(|&n| Ok(vec![ramp(&[n, 3], DType::I32)?])).collect::<Result<_>>()?;
        alike(counted, &calls)?;
        alike(made, &calls)?;
        let function = counted();
        for n in [4, 5, 6, 9] {
            assert_eq!(function.call(&ramp(&[n, 3], DType::I32)?)?.item::<i32>()?, 9 * n as i32);
        }
        Ok(())
    })
}

#[test]
fn random_numbers_are_drawn_anew_for_each_shape_and_call() -> Result<()> {
    with_runtime(&cpu(), || {
        let noise = Function::new(|x| random::uniform(&[64], 0.0, 1.0)?.add(&x.sum(&[])?));
        let mut seen: Vec<Vec<f32>> = Vec::new();
        for n in [4, 5, 4, 6, 5] {
            let drawn = noise.call(&zeros(&[n], DType::F32)?)?.to_vec()?;
            assert!(!seen.contains(&drawn));
            seen.push(drawn);
        }
        Ok(())
    })
}

#[test]
fn a_variable_takes_what_fits_it() -> Result<()> {
    with_runtime(&cpu(), || {
        let total = Variable::new(&zeros(&[1, 3], DType::F32)?)?;
        let held = total.clone();
        let add = Function::new(move |x| {
            held.assign(&held.value().add(&x.sum_keep(&[0])?)?)?;
            x.neg()
        });
        for n in [2, 3, 7, 1, 0] {
            add.call(&ones(&[n, 3], DType::F32)?)?;
        }
        assert_eq!(total.value().to_vec::<f32>()?, [13.0; 3]);
        assert_eq!(add.traces(), 1);
        // [1, 3] and [4, 1] broadcast to what the variable can't hold.
        let held = total.clone();
        let set = Function::new(move |x| {
            held.assign(&held.value().add(x)?)?;
            x.neg()
        });
        set.call(&ones(&[1, 3], DType::F32)?)?;
        let error = set.call(&ones(&[4, 1], DType::F32)?).expect_err("another shape").to_string();
        assert!(error.contains("the variable holds f32[1, 3]"), "{error}");
        set.call(&ones(&[1, 1], DType::F32)?)?;
        assert_eq!(total.value().to_vec::<f32>()?, [15.0; 3]);
        Ok(())
    })
}

#[test]
fn a_further_shape_is_placed_no_worse_than_on_one_device() -> Result<()> {
    let gpu = SimulatedGpu::new().immediate().delay(Duration::from_micros(200));
    let runtime = cpu_and(&[&gpu]);
    quiet(&runtime);
    with_runtime(&runtime, || {
        let make = || {
            Function::new(|x| {
                let mut y = x.clone();
                for _ in 0..6 {
                    y = y.matmul(&y)?.softmax(-1)?;
                }
                Ok(y)
            })
        };
        let function = make();
        for n in [4, 8, 700, 16, 900, 5] {
            let x = with_device("/CPU:0", || ramp(&[n, n], DType::F32))?;
            let plan = function.plan(&[&x])?;
            for scope in ["/CPU:0", "/GPU:0"] {
                let alone = with_device(scope, || make().plan(&[&x]))?;
                assert!(plan.predicted <= alone.predicted * 1.001, "{n} on {scope}: {plan:?}, {alone:?}");
            }
            let anew = make().plan(&[&x])?;
            assert!(plan.predicted <= anew.predicted * 1.05, "{n}: {plan:?}, {anew:?}");
            // What is said of how near the best it is holds on.
            let explained = function.explain(&[&x])?;
            assert!(explained.lower_bound <= explained.predicted * (1.0 + 1e-9));
        }
        assert_eq!(function.traces(), 1);
        Ok(())
    })
}

#[test]
fn two_hundred_batches_reserve_less_than_twice_the_largest() -> Result<()> {
    // Large enough for the slack that pools keep for small programs not to matter.
    const WIDTH: usize = 1 << 15;
    let network = || -> Result<Function> {
        let layer = |y: Tensor, _| y.add(&y.abs()?)?.sub(&y.mean_keep(&[-1])?);
        Function::new(move |x| (0..4).try_fold(x.clone(), layer)).without("fuse")
    };
    let call = |function: &Function, n: usize| function.call(&ones(&[n, WIDTH], DType::F32)?);
    let reserved = |runtime: &Runtime| -> Result<usize> {
        Ok(runtime.memory_info(&"/CPU:0".parse::<DeviceSpec>()?)?.reserved)
    };
    let alone = cpu();
    let need = with_runtime(&alone, || call(&network()?, 200).and_then(|_y| reserved(&alone)))?;
    let runtime = cpu();
    with_runtime(&runtime, || {
        let function = network()?;
        for n in 0..200 {
            call(&function, 1 + n * 77 % 200)?;
            let now = reserved(&runtime)?;
            assert!(now < 2 * need, "after {n} shapes {now} bytes; the largest call alone has {need}");
        }
        assert_eq!(function.traces(), 1);
        Ok(())
    })
}
