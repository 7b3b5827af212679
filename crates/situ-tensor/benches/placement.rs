//! What placement is worth: predictions beside measurements, and Auto beside the best single device.
//!
//! The first part has simulated GPUs with set delays, so that the best placement is known to be a mixed one;
//! the second the machine's CPU and its GPU (here most often a software one: only the ratios mean anything),
//! calibrated. Times are medians of rounds taken in turns, predictions medians of those that the functions
//! make after their first calls.

use situ_core::Result;
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, random, with_device, with_runtime};
use situ_testkit::machines::{GPU, cpu_and, cpu_and_gpu};
use situ_testkit::simulated::SimulatedGpu;
use std::time::{Duration, Instant};

/// Timed rounds, each of every way in turn.
const ROUNDS: usize = 50;
/// Times that functions are made anew: what they learn in their first calls, and what is measured of the
/// later ones, are then of the same minutes of a machine whose speed changes.
const BLOCKS: usize = 10;
/// Calls in a row that a function learns from before it is timed in turns with the others: as in a loop that
/// trains. Beside the caches and sleeping threads that another device's call leaves behind it would learn
/// those.
const LEARNING: usize = 7;

/// How long a way is called in its turn before the call that is timed.
const WARM_UP: Duration = Duration::from_millis(10);

type Body = fn(&[Tensor]) -> Result<Vec<Tensor>>;

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The same body under a scope around its call; results are read, so that queues are done.
struct Way {
    name: String,
    scope: Option<&'static str>,
    function: Function,
    times: Vec<f64>,
    predictions: Vec<f64>,
}

/// A scope that names no device leaves the choice to Auto.
fn name(scope: Option<&'static str>) -> String {
    scope.filter(|s| s.contains(':')).unwrap_or("Auto").to_string()
}

impl Way {
    fn new(body: Body, scope: Option<&'static str>) -> Way {
        Way {
            name: name(scope),
            scope,
            function: Function::many(body),
            times: Vec::new(),
            predictions: Vec::new(),
        }
    }

