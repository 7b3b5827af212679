//! Functions compiled for a few sizes of batch.

use super::ramp;
use situ_core::{DType, Result};
use situ_tensor::{
    Buckets, Function, Tape, Tensor, Variable, cond, constant, ones, random, tensor, with_runtime, zeros,
};
use situ_testkit::machines::{CPU, GPU, cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

/// What keeps rows apart: the functions of images, words and plain rows that people write.
fn independent() -> Result<Vec<(&'static str, Function, Function)>> {
    let w = ramp(&[6, 5], DType::F32)?;
    let table = ramp(&[7, 4], DType::F32)?;
    let scale = ramp(&[6], DType::F32)?;
    type Body = Box<dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync>;
    type Named = (&'static str, Box<dyn Fn() -> Body>);
    let bodies: Vec<Named> = vec![
        (
            "dense",
            Box::new(move || {
                let w = w.clone();
                Box::new(move |x| x.matmul(&w)?.tanh()?.softmax(-1))
            }),
        ),
        (
            "normalised",
            Box::new(move || {
                let scale = scale.clone();
                Box::new(move |x| x.layer_norm(&scale, &scale, 1e-5)?.sub(&x.mean_keep(&[-1])?))
            }),
        ),
        (
            "looked up",
            Box::new(move || {
                let table = table.clone();
                Box::new(move |x| {
                    let places = x.abs()?.clip(0.0, 6.0)?.cast(DType::I32)?;
                    table.gather(&places, 0)?.sum(&[1])
                })
            }),
        ),
        (
            "reshaped",
            Box::new(|| {
                Box::new(|x: &Tensor| {
                    let n = x.shape()[0];
                    let heads = x.reshape(&[n as isize, 3, 2])?.transpose(&[0, 2, 1])?;
                    heads.matmul_transposed(&heads, false, true)?.add(&zeros(&[n, 2, 2], DType::F32)?)
                })
            }),
        ),
    ];
    let pair = |(name, make): &(&'static str, Box<dyn Fn() -> Body>)| {
        (*name, Function::new(make()), Function::new(make()).bucketed(Buckets::PowersOfTwo))
    };
    Ok(bodies.iter().map(pair).collect())
}

#[test]
fn a_filled_up_batch_gives_the_bits_of_the_batch() -> Result<()> {
    with_runtime(&cpu(), || {
        for (name, plain, bucketed) in independent()? {
            for rows in [1, 2, 3, 5, 6, 7, 8, 9, 31, 33, 100] {
                let x = ramp(&[rows, 6], DType::F32)?;
                let (want, got) = (plain.call(&x)?, bucketed.call(&x)?);
                assert_eq!(got.tensor_type(), want.tensor_type(), "{name} of {rows}");
                assert_eq!(got.to_bytes()?, want.to_bytes()?, "{name} of {rows}");
            }
            // Buckets of 1, 2, 4 and so on to 128 rows.
            assert_eq!(bucketed.variants(), 8, "{name}");
            let empty = ramp(&[0, 6], DType::F32)?;
            assert_eq!(bucketed.call(&empty)?.tensor_type(), plain.call(&empty)?.tensor_type());
        }
        Ok(())
    })
}

#[test]
fn what_mixes_rows_is_refused_with_its_line() -> Result<()> {
    type Named = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let bad: &[Named] = &[
        ("mean", |x| x.mean(&[0])),
        ("mean", |x| x.sub(&x.mean_keep(&[0])?)),
        ("sum", |x| x.sum(&[])),
        ("softmax", |x| x.softmax(0)),
        ("matmul", |x| x.matmul_transposed(x, false, true)?.sum(&[1])),
        ("transpose", |x| x.transpose(&[])),
        ("another number of rows", |x| x.mul(&tensor(x.shape()[0] as f32)?)),
        ("another number of rows", |x| if x.shape()[0] > 4 { x.neg() } else { x.exp() }),
        ("random", |x| x.add(&random::uniform(&[6], 0.0, 1.0)?)),
        ("cond", |x| Ok(cond(&tensor(true)?, || Ok(vec![x.neg()?]), || Ok(vec![x.exp()?]))?.remove(0))),
        ("mean", |x| {
            let tape = Tape::new();
            let x = tape.watch(x)?;
            let loss = x.square()?.mean(&[])?;
            Ok(tape.gradient(&loss, &x)?.expect("a gradient"))
        }),
    ];
    with_runtime(&cpu(), || {
        for (n, (named, body)) in bad.iter().enumerate() {
            let function = Function::new(*body).bucketed(Buckets::Sizes(vec![8]));
            let error = function.call(&ramp(&[3, 6], DType::F32)?).expect_err("a refusal").to_string();
            assert!(error.contains(named), "{n}: {error}");
            // A batch of a bucket's size is called as it is, and so is one beyond the last.
            assert!(function.call(&ramp(&[8, 6], DType::F32)?).is_ok(), "{n}");
            assert!(function.call(&ramp(&[9, 6], DType::F32)?).is_ok(), "{n}");
        }
        let function = Function::new2(|x, y| x.add(y)).bucketed(Buckets::PowersOfTwo);
        let other = function.call2(&ones(&[3, 2], DType::F32)?, &ones(&[2], DType::F32)?);
        assert!(other.expect_err("no batch").to_string().contains("first axis"));
        Ok(())
    })
}

#[test]
fn rows_that_are_added_find_no_fault_of_their_own() -> Result<()> {
    with_runtime(&cpu(), || {
        // A row of zeros would be a division by zero.
        let divide = Function::new2(|x, y| x.div(y)).bucketed(Buckets::PowersOfTwo);
        let (x, y) = (constant(&[6i32, 8, 10], &[3])?, constant(&[2i32, 4, 5], &[3])?);
        assert_eq!(divide.call2(&x, &y)?.to_vec::<i32>()?, [3, 2, 2]);
        // What no row has a part in is given as it is.
        let count = Variable::new(&tensor(0)?)?;
        let held = count.clone();
        let counted = Function::many(move |x| {
            held.assign(&held.value().add(&tensor(1)?)?)?;
            Ok(vec![x[0].neg()?, held.value()])
        });
        let counted = counted.bucketed(Buckets::PowersOfTwo);
        for call in 1..=3 {
            let made = counted.call_many(&[&x])?;
            assert_eq!((made[0].to_vec::<i32>()?, made[1].item::<i32>()?), (vec![-6, -8, -10], call));
        }
        Ok(())
    })
}

#[test]
fn a_batch_is_filled_up_where_it_is() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let double = Function::new(|x| x.add(x)).bucketed(Buckets::PowersOfTwo);
        let x = situ_tensor::with_device("/GPU:0", || ramp(&[5, 3], DType::F32))?;
        let sent = |from, to| runtime.ledger().bytes(from, to);
        let before = [sent(CPU, GPU), sent(GPU, CPU)];
        let y = situ_tensor::with_device("/GPU:0", || double.call(&x))?;
        assert_eq!([sent(CPU, GPU), sent(GPU, CPU)], before);
        assert_eq!(y.device(), x.device());
        assert_eq!(y.to_bytes()?, x.add(&x)?.to_bytes()?);
        Ok(())
    })
}
