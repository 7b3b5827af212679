//! What recording costs: steps recorded and not, in alternating rounds.
//!
//! `cargo bench -p situ-observe --bench overhead` prints, for every step, the least time of one without recording, and what is added to
//! it by recording with the host's clock, with the times of GPU passes (what `situ::profile` does), and with those of each kernel
//! (`Profiler::detailed`): the median over the rounds of the rounds' least times. Off, there is one flag to look at: that is measured
//! too, as the difference of two rounds that are both off, which is what the figures are uncertain by.

use situ_core::{DeviceKind, Result};
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::metrics::SparseAccuracy;
use situ_nn::optimizers::Adam;
use situ_nn::{Activation, Dense, Sequential};
use situ_observe::Profiler;
use situ_tensor::{Function, Tape, Variable, current_runtime, random, with_device};
use std::time::Instant;

const ROUNDS: usize = 25;

/// A step, and what it is called.
struct Step {
    name: String,
    run: Box<dyn FnMut() -> Result<()>>,
    /// How many make a round.
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

/// The least time of a step, of many.
fn least(step: &mut Step) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..step.count {
        let start = Instant::now();
        (step.run)()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

fn measure(mut step: Step) -> Result<()> {
    least(&mut step)?;
    let ways = [
        ("host clock", Profiler::new().host_times()),
        ("passes", Profiler::new()),
        ("each kernel", Profiler::new().detailed()),
    ];
    let (mut off, mut again) = (Vec::new(), Vec::new());
    let mut added = ways.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        let unrecorded = least(&mut step)?;
        off.push(unrecorded);
        for ((_, profiler), added) in ways.iter().zip(&mut added) {
            let profiling = profiler.start();
            let recorded = least(&mut step)?;
            drop(profiling);
            added.push(recorded / unrecorded);
        }
        again.push(least(&mut step)? / unrecorded);
    }
    let percent = |ratios: Vec<f64>| format!("{:+.1}%", (median(ratios) - 1.0) * 100.0);
    let ways = ways.iter().zip(added).map(|((name, _), added)| format!("{name} {}", percent(added)));
    let ways: Vec<String> = ways.collect();
    println!("{}, {:.3} ms: {}; off again {}", step.name, median(off) * 1e3, ways.join(", "), percent(again));
    Ok(())
}

fn main() -> Result<()> {
    measure(two_products("/CPU:0", 256, 40)?)?;
    measure(two_products("/CPU:0", 64, 100)?)?;
    measure(dense("/CPU:0", 40)?)?;
    if current_runtime().list_logical_devices(Some(DeviceKind::Gpu)).is_empty() {
        println!("skipped: no GPU adapter");
        return Ok(());
    }
    measure(two_products("/GPU:0", 256, 5)?)?;
    measure(dense("/GPU:0", 10)?)
}
