//! Tapes: what they watch, what they give, and where gradients run. The rules themselves are checked by the
//! op suite.

use situ_core::{DType, Result};
use situ_ir::Content;
use situ_tensor::{Function, Source, Tape, Tensor, Variable, cond, tensor, where_, while_loop, with_device};

fn numbers(tensor: &Option<Tensor>) -> Result<Vec<f32>> {
    tensor.as_ref().expect("there is a gradient").to_vec::<f32>()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.expect_err("an error").to_string()
}

#[test]
fn nested_tapes_give_higher_derivatives() -> Result<()> {
    // x⁴: 4x³, 12x², 24x
    let outer = Tape::new();
    let x = outer.watch(&tensor([1.0f32, -2.0, 0.5])?)?;
    let middle = Tape::new();
    let y = middle.watch(&x)?;
    let inner = Tape::new();
    let z = inner.watch(&y)?;
    let fourth = z.square()?.square()?;
    let first = inner.gradient(&fourth, &z)?;
    assert_eq!(numbers(&first)?, [4.0, -32.0, 0.5]);
    let second = middle.gradient(first.as_ref().unwrap(), &y)?;
    assert_eq!(numbers(&second)?, [12.0, 48.0, 3.0]);
    let third = outer.gradient(second.as_ref().unwrap(), &x)?;
    assert_eq!(numbers(&third)?, [24.0, -48.0, 12.0]);
    Ok(())
}

#[test]
fn second_derivatives_go_through_functions_of_elements_and_products() -> Result<()> {
    // Σ tanh(x·w)·exp(x), against differences of the first derivative.
    let first = |at: f64| -> Result<(f64, f64)> {
        let outer = Tape::new();
        let x = outer.watch(&tensor([[at, 0.7]])?)?;
        let inner = Tape::new();
        let z = inner.watch(&x)?;
        let w = tensor([[0.3f64, -1.0], [0.8, 0.4]])?;
        let y = z.matmul(&w)?.tanh()?.mul(&z.exp()?)?.softmax(-1)?.mul(&z)?.sum(&[])?;
        let by_x = inner.gradient(&y, &z)?.expect("connected").slice(&[(0..1).into(), (0..1).into()])?;
        let second = outer.gradient(&by_x, &x)?.expect("connected");
        Ok((by_x.to_vec::<f64>()?[0], second.to_vec::<f64>()?[0]))
    };
    let (above, below, second) = (first(0.4 + 1e-5)?.0, first(0.4 - 1e-5)?.0, first(0.4)?.1);
    assert!(((above - below) / 2e-5 - second).abs() < 1e-8, "{second} and {}", (above - below) / 2e-5);
    Ok(())
}

#[test]
fn what_has_no_influence_has_no_gradient_and_an_op_without_one_is_named() -> Result<()> {
    let data = tensor([[1.0f32, 3.0], [2.0, 0.5]])?;
    let tape = Tape::persistent();
    let x = tape.watch(&data)?;
    let other = tape.watch(&data)?;
    let unread = Variable::new(&data)?;
    let y = x.square()?.sum(&[])?;
    let by = tape.gradients(&y, [Source::from(&other), Source::from(&unread), Source::from(&x)])?;
    assert!(by[0].is_none() && by[1].is_none() && by[2].is_some());
    let best = x.argmax(&[1])?.cast(DType::F32)?;
    assert!(message(tape.gradient(&best.sum(&[])?, &x)).contains("argmax"));
    assert!(message(tape.gradient(&x.floor()?.sum(&[])?, &x)).contains("floor"));
    let mask = x.greater(&tensor(1.0f32)?)?.cast(DType::F32)?;
    assert!(message(tape.gradient(&mask, &x)).contains("greater"));
    assert!(
        message(tape.gradient(&x.argmax(&[1])?, &x)).contains("argmax"),
        "its gradient is asked for directly"
    );
    // Beside a way that has a gradient, one that has none adds nothing.
    let kept = where_(&x.greater(&tensor(1.0f32)?)?, &x, &tensor(0.0f32)?)?;
    assert_eq!(numbers(&tape.gradient(&kept, &x)?)?, [0.0, 1.0, 1.0, 0.0]);
    let fraction = x.sub(&x.floor()?)?;
    assert_eq!(numbers(&tape.gradient(&fraction, &x)?)?, [1.0; 4]);
    Ok(())
}

