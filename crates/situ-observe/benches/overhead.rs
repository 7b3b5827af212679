//! What recording costs: a training step of about a millisecond, recorded and not, in alternating rounds.
//!
//! `cargo bench -p situ-observe --bench overhead` prints, for every round, the least time of a step without recording, with the host's
//! clock, and with the devices' clocks, and at the end the median of the rounds' ratios.

use situ_core::{DeviceKind, Result};
use situ_observe::Profiler;
use situ_tensor::{Function, Tape, Tensor, Variable, current_runtime, random, with_device};
use std::time::Instant;

const ROUNDS: usize = 21;
const STEPS: usize = 60;

/// One step of a small network on a device: forwards, backwards, updates.
fn step(device: &'static str, width: usize) -> Result<(Function, Tensor)> {
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
    Ok((f, x))
}

/// The least time of a step, of many.
fn least(f: &Function, x: &Tensor) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..STEPS {
        let start = Instant::now();
        f.call(x)?.item::<f32>()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

fn measure(device: &'static str, width: usize) -> Result<()> {
    let (f, x) = step(device, width)?;
    least(&f, &x)?;
    let (mut host, mut devices, mut off_all) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let off = least(&f, &x)?;
        let (with_host, _) = Profiler::new().host_times().run(|| least(&f, &x))?;
        let (with_devices, record) = Profiler::new().run(|| least(&f, &x))?;
        assert!(record.calls.len() == STEPS && record.dropped == 0);
        off_all.push(off);
        host.push(with_host / off);
        devices.push(with_devices / off);
    }
    let kernels = f.plan(&[&x])?.launches;
    println!(
        "{device}, {kernels} kernels, a step of {:.3} ms: host clock {:+.1}%, device clocks {:+.1}%",
        median(off_all) * 1e3,
        (median(host) - 1.0) * 100.0,
        (median(devices) - 1.0) * 100.0
    );
    Ok(())
}

fn main() -> Result<()> {
    measure("/CPU:0", 256)?;
    measure("/CPU:0", 64)?;
    if current_runtime().list_logical_devices(Some(DeviceKind::Gpu)).is_empty() {
        println!("skipped: no GPU adapter");
        return Ok(());
    }
    measure("/GPU:0", 256)
}
