//! Tables that are looked up in: steps of the rows that a batch has, against references that know nothing of
//! rows, written out here.

use crate::checkpoint::Folder;
use situ_core::{DType, Result};
use situ_nn::losses::MeanSquaredError;
use situ_nn::optimizers::{Adagrad, Adam, Clip, Optimizer, RmsProp, Sgd};
use situ_nn::{Dense, Embedding, Fit, Flatten, Penalty, Progress, Sequential, Trainer, Weight};
use situ_runtime::Runtime;
use situ_tensor::{Function, Tape, Tensor, Variable, constant, with_device, with_runtime};
use situ_testkit::machines;
use std::sync::{Arc, OnceLock};

pub(crate) const WIDTH: usize = 3;

/// Numbers that follow from a seed.
pub(crate) struct Dice(pub(crate) u64);
impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
    fn number(&mut self) -> f32 {
        (self.next() % 2001) as f32 / 1000.0 - 1.0
    }
    pub(crate) fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.number()).collect()
    }
}

/// Indices, and the gradient by each row that was found.
type Batch = (Vec<i32>, Vec<f32>);

/// Batches with indices that repeat, one of a single row, one of one index alone, and an empty one.
fn batches(rows: usize, seed: u64) -> Vec<Batch> {
    let mut dice = Dice(seed);
    let mut list = Vec::new();
    for count in [700, 1, 40, 0, 700, 700] {
        let most = if count == 700 { rows } else { 1 + rows / 50_000 };
        let mut indices: Vec<i32> = (0..count).map(|_| (dice.next() as usize % most) as i32).collect();
        if count == 700 {
            // Some of the batch again, and the last row.
            for n in 0..200 {
                indices[500 + n] = indices[n * 2];
            }
            indices[3] = rows as i32 - 1;
        }
        list.push((indices, dice.numbers(count * WIDTH)));
    }
    list
}

pub(crate) fn weight(variable: &Variable) -> Weight {
    Weight { name: "table".into(), variable: variable.clone(), trainable: true, penalty: Penalty::default() }
}

/// How steps are run.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Eager,
    Compiled,
    /// Eagerly, by gradients of the table's size.
    Dense,
}

/// The sum of what was found, weighted: its gradient by each found row is the weight.
fn loss(table: &Tensor, indices: &Tensor, weights: &Tensor) -> Result<Tensor> {
    table.embedding(indices)?.mul(weights)?.sum(&[])
}

/// The table after a step for each batch.
fn trained(
    start: &[f32],
    batches: &[Batch],
    optimizer: impl Into<Optimizer>,
    way: Way,
    place: &str,
) -> Result<Vec<f32>> {
    let rows = start.len() / WIDTH;
    let table = with_device(place, || Variable::new(&constant(start, &[rows, WIDTH])?))?;
    let mut stepper = optimizer.into().bind(&[weight(&table)])?;
    let (update, inner) = (stepper.updater(), table.clone());
    let step = Function::new2(move |indices, weights| {
        let tape = Tape::new();
        let loss = loss(&inner.value(), indices, weights)?;
        update(&tape.gradients(&loss, [&inner])?)?;
        Ok(loss)
    });
    for (indices, weights) in batches {
        let count = indices.len();
        let (indices, weights) = (constant(indices, &[count])?, constant(weights, &[count, WIDTH])?);
        match way {
            Way::Compiled => {
                stepper.before()?;
                step.call2(&indices, &weights)?;
                stepper.after();
            }
            Way::Eager | Way::Dense => {
                let tape = Tape::new();
                let loss = loss(&table.value(), &indices, &weights)?;
                let gradient = tape.gradient(&loss, &table)?.expect("it depends on the table");
                assert!(gradient.rows().is_some());
                let gradient = match way {
                    Way::Dense => gradient.rows().expect("a lookup").to_dense()?,
                    _ => gradient,
                };
                stepper.step(&[Some(gradient)])?;
            }
        }
    }
    table.value().to_vec::<f32>()
}