#[test]
fn wrong_uses_of_a_tape_say_what_to_do() -> Result<()> {
    let tape = Tape::new();
    assert!(message(tape.watch(&tensor([1, 2])?)).contains("f32 or f64"));
    let data = tensor([1.0f32, 2.0])?;
    let x = tape.watch(&data)?;
    let y = x.exp()?;
    assert!(message(tape.gradient(&y, &data)).contains("what watch returned"));
    let upstream = tensor([1.0f32])?;
    assert!(message(tape.gradients_from(&[(&y, &upstream)], [&x])).contains("the target's shape"));
    tape.gradient(&y, &x)?;
    assert!(message(tape.gradient(&y, &x)).contains("persistent"));
    assert!(message(tape.watch(&data)).contains("persistent"));
    Ok(())
}

#[test]
fn stopped_gradients_are_constants_and_vectors_take_gradients_of_their_own() -> Result<()> {
    let tape = Tape::persistent();
    let x = tape.watch(&tensor([1.0f32, 2.0, 3.0])?)?;
    let y = x.mul(&x.stop_gradient()?)?;
    assert_eq!(numbers(&tape.gradient(&y, &x)?)?, [1.0, 2.0, 3.0]);
    assert!(tape.gradient(&x.stop_gradient()?.exp()?, &x)?.is_none());
    let upstream = tensor([1.0f32, 10.0, 100.0])?;
    let square = x.square()?;
    let by = tape.gradients_from(&[(&square, &upstream), (&y, &upstream)], [&x])?;
    assert_eq!(numbers(&by[0])?, [3.0, 60.0, 900.0]);
    // By what was computed on the way.
    let sum = square.sum(&[])?;
    assert_eq!(numbers(&tape.gradient(&sum, &square)?)?, [1.0; 3]);
    assert_eq!(numbers(&tape.gradient(&square, &square)?)?, [1.0; 3]);
    Ok(())
}

#[test]
fn every_read_of_a_variable_counts_and_assignments_do_not() -> Result<()> {
    let v = Variable::new(&tensor([2.0f32, 3.0])?)?;
    let tape = Tape::new();
    let before = v.value().square()?;
    v.assign(&tensor([10.0f32, 10.0])?)?;
    let y = before.add(&v.value().mul(&v.value())?)?;
    assert_eq!(numbers(&tape.gradient(&y, &v)?)?, [24.0, 26.0]);
    Ok(())
}

#[test]
fn casts_ties_and_zeros_have_the_gradients_that_make_sense() -> Result<()> {
    let tape = Tape::persistent();
    let x = tape.watch(&tensor([2.0f32, 0.0, 5.0])?)?;
    let wide = x.cast(DType::F64)?.square()?;
    assert_eq!(numbers(&tape.gradient(&wide, &x)?)?, [4.0, 0.0, 10.0]);
    assert_eq!(numbers(&tape.gradient(&x.prod(&[])?, &x)?)?, [0.0, 10.0, 0.0], "one zero");
    let two = tape.watch(&tensor([0.0f32, 0.0, 5.0])?)?;
    assert_eq!(numbers(&tape.gradient(&two.prod(&[])?, &two)?)?, [0.0; 3], "two zeros");
    let equal = tape.watch(&tensor([4.0f32, 1.0, 4.0])?)?;
    assert_eq!(numbers(&tape.gradient(&equal.max(&[])?, &equal)?)?, [0.5, 0.0, 0.5], "equals share");
    let zero = tape.watch(&tensor([0.0f32])?)?;
    assert_eq!(numbers(&tape.gradient(&zero.pow(&tensor([0.0f32])?)?, &zero)?)?, [0.0]);
    assert_eq!(numbers(&tape.gradient(&zero.relu()?, &zero)?)?, [0.0]);
    Ok(())
}

