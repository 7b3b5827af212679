//! Training, profiled: a small convolutional network whose layers are on the GPU and whose loss is on the
//! CPU.
//!
//! `profile_training [FOLDER [passes]]` trains until the step is compiled and its times are known, records
//! five more steps, and leaves in the folder (`profile`, if none is named) `report.html` for a browser,
//! `record.json` for `situ view` and `situ why`, `trace.json` for Perfetto, and `tensorboard/`. Each kernel
//! is timed by itself, or, with `passes`, what the GPU runs as one: `situ::profile` does that, and the
//! program runs as fast as ever. Without a GPU everything runs on the CPU, and the report says so.

use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::metrics::SparseAccuracy;
use situ::nn::optimizers::Adam;
use situ::nn::{Activation, Conv2D, Dense, Fit, Flatten, MaxPool2D, Progress, Sequential, compile};
use situ::observe::{Profiler, Record};
use situ::prelude::*;
use std::path::PathBuf;

const BATCH: usize = 32;

/// Pictures of ten sorts, each with a bright square in a place of its own.
fn pictures(count: usize) -> Result<(Tensor, Tensor)> {
    let side = 28;
    let labels: Vec<i32> = (0..count as i32).map(|n| n % 10).collect();
    let mut pixels = situ::random::normal(&[count, 1, side, side])?.to_vec::<f32>()?;
    for (picture, label) in pixels.chunks_mut(side * side).zip(&labels) {
        let (top, left) = (4 + 12 * (*label as usize % 2), 2 + 5 * (*label as usize / 2));
        for row in picture.chunks_mut(side).skip(top).take(6) {
            row[left..left + 5].iter_mut().for_each(|pixel| *pixel += 2.0);
        }
    }
    let pixels = situ::constant(&pixels, &[count, 1, side, side])?;
    Ok((pixels, situ::tensor(labels)?))
}

pub(crate) fn program(steps: usize, profiler: Profiler) -> Result<Record> {
    let (x, y) = pictures(steps * BATCH)?;
    let model = situ::with_device("/GPU:0", || {
        Ok(Sequential::new()
            .add(Conv2D::new(8, [3, 3]).activation(Activation::Relu))
            .add(MaxPool2D::new([2, 2]))
            .add(Flatten::new())
            .add(Dense::new(64).activation(Activation::Relu))
            .add(Dense::new(10)))
    })?;
    let loss = situ::with_device("/CPU:0", || Ok(SparseCategoricalCrossEntropy::from_logits()))?;
    let mut trainer = compile(model, Adam::new(1e-3), loss, [SparseAccuracy::new()])?;
    let fit = || Fit { batch_size: BATCH, progress: Progress::Silent, ..Fit::default() };
    // Tracing, compiling and the first measurements are not what a step costs.
    trainer.fit((&x, &y), Fit { epochs: 2, ..fit() })?;
    let profiler = profiler.title("a small convolutional network");
    let (_, record) = profiler.run(|| trainer.fit((&x, &y), fit()))?;
    Ok(record)
}

pub(crate) fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map_or(PathBuf::from("profile"), PathBuf::from);
    let by_pass = std::env::args_os().nth(2).is_some_and(|word| word == "passes");
    let profiler = if by_pass { Profiler::new() } else { Profiler::new().detailed() };
    let record = program(5, profiler)?;
    std::fs::create_dir_all(&folder).map_err(|error| {
        situ::Error::file(folder.display().to_string(), "", error.to_string(), "name another folder")
    })?;
    record.save(folder.join("record.json"))?;
    record.save_page(folder.join("report.html"))?;
    record.save_trace(folder.join("trace.json"))?;
    record.save_tensorboard(folder.join("tensorboard"))?;
    println!(
        "{}\nIn {}: report.html, record.json, trace.json, tensorboard/",
        record.tables(),
        folder.display()
    );
    Ok(())
}
