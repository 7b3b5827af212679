//! Gradients that are rows, as programs use them: lookups of lookups, sums of gradients, conditions, indices
//! of each dtype, large tables; and what is said where a gradient is made dense.

use crate::rows::{Dice, WIDTH, near, same, weight};
use situ_core::{DType, Result};
use situ_nn::Embedding;
use situ_nn::optimizers::{Adagrad, Adam, Optimizer, Sgd};
use situ_nn::{Layer, Maker, Model, Pass};
use situ_tensor::{
    Function, Tape, Tensor, Variable, cond, constant, tensor, with_device, with_runtime, zeros,
};
use situ_testkit::machines;
use std::sync::{Arc, Mutex};

fn table(start: &[f32]) -> Result<Variable> {
    with_device("/CPU:0", || Variable::new(&constant(start, &[start.len() / WIDTH, WIDTH])?))
}

/// The gradient by the table of a sum over what `find` finds, its rows' number and all of it: eagerly, and as
/// a function's.
fn gradient(
    start: &[f32],
    find: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<(Option<usize>, Vec<f32>)> {
    let held = table(start)?;
    let inner = held.clone();
    let body = move || -> Result<Tensor> {
        let tape = Tape::new();
        let sum = find(&inner.value())?.square()?.sum(&[])?;
        tape.gradient(&sum, &inner)?.ok_or_else(|| unreachable!("it depends on the table"))
    };
    let eager = body()?;
    let count = eager.rows().map(|rows| rows.indices().elements());
    let eager = eager.to_vec::<f32>()?;
    let compiled = Function::new(move |_| body()).call(&tensor(0.0f32)?)?;
    same(&compiled.to_vec::<f32>()?, &eager, "compiled");
    Ok((count, eager))
}

#[test]
fn a_lookup_of_what_was_looked_up_is_rows_of_the_first_table() -> Result<()> {
    let start = Dice(3).numbers(40_000 * WIDTH);
    // Pairs of rows, three of which are taken, one of them twice.
    let (pairs, taken) = ([[9, 39_999], [7, 9], [1, 1]], [2, 0, 2]);
    let (count, got) =
        gradient(&start, move |table| table.gather(&tensor(pairs)?, 0)?.gather(&tensor(taken)?, 0))?;
    assert_eq!(count, Some(6));
    let mut want = vec![0.0f64; start.len()];
    for row in taken.iter().flat_map(|n| pairs[*n as usize]) {
        for c in 0..WIDTH {
            let at = row as usize * WIDTH + c;
            want[at] += 2.0 * f64::from(start[at]);
        }
    }
    near(&got, &want, "rows of rows");
    // Along another axis it is no rows, and through any other op neither.
    let (count, _) = gradient(&start, |table| table.gather(&tensor([0, 2])?, 1)?.gather(&tensor([5])?, 0))?;
    assert_eq!(count, None);
    let (count, got) = gradient(&start, |table| (table * 3.0)?.gather(&tensor([5])?, 0))?;
    assert_eq!((count, got[5 * WIDTH]), (None, 3.0 * 2.0 * (3.0 * start[5 * WIDTH])));
    Ok(())
}

#[test]
fn sums_and_multiples_of_gradients_stay_rows() -> Result<()> {
    let start = Dice(4).numbers(30_000 * WIDTH);
    for compiled in [false, true] {
        let held = table(&start)?;
        let inner = held.clone();
        let body = move |first: &Tensor, second: &Tensor| -> Result<Tensor> {
            let one = |indices: &Tensor| -> Result<Tensor> {
                let tape = Tape::new();
                let sum = inner.value().embedding(indices)?.sum(&[])?;
                Ok(tape.gradient(&sum, &inner)?.expect("it depends on the table"))
            };
            let (a, b) = (one(first)?, one(second)?);
            let mean = (&a.add(&b)? / 2.0)?;
            let all = mean.sub(&(&(&b * 0.25)?.neg()? * -1.0)?)?;
            assert_eq!(all.rows().map(|rows| rows.indices().elements()), Some(8));
            // Added to what is dense, it is dense.
            let dense = inner.value().stop_gradient()?.add(&all)?;
            assert!(dense.rows().is_none());
            dense.sub(&inner.value().stop_gradient()?)
        };
        let (first, second) = (tensor([4, 29_999])?, tensor([4i64, 5, 4])?);
        let got = match compiled {
            false => body(&first, &second)?,
            true => Function::new2(body).call2(&first, &second)?,
        };
        let mut want = vec![0.0f64; start.len()];
        for (row, share) in [(4, 0.5), (29_999, 0.5), (4, 0.25), (5, 0.25), (4, 0.25)] {
            (0..WIDTH).for_each(|c| want[row * WIDTH + c] += share);
        }
        near(&got.to_vec::<f32>()?, &want, "sums");
    }
    Ok(())
}

/// The notes about rows of a step's plan: what was written over, and why what was not.
fn notes(optimizer: impl Into<Optimizer>, tied: bool) -> Result<(usize, Vec<String>)> {
    let held = table(&Dice(1).numbers(2_000 * WIDTH))?;
    let stepper = optimizer.into().bind(&[weight(&held)])?;
    let (update, inner) = (stepper.updater(), held.clone());
    let step = Function::new(move |indices| {
        let tape = Tape::new();
        let value = inner.value();
        let mut loss = value.embedding(indices)?.sum(&[])?;
        if tied {
            loss = loss.add(&value.square()?.sum(&[])?)?;
        }
        update(&tape.gradients(&loss, [&inner])?)?;
        Ok(loss)
    });
    let reports = step.passes(&[&tensor([1, 2, 1])?])?;
    let rows: Vec<_> = reports.into_iter().filter(|report| report.pass == "rows").collect();
    let done = rows.iter().map(|report| report.did.len()).sum();
    Ok((done, rows.into_iter().flat_map(|report| report.nearly).map(|note| note.text).collect()))
}

#[test]
fn a_plan_says_which_rows_are_written_over_and_why_others_are_not() -> Result<()> {
    assert_eq!(notes(Sgd::new(0.1), false)?, (1, vec![]));
    assert_eq!(notes(Adagrad::new(0.1), false)?, (2, vec![]));
    assert_eq!(notes(Adam { lazy: true, ..Adam::new(0.1) }, false)?, (3, vec![]));
    let refused: [(Optimizer, bool, &str); 5] = [
        (Adam::new(0.1).into(), false, "the means of Adam"),
        (Sgd { momentum: 0.9, ..Sgd::new(0.1) }.into(), false, "momentum moves every row"),
        (Sgd { decay: 0.1, ..Sgd::new(0.1) }.into(), false, "weight decay is of every row"),
        (Adam { decay: 0.1, lazy: true, ..Adam::new(0.1) }.into(), false, "weight decay is of every row"),
        (Sgd::new(0.1).into(), true, "is added to that of"),
    ];
    for (optimizer, tied, why) in refused {
        let (done, texts) = notes(optimizer, tied)?;
        assert!(done == 0 && texts.len() == 1 && texts[0].contains(why), "{why}: {texts:?}");
    }
    Ok(())
}

#[test]
fn a_lookup_in_a_condition_is_dense_and_says_so() -> Result<()> {
    let start = Dice(8).numbers(2_000 * WIDTH);
    let mut tables = Vec::new();
    for compiled in [false, true] {
        let held = table(&start)?;
        let mut stepper = Optimizer::from(Sgd::new(1.0)).bind(&[weight(&held)])?;
        let (update, inner) = (stepper.updater(), held.clone());
        let body = move |indices: &Tensor| {
            let tape = Tape::new();
            let value = inner.value();
            let few = indices.sum(&[])?.less(&tensor(10)?)?;
            let found =
                cond(&few, || Ok(vec![value.embedding(indices)?.sum(&[])?]), || Ok(vec![tensor(0.0f32)?]))?;
            update(&tape.gradients(&found[0], [&inner])?)?;
            Ok(found[0].clone())
        };
        stepper.before()?;
        let indices = tensor([1, 5, 1])?;
        if compiled {
            let step = Function::new(body);
            let reports = step.passes(&[&indices])?;
            let why = |text: &str| text.contains("in a condition");
            assert!(
                reports.iter().any(|r| r.pass == "rows" && r.nearly.iter().any(|n| why(&n.text))),
                "{reports:?}"
            );
            step.call(&indices)?;
        } else {
            body(&indices)?;
        }
        tables.push(held.value().to_vec::<f32>()?);
    }
    same(&tables[1], &tables[0], "compiled");
    let mut want: Vec<f64> = start.iter().map(|v| f64::from(*v)).collect();
    for row in [1, 5, 1] {
        (0..WIDTH).for_each(|c| want[row * WIDTH + c] -= 1.0);
    }
    near(&tables[0], &want, "a condition");
    Ok(())
}

#[test]
fn every_dtype_of_words_gives_the_same_rows() -> Result<()> {
    let mut tables: Vec<Vec<f32>> = Vec::new();
    for dtype in [DType::I32, DType::I64, DType::U8, DType::I16, DType::U32, DType::U64] {
        let mut layer = Embedding::new(3_000, WIDTH);
        layer.build(&situ_core::Shape::new(&[6])?, &mut Maker::new(1))?;
        let held = layer.weights().remove(0);
        let mut stepper = Optimizer::from(Adam { lazy: true, ..Adam::new(0.1) }).bind(&layer.weights())?;
        let words = tensor([3, 200, 3, 0, 7, 200])?.cast(dtype)?;
        let tape = Tape::new();
        let loss = layer.forward(&words, &Pass::training(0, None))?.square()?.sum(&[])?;
        let gradient = tape.gradient(&loss, &held.variable)?;
        assert!(gradient.as_ref().is_some_and(|g| g.rows().is_some()), "{dtype}");
        stepper.step(&[gradient])?;
        tables.push(held.variable.value().to_vec::<f32>()?);
    }
    tables.iter().for_each(|table| same(table, &tables[0], "dtypes"));
    Ok(())
}

#[test]
fn a_vocabulary_of_a_language_model_is_changed_in_the_rows_of_a_text() -> Result<()> {
    let (rows, width, count) = (50_000, 768, 4_096);
    let mut dice = Dice(12);
    // As words are: few of them often.
    let words: Vec<i32> =
        (0..count).map(|_| (dice.next() % (1 + dice.next() % rows as u64)) as i32).collect();
    let held = with_device("/CPU:0", || Variable::new(&zeros(&[rows, width], DType::F32)?))?;
    let mut stepper = Optimizer::from(Sgd::new(0.5)).bind(&[weight(&held)])?;
    let (update, inner) = (stepper.updater(), held.clone());
    let step = Function::new(move |words| {
        let tape = Tape::new();
        let loss = inner.value().embedding(words)?.sum(&[])?;
        update(&tape.gradients(&loss, [&inner])?)?;
        Ok(loss)
    });
    for _ in 0..2 {
        stepper.before()?;
        step.call(&constant(&words, &[8, count / 8])?)?;
        stepper.after();
    }
    let mut times = vec![0u32; rows];
    words.iter().for_each(|word| times[*word as usize] += 1);
    let got = held.value().to_vec::<f32>()?;
    for (row, times) in times.iter().enumerate() {
        let want = -(*times as f32);
        assert!(got[row * width..(row + 1) * width].iter().all(|v| *v == want), "row {row}");
    }
    Ok(())
}

/// A table after three steps of lazy Adam on a runtime of so many threads.
fn with_threads(threads: usize) -> Result<Vec<f32>> {
    let runtime = machines::cpu();
    runtime.set_intra_op_threads(Some(threads))?;
    with_runtime(&runtime, || {
        let (rows, width, count) = (20_000, 512, 4_096);
        let mut dice = Dice(31);
        let held = Variable::new(&constant(&dice.numbers(rows * width), &[rows, width])?)?;
        let mut stepper = Optimizer::from(Adam { lazy: true, ..Adam::new(0.1) }).bind(&[weight(&held)])?;
        for _ in 0..3 {
            // Each index several times, far from each other.
            let words: Vec<i32> = (0..count).map(|_| (dice.next() % 900) as i32).collect();
            let weights = constant(&dice.numbers(count * width), &[count, width])?;
            let tape = Tape::new();
            let found = held.value().embedding(&constant(&words, &[count])?)?;
            let gradient = tape.gradient(&found.mul(&weights)?.sum(&[])?, &held)?;
            stepper.step(&[gradient])?;
        }
        held.value().to_vec::<f32>()
    })
}

#[test]
fn rows_are_the_same_bits_for_any_number_of_threads() -> Result<()> {
    let one = with_threads(1)?;
    same(&with_threads(2)?, &one, "two threads");
    same(&with_threads(5)?, &one, "five threads");
    Ok(())
}

#[test]
fn who_asks_to_be_told_of_placements_is_told_of_rows_that_are_made_dense() -> Result<()> {
    let runtime = machines::cpu();
    runtime.set_log_placement(true)?;
    let told = Arc::new(Mutex::new(Vec::<String>::new()));
    let kept = told.clone();
    runtime.set_listener(Some(Box::new(move |notice| kept.lock().unwrap().push(notice.text.to_string()))));
    with_runtime(&runtime, || {
        let held = table(&Dice(1).numbers(900 * WIDTH))?;
        let tape = Tape::new();
        let loss = held.value().embedding(&tensor([1, 2])?)?.sum(&[])?;
        let gradient = tape.gradient(&loss, &held)?.expect("it depends on the table");
        let is_dense = || told.lock().unwrap().iter().filter(|text| text.contains("is made dense")).count();
        gradient.add(&gradient)?;
        assert_eq!(is_dense(), 0, "a sum of rows is rows");
        gradient.exp()?;
        gradient.to_vec::<f32>()?;
        assert_eq!(is_dense(), 1, "once");
        assert!(told.lock().unwrap().iter().any(|text| text.ends_with("is made dense: exp takes no rows")));
        Ok(())
    })
}