/// One step of least squares by hand: the loss, and the weights after it.
fn step(w: &Variable, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let tape = Tape::new();
    let loss = x.matmul(&w.value())?.sub(y)?.square()?.mean(&[])?;
    let by_w = tape.gradient(&loss, w)?.expect("the loss depends on w");
    w.assign_sub(&(&by_w * 0.1)?)?;
    Ok(loss)
}

#[test]
fn a_training_step_is_the_same_eagerly_and_as_a_function() -> Result<()> {
    let x = tensor([[1.0f32, 0.5], [-0.3, 2.0], [0.7, 0.7]])?;
    let y = tensor([[1.0f32], [2.0], [-1.0]])?;
    let start = tensor([[0.0f32], [0.0]])?;
    let (eager, compiled) = (Variable::new(&start)?, Variable::new(&start)?);
    let held = compiled.clone();
    let train = Function::new2(move |x, y| step(&held, x, y));
    let mut losses = Vec::new();
    for _ in 0..20 {
        let a = step(&eager, &x, &y)?.item::<f32>()?;
        let b = train.call2(&x, &y)?.item::<f32>()?;
        assert!((a - b).abs() <= 1e-6 * a.abs(), "{a} and {b}");
        losses.push(a);
    }
    assert!(losses.windows(2).all(|w| w[1] < w[0]), "{losses:?}");
    assert_eq!(train.traces(), 1);
    let (a, b) = (eager.value().to_vec::<f32>()?, compiled.value().to_vec::<f32>()?);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} and {b:?}");
    Ok(())
}

fn branches(x: &Tensor) -> Result<Tensor> {
    let positive = x.sum(&[])?.greater(&tensor(0.0f32)?)?;
    let made = cond(
        &positive,
        || Ok(vec![x.square()?, x.stop_gradient()?.mul(x)?]),
        || Ok(vec![x.exp()?, x.floor()?]),
    )?;
    made[0].add(&made[1])?.sum(&[])
}

#[test]
fn gradients_go_through_the_branch_that_ran_in_a_function_too() -> Result<()> {
    let derive = |x: &Tensor| {
        let tape = Tape::new();
        let x = tape.watch(x)?;
        Ok(tape.gradient(&branches(&x)?, &x)?.expect("connected"))
    };
    let compiled = Function::new(derive);
    for values in [[1.0f32, 2.0], [-1.0, -0.5]] {
        let x = tensor(values)?;
        let expected: Vec<f32> = if values[0] > 0.0 {
            values.iter().map(|v| 2.0 * v + v).collect()
        } else {
            values.iter().map(|v| v.exp()).collect()
        };
        for found in [derive(&x)?, compiled.call(&x)?] {
            let found = found.to_vec::<f32>()?;
            let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(near, "{found:?}, expected {expected:?}");
        }
    }
    Ok(())
}

#[test]
fn a_condition_can_be_differentiated_twice() -> Result<()> {
    let second = Function::new(|x| {
        let outer = Tape::new();
        let x = outer.watch(x)?;
        let inner = Tape::new();
        let z = inner.watch(&x)?;
        let up = z.sum(&[])?.greater(&tensor(0.0f32)?)?;
        let y = cond(&up, || Ok(vec![z.mul(&z.square()?)?]), || Ok(vec![z.square()?]))?;
        let first = inner.gradient(&y[0], &z)?.expect("connected");
        Ok(outer.gradient(&first, &x)?.expect("connected"))
    });
    assert_eq!(second.call(&tensor([2.0f32])?)?.to_vec::<f32>()?, [12.0]);
    assert_eq!(second.call(&tensor([-2.0f32])?)?.to_vec::<f32>()?, [2.0]);
    Ok(())
}