/// The gradient by the whole table: rows of one index added up in their order.
fn summed(rows: usize, (indices, weights): &Batch) -> Vec<f32> {
    let mut sums = vec![0.0f32; rows * WIDTH];
    for (n, index) in indices.iter().enumerate() {
        for c in 0..WIDTH {
            sums[*index as usize * WIDTH + c] += weights[n * WIDTH + c];
        }
    }
    sums
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

pub(crate) fn same(got: &[f32], want: &[f32], what: &str) {
    let differs = got.iter().zip(want).position(|(a, b)| a.to_bits() != b.to_bits());
    assert_eq!(got.len(), want.len());
    assert_eq!(differs, None, "{what}: {:?} is not {:?}", differs.map(|n| got[n]), differs.map(|n| want[n]));
}

#[test]
fn sgd_and_adagrad_of_rows_are_those_of_the_whole_table_to_the_bit() -> Result<()> {
    for rows in [60_000, 100] {
        let start = Dice(5).numbers(rows * WIDTH);
        let batches = batches(rows, 11);
        let (mut by_sgd, mut by_adagrad, mut squares) =
            (start.clone(), start.clone(), vec![0.0f32; start.len()]);
        for batch in &batches {
            for (n, g) in summed(rows, batch).into_iter().enumerate() {
                by_sgd[n] -= 0.1 * g;
                squares[n] += g * g;
                by_adagrad[n] -= 0.1 * g / (squares[n].sqrt() + 1e-10);
            }
        }
        for way in [Way::Eager, Way::Compiled, Way::Dense] {
            same(&trained(&start, &batches, Sgd::new(0.1), way, "/CPU:0")?, &by_sgd, &format!("sgd {way:?}"));
            let adagrad = trained(&start, &batches, Adagrad::new(0.1), way, "/CPU:0")?;
            same(&adagrad, &by_adagrad, &format!("adagrad {way:?}"));
        }
    }
    Ok(())
}

/// Adam in f64; `lazy`: of the rows of the batch alone.
fn adam(start: &[f32], batches: &[Batch], lazy: bool) -> Vec<f64> {
    let mut table: Vec<f64> = start.iter().map(|v| f64::from(*v)).collect();
    let (mut means, mut squares) = (vec![0.0; table.len()], vec![0.0; table.len()]);
    for (t, batch) in batches.iter().enumerate() {
        let t = t as i32 + 1;
        let gradient = summed(start.len() / WIDTH, batch);
        let mut is_met = vec![!lazy; table.len() / WIDTH];
        batch.0.iter().for_each(|row| is_met[*row as usize] = true);
        for n in (0..table.len()).filter(|n| is_met[n / WIDTH]) {
            let g = f64::from(gradient[n]);
            means[n] = 0.9 * means[n] + 0.1 * g;
            squares[n] = 0.999 * squares[n] + 0.001 * g * g;
            let root = (squares[n] / (1.0 - 0.999f64.powi(t))).sqrt();
            table[n] -= 0.1 * means[n] / (1.0 - 0.9f64.powi(t)) / (root + 1e-8);
        }
    }
    table
}

pub(crate) fn near(got: &[f32], want: &[f64], what: &str) {
    for (n, (a, b)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(*a) - b).abs() <= 2e-5, "{what}: {a} is not {b} at {n}");
    }
}

#[test]
fn lazy_adam_changes_the_rows_of_a_batch_alone_and_plain_adam_all() -> Result<()> {
    let (rows, start) = (50_257, Dice(7).numbers(50_257 * WIDTH));
    let batches = batches(rows, 3);
    let lazy = |lazy| Adam { lazy, ..Adam::new(0.1) };
    let (by_rows, by_all) = (adam(&start, &batches, true), adam(&start, &batches, false));
    let eager = trained(&start, &batches, lazy(true), Way::Eager, "/CPU:0")?;
    near(&eager, &by_rows, "lazy");
    let compiled = trained(&start, &batches, lazy(true), Way::Compiled, "/CPU:0")?;
    same(&compiled, &eager, "lazy, compiled");
    let mut is_met = vec![false; rows];
    batches.iter().flat_map(|(indices, _)| indices).for_each(|row| is_met[*row as usize] = true);
    for row in (0..rows).filter(|row| !is_met[*row]) {
        let all = row * WIDTH..(row + 1) * WIDTH;
        assert_eq!(bits(&eager[all.clone()]), bits(&start[all]), "row {row} was never looked up");
    }
    for way in [Way::Eager, Way::Compiled] {
        near(&trained(&start, &batches, lazy(false), way, "/CPU:0")?, &by_all, "plain");
        // Decay is of every row.
        let decayed = |lazy| Adam { decay: 0.1, lazy, ..Adam::new(0.1) };
        let plain = trained(&start, &batches, decayed(false), way, "/CPU:0")?;
        same(&trained(&start, &batches, decayed(true), way, "/CPU:0")?, &plain, "with decay");
    }
    Ok(())
}

