//! What recording costs: steps recorded and not, in turns.
//!
//! `cargo bench -p situ-observe --bench overhead [-- WORD]` prints, for every step (with that word in its
//! name), the time of one without recording, and what is added to it by recording with the host's clock, with
//! the times of GPU passes (what `situ::profile` does), and with those of each kernel (`Profiler::detailed`).
//! Steps take turns, one of each way after the other, so that whatever else the machine does meets all alike;
//! of each way, the quarter of the steps that took least is believed. The last figure is of steps that are
//! not recorded, once more: what all others are uncertain by.

use situ_core::{DeviceKind, Result};
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::metrics::SparseAccuracy;
use situ_nn::optimizers::Adam;
use situ_nn::{Activation, Dense, Sequential};
use situ_observe::Profiler;
use situ_tensor::{Function, Tape, Variable, current_runtime, random, with_device};
use std::time::Instant;

/// A step, and what it is called.
struct Step {
    name: String,
    run: Box<dyn FnMut() -> Result<()>>,
    /// How many of each way are measured.
    count: usize,
}

/// One step of a small network on a device: forwards, backwards, updates.
fn two_products(device: &'static str, width: usize, count: usize) -> Result<Step> {
    let layer = || {
        with_device(device, || {
            Variable::new(&random::normal(&[width, width])?.mul(&situ_tensor::full(&[], 0.05f32)?)?)
        })
    };
    let (a, b) = (layer()?, layer()?);
    let x = with_device(device, || random::normal(&[64, width]))?;
    let f = Function::new(move |x| {
        let _scope = situ_tensor::device(device)?;
        let tape = Tape::new();
        let y = x.matmul(&a.value())?.relu()?.matmul(&b.value())?.relu()?;
        let loss = y.square()?.mean(&[])?;
        let gradients = tape.gradients(&loss, [&a, &b])?;
        for (variable, gradient) in [&a, &b].into_iter().zip(gradients) {
            let gradient = gradient.ok_or_else(|| situ_core::Error::argument("bench", "no gradient", ""))?;
            variable.assign(&variable.value().sub(&gradient.mul(&situ_tensor::full(&[], 0.01f32)?)?)?)?;
        }
        Ok(loss)
    });
    let name = format!("{device}: two products of {width}, {} kernels", f.plan(&[&x])?.launches);
    Ok(Step { name, run: Box::new(move || f.call(&x)?.item::<f32>().map(drop)), count })
}

/// A training step of Dense 784-128-10 on a device, as `fit` makes it, and the reading of its figures.
fn dense(device: &'static str, count: usize) -> Result<Step> {
    let model = with_device(device, || {
        Ok(Sequential::new().add(Dense::new(128).activation(Activation::Relu)).add(Dense::new(10)))
    })?;
    let loss = with_device(device, || Ok(SparseCategoricalCrossEntropy::from_logits()))?;
    let mut trainer = model.compile(Adam::new(1e-3), loss, [SparseAccuracy::new()])?;
    let x = with_device(device, || random::normal(&[32, 784]))?;
    let y = with_device(device, || x.narrow(1, 0, 10)?.argmax(&[-1])?.cast(situ_core::DType::I32))?;
    let name = format!("{device}: training step of Dense 784-128-10");
    Ok(Step { name, run: Box::new(move || trainer.train_on_batch(&x, &y).map(drop)), count })
}

/// Seconds of one step.
fn once(step: &mut Step) -> Result<f64> {
    let start = Instant::now();
    (step.run)()?;
    Ok(start.elapsed().as_secs_f64())
}

/// The mean of the least quarter.
fn least(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    let quarter = (list.len() / 4).max(1);
    list[..quarter].iter().sum::<f64>() / quarter as f64
}

fn measure(mut step: Step) -> Result<()> {
    // A prime number of them: any step through the list then visits all.
    let ways: [(&str, Option<Profiler>); 5] = [
        ("off", None),
        ("host clock", Some(Profiler::new().host_times())),
        ("passes", Some(Profiler::new())),
        ("each kernel", Some(Profiler::new().detailed())),
        ("off again", None),
    ];
    // The first calls of a function are measured in any case, and buffers are made in them.
    for _ in 0..10 {
        once(&mut step)?;
    }
    let mut taken = ways.each_ref().map(|_| Vec::new());
    for round in 0..step.count {
        for turn in 0..ways.len() {
            // Another order in each round: what one way leaves behind is not always the next one's to bear.
            let way = (turn * (1 + round % (ways.len() - 1)) + round) % ways.len();
            let profiling = ways[way].1.as_ref().map(Profiler::start);
            taken[way].push(once(&mut step)?);
            drop(profiling);
        }
    }
    let taken = taken.map(least);
    let added = |way: usize| format!("{} {:+.1}%", ways[way].0, (taken[way] / taken[0] - 1.0) * 100.0);
    let added: Vec<String> = (1..ways.len()).map(added).collect();
    println!("{}, {:.3} ms: {}", step.name, taken[0] * 1e3, added.join(", "));
    Ok(())
}

fn main() -> Result<()> {
    let word = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let wanted = |step: &Step| step.name.contains(&word);
    let mut steps =
        vec![two_products("/CPU:0", 256, 1000)?, two_products("/CPU:0", 64, 4000)?, dense("/CPU:0", 2000)?];
    if current_runtime().list_logical_devices(Some(DeviceKind::Gpu)).is_empty() {
        println!("skipped: no GPU adapter");
    } else {
        steps.extend([two_products("/GPU:0", 256, 160)?, dense("/GPU:0", 400)?]);
    }
    steps.into_iter().filter(wanted).try_for_each(measure)
}