#[test]
fn a_loop_is_differentiated_outside_of_functions_and_is_a_named_error_inside() -> Result<()> {
    let derive = |x: &Tensor| {
        let tape = Tape::new();
        let x = tape.watch(x)?;
        let limit = tensor(100.0f32)?;
        let end = while_loop(std::slice::from_ref(&x), |s| s[0].less(&limit), |s| Ok(vec![s[0].square()?]))?;
        Ok(tape.gradient(&end[0], &x)?.expect("connected"))
    };
    // 3 → 9 → 81 → 6561 = x⁸
    assert_eq!(derive(&tensor(3.0f32)?)?.item::<f32>()?, 8.0 * 2187.0);
    let error = message(Function::new(derive).call(&tensor(3.0f32)?));
    assert!(error.contains("while_loop"), "{error}");
    Ok(())
}

#[test]
fn a_function_called_under_a_tape_is_differentiated() -> Result<()> {
    let w = Variable::new(&tensor([2.0f32, 5.0])?)?;
    let held = w.clone();
    let f = Function::new(move |x| x.mul(&held.value())?.square());
    let tape = Tape::new();
    let x = tape.watch(&tensor([1.0f32, 3.0])?)?;
    let y = f.call(&x)?.sum(&[])?;
    let by = tape.gradients(&y, [Source::from(&x), Source::from(&w)])?;
    assert_eq!(numbers(&by[0])?, [8.0, 150.0]);
    assert_eq!(numbers(&by[1])?, [4.0, 90.0]);
    Ok(())
}

#[test]
fn a_gradient_has_the_scope_of_the_op_it_is_of_and_sums_go_with_the_variable() -> Result<()> {
    let w = with_device("/CPU:0", || Variable::new(&tensor([[1.0f32, 2.0], [3.0, 4.0]])?))?;
    let held = w.clone();
    let f = Function::new(move |x| {
        let tape = Tape::new();
        let w = held.value();
        let scoped = with_device("/GPU", || x.matmul(&w))?;
        let free = w.tanh()?;
        let loss = scoped.sum(&[])?.add(&free.sum(&[])?)?;
        Ok(with_device("/CPU:7", || tape.gradient(&loss, &held))?.expect("connected"))
    });
    let x = tensor([[1.0f32, 1.0]])?;
    let graph = f.graph(&[&x])?;
    let asked = |name: &str| -> Vec<String> {
        let named =
            graph.nodes().iter().filter(|n| matches!(&n.content, Content::Op(op) if op.name() == name));
        named.map(|n| format!("{:#}", n.request.spec)).collect()
    };
    assert_eq!(asked("matmul"), ["GPU", "GPU"], "forwards and backwards\n{graph}");
    assert_eq!(asked("square"), [""], "of tanh, which has no scope\n{graph}");
    assert_eq!(asked("add"), ["", "CPU:0"], "the loss; the two gradients by the variable\n{graph}");
    Ok(())
}

#[test]
fn tapes_of_several_threads_share_variables_without_sharing_gradients() -> Result<()> {
    let variables: Vec<Variable> =
        (0..4).map(|n| Variable::new(&tensor([n as f32 + 1.0])?)).collect::<Result<_>>()?;
    std::thread::scope(|threads| {
        for t in 0..3usize {
            let variables = &variables;
            threads.spawn(move || {
                for round in 0..50 {
                    let tape = Tape::new();
                    let mut y = tensor([0.0f32]).unwrap();
                    // Each thread reads them in its own order.
                    for n in 0..4 {
                        let v = variables[(n * (t + 1) + round) % 4].value();
                        y = y.add(&v.square().unwrap()).unwrap();
                    }
                    let by = tape.gradients(&y, variables).unwrap();
                    for (n, gradient) in by.iter().enumerate() {
                        let reads = (0..4).filter(|k| (k * (t + 1) + round) % 4 == n).count();
                        match gradient {
                            None => assert_eq!(reads, 0),
                            Some(g) => {
                                let expected = reads as f32 * 2.0 * (n as f32 + 1.0);
                                assert_eq!(g.to_vec::<f32>().unwrap(), [expected]);
                            }
                        }
                    }
                }
            });
        }
    });
    Ok(())
}