    fn call(&self, inputs: &[&Tensor]) -> Result<f64> {
        let start = Instant::now();
        let call = || self.function.call_many(inputs);
        let outputs = match self.scope {
            Some(scope) => with_device(scope, call)?,
            None => call()?,
        };
        for output in &outputs {
            output.to_bytes()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Seconds of a call behind others of its own, as in a loop: not behind another device's, which leaves
    /// cold caches and busy cores.
    fn warm_call(&self, inputs: &[&Tensor]) -> Result<f64> {
        let start = Instant::now();
        while start.elapsed() < WARM_UP {
            self.call(inputs)?;
        }
        self.call(inputs)
    }

    /// What was predicted over what was measured: the median of the blocks, each with what it learned and
    /// measured in the same seconds.
    fn accuracy(&self) -> f64 {
        let blocks = self.times.chunks(ROUNDS / BLOCKS).zip(&self.predictions);
        median(&blocks.map(|(times, predicted)| predicted / median(times)).collect::<Vec<_>>())
    }

    fn predicted(&self, inputs: &[&Tensor]) -> Result<f64> {
        let plan = || self.function.plan(inputs);
        Ok(match self.scope {
            Some(scope) => with_device(scope, plan)?,
            None => plan()?,
        }
        .predicted)
    }
}

/// The ways in turns, each time beginning with another and every second time backwards: the call behind a
/// slow one finds other caches and sleeping threads, so each is behind each.
fn order(round: usize, count: usize) -> impl Iterator<Item = usize> {
    let turn = move |turn: usize| if round.is_multiple_of(2) { turn } else { count - 1 - turn };
    (0..count).map(move |at| (round / 2 + turn(at)) % count)
}

fn compare(bodies: &[(&str, Body, Vec<Tensor>)], scopes: &[Option<&'static str>], gain: Gain) -> Result<()> {
    for (name, body, inputs) in bodies {
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let mut ways: Vec<Way> = scopes.iter().map(|scope| Way::new(*body, *scope)).collect();
        for block in 0..BLOCKS {
            for at in order(block, ways.len()) {
                ways[at].function = Function::many(*body);
                for _ in 0..LEARNING {
                    ways[at].call(&inputs)?;
                }
            }
            for round in 0..ROUNDS / BLOCKS {
                for at in order(round, ways.len()) {
                    let took = ways[at].warm_call(&inputs)?;
                    ways[at].times.push(took);
                }
            }
            for way in &mut ways {
                let predicted = way.predicted(&inputs)?;
                way.predictions.push(predicted);
            }
        }
        println!("{name}");
        for way in &ways {
            let (measured, predicted) = (median(&way.times), median(&way.predictions));
            println!(
                "  {:<8} measured {:>8.2} ms   predicted {:>8.2} ms   {:>5.2} of measured",
                way.name,
                measured * 1e3,
                predicted * 1e3,
                way.accuracy()
            );
        }
        let (auto, singles) = (&ways[0], &ways[1..]);
        let Some(best) = singles.iter().min_by(|a, b| median(&a.times).total_cmp(&median(&b.times))) else {
            continue;
        };
        if std::env::var_os("EXPLAIN").is_some() {
            let explain = || auto.function.explain(&inputs);
            println!(
                "{}",
                match auto.scope {
                    Some(scope) => with_device(scope, explain)?,
                    None => explain()?,
                }
            );
        }
        let in_a_round: Vec<f64> = auto.times.iter().zip(&best.times).map(|(a, b)| a / b).collect();
        let (measured, predicted) = (median(&best.times), median(&best.predictions));
        println!(
            "  Auto / best single device: {:.3}; median of the rounds' {:.3}",
            median(&auto.times) / measured,
            median(&in_a_round)
        );
        if gain == Gain::Expected {
            let (reached, promised) = (measured - median(&auto.times), predicted - median(&auto.predictions));
            println!("  gain reached / gain predicted: {:.2}", reached / promised);
        }
    }
    Ok(())
}

/// Whether a mixed placement is known to be the best.
#[derive(Clone, Copy, PartialEq)]
enum Gain {
    Expected,
    Unknown,
}

fn quiet(runtime: &Runtime) {
    runtime.set_listener(Some(Box::new(|_| {})));
}

/// Two chains that do not depend on each other.
fn two_chains(x: &[Tensor]) -> Result<Vec<Tensor>> {
    let chain = |start: &Tensor| -> Result<Tensor> {
        let mut y = start.clone();
        for _ in 0..5 {
            y = y.matmul(&y)?.softmax(-1)?;
        }
        Ok(y)
    };
    Ok(vec![chain(&x[0])?, chain(&x[1])?])
}

/// Four products of different depth, joined at the end.
fn uneven_branches(x: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut ends = Vec::new();
    for depth in [2, 3, 4, 5] {
        let mut y = x[0].clone();
        for _ in 0..depth {
            y = y.matmul(&x[1])?;
        }
        ends.push(y.softmax(-1)?);
    }
    Ok(vec![ends[0].matmul(&ends[1])?.matmul(&ends[2].matmul(&ends[3])?)?])
}

/// A long chain that one device alone can't run: the quick one has no softmax.
fn missing_kernel(x: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut y = x[0].clone();
    for _ in 0..3 {
        for _ in 0..4 {
            y = y.matmul(&x[1])?;
        }
        y = y.softmax(-1)?;
    }
    Ok(vec![y])
}

fn throttled() -> Result<()> {
    println!("simulated GPUs, every launch takes at least its delay: Auto against the best single one");
    let gpu = |ms: u64| SimulatedGpu::new().immediate().delay(Duration::from_millis(ms));
    let machines: [(&[SimulatedGpu], &[&'static str], &str, Body); 3] = [
        (&[gpu(4), gpu(4)], &["/GPU:0", "/GPU:1"], "two chains on two equal GPUs", two_chains),
        (
            &[gpu(3), gpu(6)],
            &["/GPU:0", "/GPU:1"],
            "uneven branches on a GPU and one half as quick",
            uneven_branches,
        ),
        (
            &[gpu(3).without_ops(&["softmax"]), gpu(12)],
            &["/GPU:1"],
            "a chain, the quick GPU lacking one kernel",
            missing_kernel,
        ),
    ];
    for (gpus, singles, name, body) in machines {
        let list: Vec<&SimulatedGpu> = gpus.iter().collect();
        let runtime = cpu_and(&list);
        quiet(&runtime);
        with_runtime(&runtime, || {
            for device in runtime.list_logical_devices(Some(situ_core::DeviceKind::Gpu)) {
                runtime.calibrate(&device, &mut |_, _, _| {})?;
            }
            let inputs = (0..2)
                .map(|_| with_device("/GPU:0", || random::normal(&[8, 8])))
                .collect::<Result<Vec<_>>>()?;
            let scopes: Vec<Option<&'static str>> =
                std::iter::once("/GPU").chain(singles.iter().copied()).map(Some).collect();
            compare(&[(name, body, inputs)], &scopes, Gain::Expected)
        })?;
    }
    Ok(())
}

/// The classifier of the seeds: features to 365 classes, with its loss.
fn classifier(x: &[Tensor]) -> Result<Vec<Tensor>> {
    let logits = x[0].matmul(&x[1])?.bias_add(&x[2])?;
    Ok(vec![logits.sparse_softmax_cross_entropy(&x[3])?.mean(&[])?])
}

fn network(x: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut y = x[0].clone();
    for w in &x[1..] {
        y = y.matmul(w)?.relu()?;
    }
    Ok(vec![y.softmax(-1)?.sum(&[0])?])
}

fn elementwise(x: &[Tensor]) -> Result<Vec<Tensor>> {
    let y = x[0].mul(&x[1])?.tanh()?.add(&x[0])?;
    Ok(vec![y.exp()?.mean(&[0])?, y.maximum(&x[1])?.sum(&[1])?])
}

fn real() -> Result<()> {
    let Some(runtime) = cpu_and_gpu() else { return Ok(()) };
    quiet(&runtime);
    println!("\nthe machine's CPU and {}", runtime.logical_device(&GPU.spec())?.description().hardware);
    with_runtime(&runtime, || {
        for device in runtime.list_logical_devices(None) {
            runtime.calibrate(&device, &mut |_, _, _| {})?;
        }
        let on_cpu = |dims: &[usize]| with_device("/CPU:0", || random::normal(dims));
        let labels = with_device("/CPU:0", || random::integers(&[512], 0, 365))?;
        let bodies: Vec<(&str, Body, Vec<Tensor>)> = vec![
            (
                "a classifier of 512 × 2048 features",
                classifier,
                vec![on_cpu(&[512, 2048])?, on_cpu(&[2048, 365])?, on_cpu(&[365])?, labels],
            ),
            (
                "four layers of 512",
                network,
                (0..5)
                    .map(|i| on_cpu(if i == 0 { &[256, 512] } else { &[512, 512] }))
                    .collect::<Result<_>>()?,
            ),
            ("elementwise on a million", elementwise, vec![on_cpu(&[1000, 1000])?, on_cpu(&[1000, 1000])?]),
        ];
        compare(&bodies, &[None, Some("/CPU:0"), Some("/GPU:0")], Gain::Unknown)
    })
}

fn main() -> Result<()> {
    let asked = std::env::args().nth(1).filter(|a| !a.starts_with("--"));
    if asked.as_deref() != Some("real") {
        throttled()?;
    }
    if asked.as_deref() != Some("throttled") {
        real()?;
    }
    Ok(())
}
