//! What closures make inside a condition or a loop, and how often they run.

use crate::{everywhere, is_up, only};
use situ_core::{DType, Result};
use situ_tensor::{Function, Tape, Tensor, cond, tensor, while_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A helper as people write them: it makes the constant that it needs.
fn shifted(x: &Tensor, by: f32) -> Result<Tensor> {
    x.add(&tensor(by)?)
}

#[test]
fn both_sides_may_make_constants() -> Result<()> {
    everywhere(|| {
        let f = Function::new(|x| {
            let sides = cond(
                &is_up(x)?,
                || Ok(vec![shifted(x, 10.0)?]),
                || Ok(vec![x.mul(&tensor([2.0f32, 4.0])?)?.mul(&tensor(0.5f32)?)?]),
            )?;
            Ok(only(sides))
        });
        assert_eq!(f.call(&tensor([1.0f32, 2.0])?)?.to_vec::<f32>()?, [11.0, 12.0]);
        assert_eq!(f.call(&tensor([-1.0f32, -2.0])?)?.to_vec::<f32>()?, [-1.0, -4.0]);
        assert_eq!(f.traces(), 1);
        Ok(())
    })
}

#[test]
fn a_side_may_give_a_constant_as_it_is() -> Result<()> {
    everywhere(|| {
        let f = Function::new(|x| {
            Ok(only(cond(&is_up(x)?, || Ok(vec![tensor([7.0f32, 8.0])?]), || Ok(vec![x.clone()]))?))
        });
        assert_eq!(f.call(&tensor([1.0f32, 2.0])?)?.to_vec::<f32>()?, [7.0, 8.0]);
        assert_eq!(f.call(&tensor([-1.0f32, -2.0])?)?.to_vec::<f32>()?, [-1.0, -2.0]);
        Ok(())
    })
}

#[test]
fn the_condition_and_the_body_of_a_loop_may_make_constants() -> Result<()> {
    everywhere(|| {
        let f = Function::many(|x| {
            while_loop(
                &[x[0].clone(), tensor(0)?],
                |s| s[0].sum(&[])?.less(&tensor(100.0f32)?),
                |s| Ok(vec![shifted(&s[0], 10.0)?, s[1].add(&tensor(1)?)?]),
            )
        });
        let out = f.call_many(&[&tensor([1.0f32, 2.0])?])?;
        assert_eq!(out[0].to_vec::<f32>()?, [51.0, 52.0]);
        assert_eq!(out[1].item::<i32>()?, 5);
        let out = f.call_many(&[&tensor([100.0f32, 2.0])?])?;
        assert_eq!((out[0].to_vec::<f32>()?, out[1].item::<i32>()?), (vec![100.0, 2.0], 0), "it never runs");
        Ok(())
    })
}

/// Halves what is even and makes 3x + 1 of what is odd until 1 is left, for at most `most` steps if
/// `limited`.
fn steps(x: &Tensor, limited: &Tensor, most: i32) -> Result<Vec<Tensor>> {
    cond(
        limited,
        || {
            while_loop(
                &[x.clone(), tensor(0)?],
                |s| s[0].greater(&tensor(1)?)?.logical_and(&s[1].less(&tensor(most)?)?),
                |s| {
                    let next = cond(
                        &s[0].rem(&tensor(2)?)?.equal(&tensor(0)?)?,
                        || Ok(vec![s[0].div(&tensor(2)?)?]),
                        || Ok(vec![s[0].mul(&tensor(3)?)?.add(&tensor(1)?)?]),
                    )?;
                    Ok(vec![only(next), s[1].add(&tensor(1)?)?])
                },
            )
        },
        || Ok(vec![x.clone(), tensor(-1)?]),
    )
}

#[test]
fn constants_reach_into_a_condition_in_a_loop_in_a_condition() -> Result<()> {
    everywhere(|| {
        let f = Function::many(|x| steps(&x[0], &x[1], 100));
        for (start, limited) in [(6, true), (27, true), (1, true), (6, false)] {
            let inputs = [tensor(start)?, tensor(limited)?];
            let eager = steps(&inputs[0], &inputs[1], 100)?;
            let got = f.call_many(&[&inputs[0], &inputs[1]])?;
            let read = |list: &[Tensor]| -> Result<Vec<i32>> { list.iter().map(Tensor::item).collect() };
            assert_eq!(read(&got)?, read(&eager)?, "{start} {limited}");
        }
        Ok(())
    })
}

#[test]
fn a_closure_runs_once_for_each_trace() -> Result<()> {
    let runs = Arc::new([const { AtomicUsize::new(0) }; 4]);
    let count = runs.clone();
    let f = Function::new(move |x| {
        let at = |n: usize| count[n].fetch_add(1, Relaxed);
        let y = cond(
            &is_up(x)?,
            || {
                at(0);
                Ok(vec![x.neg()?])
            },
            || {
                at(1);
                Ok(vec![x.exp()?])
            },
        )?;
        let z = while_loop(
            &y,
            |s| {
                at(2);
                s[0].sum(&[])?.less(&tensor(10.0f32)?)
            },
            |s| {
                at(3);
                Ok(vec![shifted(&s[0], 5.0)?])
            },
        )?;
        Ok(only(z))
    });
    for _ in 0..3 {
        f.call(&tensor([1.0f32, 2.0])?)?;
    }
    assert_eq!(runs.each_ref().map(|n| n.load(Relaxed)), [1; 4]);
    Ok(())
}

#[test]
fn gradients_go_through_a_condition_with_constants() -> Result<()> {
    everywhere(|| {
        let slope = |x: &Tensor| -> Result<Tensor> {
            let tape = Tape::new();
            let x = tape.watch(x)?;
            let y = cond(
                &is_up(&x)?,
                || {
                    let inner = cond(
                        &is_up(&x.sub(&tensor(10.0f32)?)?)?,
                        || Ok(vec![x.mul(&tensor(7.0f32)?)?]),
                        || Ok(vec![x.mul(&tensor([3.0f32, 5.0])?)?]),
                    )?;
                    Ok(inner)
                },
                || Ok(vec![x.square()?.mul(&tensor(0.5f32)?)?]),
            )?;
            Ok(tape.gradient(&only(y), &x)?.expect("it depends on x"))
        };
        let f = Function::new(slope);
        for (x, expected) in
            [([1.0f32, 2.0], [3.0f32, 5.0]), ([11.0, 12.0], [7.0, 7.0]), ([-1.0, -2.0], [-1.0, -2.0])]
        {
            let x = tensor(x)?;
            assert_eq!(slope(&x)?.to_vec::<f32>()?, expected, "eagerly");
            assert_eq!(f.call(&x)?.to_vec::<f32>()?, expected, "in a function");
        }
        Ok(())
    })
}

#[test]
fn a_watched_tensor_and_itself_are_two_to_a_condition() -> Result<()> {
    let slope = |x: &Tensor| -> Result<Tensor> {
        let tape = Tape::new();
        let watched = tape.watch(x)?;
        let y = cond(&is_up(x)?, || Ok(vec![x.mul(&watched)?]), || Ok(vec![watched.neg()?]))?;
        Ok(tape.gradient(&only(y), &watched)?.expect("it depends on it"))
    };
    let x = tensor([3.0f32, 4.0])?;
    assert_eq!(slope(&x)?.to_vec::<f32>()?, [3.0, 4.0]);
    assert_eq!(Function::new(slope).call(&x)?.to_vec::<f32>()?, [3.0, 4.0]);
    Ok(())
}

#[test]
fn sides_that_differ_are_refused_by_what_differs() {
    let x = tensor([1.0f32, 2.0]).unwrap();
    let differ = |otherwise: fn(&Tensor) -> Result<Vec<Tensor>>| {
        let f = Function::many(move |x| {
            cond(&is_up(&x[0])?, || Ok(vec![x[0].clone(), tensor(1.0f32)?]), || otherwise(&x[0]))
        });
        f.call_many(&[&x]).unwrap_err().to_string()
    };
    let text = differ(|x| Ok(vec![x.clone(), tensor(1)?]));
    assert!(text.contains("result 1 of one side is f32[], of the other i32[]"), "{text}");
    let text = differ(|x| Ok(vec![x.sum(&[])?, tensor(1.0f32)?]));
    assert!(text.contains("result 0 of one side is f32[2], of the other f32[]"), "{text}");
    let text = differ(|x| Ok(vec![x.clone()]));
    assert!(text.contains("one side gives 2 tensors, the other 1"), "{text}");
    let f = Function::many(|x| while_loop(&[x[0].clone()], |s| s[0].less(&s[0]), |s| Ok(vec![s[0].clone()])));
    let text = f.call_many(&[&x]).unwrap_err().to_string();
    assert!(text.contains("the condition must be a scalar bool"), "{text}");
    let f = Function::many(|x| while_loop(x, is_up_of, |s| Ok(vec![s[0].cast(DType::F64)?])));
    let text = f.call_many(&[&x]).unwrap_err().to_string();
    assert!(text.contains("the body gives [f64[2]]"), "{text}");
}

fn is_up_of(s: &[Tensor]) -> Result<Tensor> {
    is_up(&s[0])
}