#[test]
fn momentum_and_rmsprop_move_rows_that_were_not_looked_up() -> Result<()> {
    let start = Dice(9).numbers(2_000 * WIDTH);
    let batches = batches(2_000, 5);
    for optimizer in [Optimizer::from(Sgd { momentum: 0.9, ..Sgd::new(0.1) }), RmsProp::new(0.1).into()] {
        let dense = trained(&start, &batches, optimizer.clone(), Way::Dense, "/CPU:0")?;
        same(&trained(&start, &batches, optimizer.clone(), Way::Eager, "/CPU:0")?, &dense, "eager");
        same(&trained(&start, &batches, optimizer, Way::Compiled, "/CPU:0")?, &dense, "compiled");
    }
    Ok(())
}

#[test]
fn clipping_is_of_sums_of_rows() -> Result<()> {
    let (rows, start) = (5_000, Dice(2).numbers(5_000 * WIDTH));
    let batches = batches(rows, 8);
    for clip in [Clip::Value(0.3), Clip::Norm(0.5), Clip::GlobalNorm(0.25)] {
        let mut want: Vec<f64> = start.iter().map(|v| f64::from(*v)).collect();
        for batch in &batches {
            let gradient: Vec<f64> = summed(rows, batch).iter().map(|g| f64::from(*g)).collect();
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            for (w, g) in want.iter_mut().zip(gradient) {
                *w -= 0.1
                    * match clip {
                        Clip::Value(limit) => g.clamp(-limit, limit),
                        Clip::Norm(limit) | Clip::GlobalNorm(limit) => g * limit / norm.max(limit),
                        other => unreachable!("{other:?} is none of them"),
                    };
            }
        }
        let eager = trained(&start, &batches, Sgd { clip, ..Sgd::new(0.1) }, Way::Eager, "/CPU:0")?;
        near(&eager, &want, &format!("{clip:?}"));
        let compiled = trained(&start, &batches, Sgd { clip, ..Sgd::new(0.1) }, Way::Compiled, "/CPU:0")?;
        same(&compiled, &eager, &format!("{clip:?}"));
    }
    Ok(())
}

#[test]
fn several_lookups_and_a_product_with_the_same_table_add_up() -> Result<()> {
    let (rows, start) = (50_000, Dice(4).numbers(50_000 * WIDTH));
    let (first, second) = (vec![7, 49_999, 7, 3], vec![3i64, 12, 49_999]);
    let (a, b, c) = (Dice(1).numbers(4 * WIDTH), Dice(2).numbers(3 * WIDTH), Dice(3).numbers(WIDTH));
    let run = |tied: bool, compiled: bool| -> Result<Vec<f32>> {
        let table = Variable::new(&constant(&start, &[rows, WIDTH])?)?;
        let mut stepper = Optimizer::from(Sgd::new(1.0)).bind(&[weight(&table)])?;
        let (update, inner) = (stepper.updater(), table.clone());
        let (first, second) = (constant(&first, &[4])?, constant(&second, &[3])?);
        let (a, b) = (constant(&a, &[4, WIDTH])?, constant(&b, &[3, WIDTH])?);
        let c = constant(&c, &[WIDTH, 1])?;
        let body = move |first: &Tensor, second: &Tensor| {
            let tape = Tape::new();
            let value = inner.value();
            let mut sum = loss(&value, first, &a)?.add(&loss(&value, second, &b)?)?;
            if tied {
                sum = sum.add(&value.matmul(&c)?.sum(&[])?)?;
            }
            let gradients = tape.gradients(&sum, [&inner])?;
            let rows = gradients[0].as_ref().and_then(Tensor::rows);
            assert_eq!(rows.map(|rows| rows.indices().elements()), if tied { None } else { Some(7) });
            update(&gradients)?;
            Ok(sum)
        };
        stepper.before()?;
        match compiled {
            true => Function::new2(body).call2(&first, &second)?,
            false => body(&first, &second)?,
        };
        table.value().to_vec::<f32>()
    };
    for tied in [false, true] {
        let mut want: Vec<f64> = start.iter().map(|v| f64::from(*v)).collect();
        for (n, row) in
            first.iter().map(|i| *i as usize).chain(second.iter().map(|i| *i as usize)).enumerate()
        {
            for k in 0..WIDTH {
                let g = if n < 4 { a[n * WIDTH + k] } else { b[(n - 4) * WIDTH + k] };
                want[row * WIDTH + k] -= f64::from(g);
            }
        }
        if tied {
            want.iter_mut().enumerate().for_each(|(n, w)| *w -= f64::from(c[n % WIDTH]));
        }
        let eager = run(tied, false)?;
        near(&eager, &want, "lookups");
        same(&run(tied, true)?, &eager, "compiled");
    }
    Ok(())
}

