//! How fast a pipeline delivers batches of 32×784: `bench/dataset.py` runs it beside the same pipelines of tf.data.
//!
//! Prints one line per pipeline: its name and the median and least microseconds per batch over the rounds.

use situ_core::{Error, Result};
use situ_data::Dataset;
use situ_tensor::{Tensor, arange, full, random};
use std::time::Instant;

const ROWS: usize = 20_000;
const BATCH: usize = 32;
const BATCHES: usize = 500;

type Pairs = Dataset<(Tensor, Tensor)>;

fn round(batches: &Pairs) -> Result<f64> {
    let mut iter = batches.iter();
    // The start of threads and the filling of the shuffle buffer are not the pace.
    for _ in 0..10 {
        iter.next().ok_or_else(|| Error::argument("throughput", "too few batches", ""))??;
    }
    let start = Instant::now();
    for _ in 0..BATCHES {
        let (x, y) = iter.next().ok_or_else(|| Error::argument("throughput", "too few batches", ""))??;
        std::hint::black_box((x, y));
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / BATCHES as f64)
}

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(9);
    let x = random::uniform(&[ROWS, 784], 0.0, 255.0)?;
    let y = arange(ROWS, situ_core::DType::I32)?;
    let source = Dataset::from_tensors((x, y))?;
    let scale = full(&[], 1.0f32 / 255.0)?;
    let scaled = move |(x, y): (Tensor, Tensor)| Ok((x.mul(&scale)?, y));
    let shuffled = source.shuffle(1000, 7).repeat(None);
    let pipelines: [(&str, Pairs); 4] = [
        ("shuffle+batch+prefetch", shuffled.batch(BATCH).prefetch(2)),
        ("shuffle+map+batch+prefetch", shuffled.map(scaled.clone()).batch(BATCH).prefetch(2)),
        ("shuffle+map(2)+batch+prefetch", shuffled.map_parallel(2, scaled.clone()).batch(BATCH).prefetch(2)),
        ("shuffle+batch+map+prefetch", shuffled.batch(BATCH).map(scaled).prefetch(2)),
    ];
    let mut times = vec![Vec::new(); pipelines.len()];
    for _ in 0..rounds {
        for ((_, pipeline), times) in pipelines.iter().zip(&mut times) {
            times.push(round(pipeline)?);
        }
    }
    for ((name, _), times) in pipelines.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name} {:.1} {:.1}", times[times.len() / 2], times[0]);
    }
    Ok(())
}
