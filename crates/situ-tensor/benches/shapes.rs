//! What a further shape costs: a function of 300 nodes called with 200 sizes of batch.
//!
//! Two figures for each machine: what the median further compile takes of the first one, and what the pool
//! has reserved at most over what the largest of the calls needs by itself. The first compile is the median
//! of functions made anew in a process that has compiled others before: opening devices is no part of it.

use situ_core::{DeviceSpec, Result};
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
/// Rows for each size of batch where memory counts.
const ROWS: usize = 250;

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

/// Bytes that the CPU's pool holds from the system.
fn reserved(runtime: &Runtime) -> Result<usize> {
    Ok(runtime.memory_info(&"/CPU:0".parse::<DeviceSpec>()?)?.reserved)
}

/// The most that is reserved in calls of all sizes, each so many rows more, over what the largest alone has.
fn memory() -> Result<()> {
    let call = |function: &Function, size: usize| function.call(&batch(size * ROWS)?);
    let alone = cpu();
    let need = with_runtime(&alone, || call(&network()?, SIZES).and_then(|_y| reserved(&alone)))?;
    let runtime = cpu();
    let most = with_runtime(&runtime, || -> Result<usize> {
        let function = network()?;
        let mut most = 0;
        for size in sizes() {
            call(&function, size)?;
            most = most.max(reserved(&runtime)?);
        }
        Ok(most)
    })?;
    let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory: {:.1} MiB reserved at most in {SIZES} sizes, {:.1} MiB in the largest alone, {:.2} of it",
        mib(most),
        mib(need),
        most as f64 / need as f64
    );
    Ok(())
}

fn main() -> Result<()> {
    memory()?;
    let gpu = SimulatedGpu::new().immediate().delay(Duration::from_millis(1));
    let machines: Vec<(&str, Runtime)> = [("a CPU", cpu()), ("a CPU and a simulated GPU", cpu_and(&[&gpu]))]
        .into_iter()
        .chain(cpu_and_gpu().map(|runtime| ("this machine's CPU and GPU", runtime)))
        .collect();
    for (name, runtime) in &machines {
        runtime.set_listener(Some(Box::new(|_| {})));
        with_runtime(runtime, || times(name))?;
    }
    Ok(())
}