/// The address of a variable's value.
fn address(table: &Variable) -> usize {
    table.value().host_bytes().map_or(0, |bytes| bytes.as_ptr() as usize)
}

#[test]
fn rows_are_written_over_where_nobody_holds_the_value_and_copied_where_somebody_does() -> Result<()> {
    for compiled in [false, true] {
        let rows = 60_000;
        let table =
            with_device("/CPU:0", || Variable::new(&situ_tensor::zeros(&[rows, WIDTH], DType::F32)?))?;
        let mut stepper = Optimizer::from(Adam { lazy: true, ..Adam::new(0.5) }).bind(&[weight(&table)])?;
        let (update, inner) = (stepper.updater(), table.clone());
        let body = move |indices: &Tensor| {
            let tape = Tape::new();
            let loss = inner.value().embedding(indices)?.sum(&[])?;
            update(&tape.gradients(&loss, [&inner])?)?;
            Ok(loss)
        };
        let (body, indices) = (Arc::new(body), constant(&[5, 59_999, 5], &[3])?);
        let function = Function::new({
            let body = body.clone();
            move |indices| body(indices)
        });
        let mut step = || -> Result<()> {
            stepper.before()?;
            if compiled {
                function.call(&indices)?
            } else {
                body(&indices)?
            };
            stepper.after();
            Ok(())
        };
        step()?;
        let before = address(&table);
        step()?;
        assert_eq!(address(&table), before, "compiled {compiled}");
        let held = table.value();
        let kept = held.to_vec::<f32>()?;
        step()?;
        same(&held.to_vec::<f32>()?, &kept, "what somebody holds does not change");
        assert!(table.value().to_vec::<f32>()?[5 * WIDTH] < kept[5 * WIDTH]);
        assert_ne!(address(&table), before);
    }
    Ok(())
}

/// A runtime, and a place in it.
fn places() -> Vec<(&'static Runtime, &'static str)> {
    static CPU: OnceLock<Runtime> = OnceLock::new();
    let mut places = vec![(CPU.get_or_init(machines::cpu), "/CPU:0")];
    places.extend(machines::shared_cpu_and_gpu().map(|gpu| (gpu, "/GPU:0")));
    places
}

#[test]
fn an_index_out_of_range_changes_nothing_on_any_device() -> Result<()> {
    for (runtime, place) in places() {
        with_runtime(runtime, || {
            bad_index(Adam { lazy: true, ..Adam::new(0.1) }.into(), place)?;
            bad_index(Sgd::new(0.1).into(), place)
        })?;
    }
    Ok(())
}

