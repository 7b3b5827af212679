//! What a further shape costs: a function of 300 nodes called with 200 sizes of batch.
//!
//! Two figures for each machine: what the median further compile takes of the first one, and what the pool has reserved at most over what
//! the largest of the calls needs by itself. The first compile is the median of functions made anew in a process that has compiled
//! others before: opening devices is no part of it.

use situ_core::Result;
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, random, with_device, with_runtime};
use situ_testkit::machines::{cpu, cpu_and, cpu_and_gpu};
use situ_testkit::simulated::SimulatedGpu;
use std::time::{Duration, Instant};

/// Sizes of batch, each of which is another shape.
const SIZES: usize = 200;
/// Functions whose first compile is timed.
const FIRSTS: usize = 9;
/// Layers of the network: with them it has 300 nodes.
const LAYERS: usize = 33;
const WIDTH: usize = 32;

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A residual network: products, biases, activations, normalisation.
fn network() -> Result<Function> {
    let normal = |dims: &[usize]| with_device("/CPU:0", || random::normal(dims));
    let weights =
        (0..LAYERS).map(|_| Ok((normal(&[WIDTH, WIDTH])?, normal(&[WIDTH])?))).collect::<Result<Vec<_>>>()?;
    Ok(Function::new(move |x| {
        let mut y = x.clone();
        for (w, b) in &weights {
            let mean = y.mean_keep(&[-1])?;
            let hidden = y.sub(&mean)?.matmul(w)?.bias_add(b)?.relu()?;
            y = y.add(&hidden.tanh()?)?;
        }
        y.softmax(-1)
    }))
}

/// The sizes in an order that neither grows nor shrinks.
fn sizes() -> Vec<usize> {
    (0..SIZES).map(|n| 1 + n * 77 % SIZES).collect()
}

fn batch(rows: usize) -> Result<Tensor> {
    with_device("/CPU:0", || random::normal(&[rows, WIDTH]))
}

fn compile(function: &Function, x: &Tensor) -> Result<f64> {
    let start = Instant::now();
    function.plan(&[x])?;
    Ok(start.elapsed().as_secs_f64())
}

fn times(name: &str) -> Result<()> {
    let mut first = Vec::new();
    let mut nodes = 0;
    for _ in 0..FIRSTS {
        let function = network()?;
        let x = batch(SIZES / 2)?;
        first.push(compile(&function, &x)?);
        nodes = function.graph(&[&x])?.nodes().len();
    }
    let function = network()?;
    compile(&function, &batch(SIZES / 2)?)?;
    let mut further = Vec::new();
    for rows in sizes().into_iter().filter(|rows| *rows != SIZES / 2) {
        further.push(compile(&function, &batch(rows)?)?);
    }
    let (first, further) = (median(&mut first), median(&mut further));
    println!(
        "{name}: {nodes} nodes, first compile {:.2} ms, median of {} further {:.2} ms, {:.3} of the first, {} traces",
        first * 1e3,
        SIZES - 1,
        further * 1e3,
        further / first,
        function.traces(),
    );
    Ok(())
}

fn main() -> Result<()> {
    let gpu = SimulatedGpu::new().immediate().delay(Duration::from_millis(1));
    let machines: Vec<(&str, Runtime)> = [("a CPU", cpu()), ("a CPU and a simulated GPU", cpu_and(&[&gpu]))]
        .into_iter()
        .chain(cpu_and_gpu().map(|runtime| ("this machine's CPU and GPU", runtime)))
        .collect();
    let only = std::env::args().nth(1).and_then(|n| n.parse::<usize>().ok());
    for (n, (name, runtime)) in machines.iter().enumerate() {
        if only.is_some_and(|only| only != n) {
            continue;
        }
        runtime.set_listener(Some(Box::new(|_| {})));
        with_runtime(runtime, || times(name))?;
    }
    Ok(())
}