/// Steps by batches, before one of which comes the same with an index that is no row.
fn bad_index(optimizer: Optimizer, place: &str) -> Result<()> {
    let (rows, start) = (50_000, Dice(6).numbers(50_000 * WIDTH));
    let batches = batches(rows, 1);
    for way in [Way::Eager, Way::Compiled] {
        let want = trained(&start, &batches, optimizer.clone(), way, place)?;
        let table = with_device(place, || Variable::new(&constant(&start, &[rows, WIDTH])?))?;
        let mut stepper = optimizer.bind(&[weight(&table)])?;
        let (update, inner) = (stepper.updater(), table.clone());
        let function = Function::new2(move |indices, weights| {
            let tape = Tape::new();
            let loss = loss(&inner.value(), indices, weights)?;
            update(&tape.gradients(&loss, [&inner])?)?;
            Ok(loss)
        });
        let mut step = |indices: &[i32], weights: &[f32]| -> Result<()> {
            let count = indices.len();
            let (indices, weights) = (constant(indices, &[count])?, constant(weights, &[count, WIDTH])?);
            if way == Way::Compiled {
                stepper.before()?;
                function.call2(&indices, &weights)?;
                stepper.after();
                return Ok(());
            }
            let tape = Tape::new();
            let loss = loss(&table.value(), &indices, &weights)?;
            stepper.step(&tape.gradients(&loss, [&table])?)
        };
        for (n, (indices, weights)) in batches.iter().enumerate() {
            if n == 4 {
                let before = table.value().to_vec::<f32>()?;
                for bad in [rows as i32, -1] {
                    let mut indices = indices.clone();
                    indices[600] = bad;
                    assert!(step(&indices, weights).is_err(), "{place} {way:?} {bad}");
                    same(&table.value().to_vec::<f32>()?, &before, "a failed step changes nothing");
                }
            }
            step(indices, weights)?;
        }
        same(&table.value().to_vec::<f32>()?, &want, "as if it had never been");
    }
    Ok(())
}

#[test]
fn a_gpu_changes_rows_as_the_cpu_does() -> Result<()> {
    let Some(runtime) = machines::shared_cpu_and_gpu() else { return Ok(()) };
    let start = Dice(8).numbers(50_000 * WIDTH);
    let batches = batches(50_000, 21);
    let lazy = Adam { lazy: true, ..Adam::new(0.1) };
    for optimizer in [Optimizer::from(lazy), Sgd::new(0.1).into(), Adagrad::new(0.1).into()] {
        for way in [Way::Eager, Way::Compiled] {
            let there =
                with_runtime(runtime, || trained(&start, &batches, optimizer.clone(), way, "/GPU:0"))?;
            let here = trained(&start, &batches, optimizer.clone(), way, "/CPU:0")?;
            near(&there, &here.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(), &format!("{way:?}"));
        }
    }
    Ok(())
}

fn words() -> Result<Trainer<Sequential>> {
    let model =
        Sequential::new().add(Embedding::new(50_000, 8)).add(Flatten::new()).add(Dense::new(1)).seed(3);
    let optimizer = Adam { lazy: true, clip: Clip::GlobalNorm(1.0), ..Adam::new(0.01) };
    Trainer::new(model, optimizer, MeanSquaredError::new(), (), 5)
}

#[test]
fn training_of_rows_goes_on_bit_for_bit_from_a_file() -> Result<()> {
    let folder = Folder::new("rows");
    let runtime = machines::cpu();
    runtime.set_deterministic(true)?;
    with_runtime(&runtime, || {
        let mut dice = Dice(1);
        let x: Vec<i32> = (0..96 * 4).map(|_| (dice.next() % 50_000) as i32).collect();
        let (x, y) = (constant(&x, &[96, 4])?, constant(&dice.numbers(96), &[96, 1])?);
        let fit = |epochs| Fit { epochs, progress: Progress::Silent, ..Fit::default() };
        let mut whole = words()?;
        whole.fit((&x, &y), fit(4))?;
        let mut first = words()?;
        first.fit((&x, &y), fit(2))?;
        first.save(folder.file("half"))?;
        let mut second = words()?;
        second.build(&situ_core::Shape::new(&[32, 4])?)?;
        second.load(folder.file("half"))?;
        second.fit((&x, &y), fit(2))?;
        for (a, b) in whole.weights().iter().zip(second.weights()) {
            same(&b.variable.value().to_vec::<f32>()?, &a.variable.value().to_vec::<f32>()?, &a.name);
        }
        Ok(())
    })
}
