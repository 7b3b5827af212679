//! A small convolutional network learns the MNIST digits to 98% and beyond. `scripts/mnist.sh` fetches them.
//!
//! `mnist [FOLDER [EPOCHS]]`: the folder of the digits, `target/mnist` if none is named, and how many epochs,
//! 4 if no number is given. Ctrl-C ends it after the current step and keeps what was learnt; the next start
//! goes on from there.

use situ::data::{Dataset, read_idx, transform};
use situ::nn::callbacks::Checkpoint;
use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::metrics::SparseAccuracy;
use situ::nn::optimizers::{Adam, Schedule};
use situ::nn::{
    Activation, Conv2D, Dense, Dropout, Fit, Flatten, History, Interrupt, MaxPool2D, Progress, Sequential,
    Trainer, compile,
};
use situ::prelude::*;
use std::path::{Path, PathBuf};

/// Images `[count, 1, 28, 28]` of bytes, and labels.
pub(crate) type Digits = (Tensor, Tensor);

/// The digits for training and for testing, in that folder.
pub(crate) fn digits(folder: &Path) -> Result<[Digits; 2]> {
    let read = |name: &str| -> Result<Digits> {
        let images = read_idx(folder.join(format!("{name}-images-idx3-ubyte")))?;
        let labels = read_idx(folder.join(format!("{name}-labels-idx1-ubyte")))?;
        Ok((images.reshape(&[-1, 1, 28, 28])?, labels.cast(DType::I32)?))
    };
    Ok([read("train")?, read("t10k")?])
}

/// Two convolutions, two dense layers.
pub(crate) fn model() -> Sequential {
    Sequential::new()
        .add(Conv2D::new(32, [3, 3]).activation(Activation::Relu))
        .add(MaxPool2D::new([2, 2]))
        .add(Conv2D::new(64, [3, 3]).activation(Activation::Relu))
        .add(MaxPool2D::new([2, 2]))
        .add(Flatten::new())
        .add(Dense::new(128).activation(Activation::Relu))
        .add(Dropout::new(0.3))
        .add(Dense::new(10))
}

/// Bytes become numbers from 0 to 1 batch by batch, ahead of their use.
fn batches((images, labels): &Digits, shuffled: bool) -> Result<Dataset<(Tensor, Tensor)>> {
    let rows = Dataset::from_tensors((images.clone(), labels.clone()))?;
    let rows = if shuffled { rows.shuffle(images.shape()[0], 1) } else { rows };
    Ok(rows.batch(64).map(|(x, y)| Ok((transform::pixels(&x)?, y))).prefetch(4))
}

/// Trains for `epochs` epochs; goes on from `saved`, if that is there.
pub(crate) fn program(
    train: &Digits,
    test: &Digits,
    epochs: usize,
    saved: Option<&Path>,
    progress: Progress,
) -> Result<(Trainer<Sequential>, History)> {
    let steps = epochs as u64 * train.0.shape()[0].div_ceil(64) as u64;
    let optimizer = Adam::new(Schedule::cosine(2e-3, steps / 20, steps));
    let loss = SparseCategoricalCrossEntropy::from_logits();
    let mut trainer = compile(model(), optimizer, loss, [SparseAccuracy::new()])?;
    trainer.build(&Shape::new(&[64, 1, 28, 28])?)?;
    let mut fit = Fit { epochs, validation: Some(batches(test, false)?.into()), progress, ..Fit::default() };
    if let Some(path) = saved {
        if path.exists() {
            trainer.load(path)?;
            fit.epochs = epochs.saturating_sub(trainer.epochs() as usize);
        }
        fit.callbacks.push(Box::new(Checkpoint::new(path)));
        fit.interrupt = Interrupt::on_ctrl_c()?;
    }
    let history = trainer.fit(batches(train, true)?, fit)?;
    Ok((trainer, history))
}

pub(crate) fn main() -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(PathBuf::from("target"), PathBuf::from);
    let folder = std::env::args_os().nth(1).map_or(target.join("mnist"), PathBuf::from);
    if !folder.join("train-images-idx3-ubyte").exists() {
        println!(
            "There are no digits in {}. Fetch them with scripts/mnist.sh, or name their folder.",
            folder.display()
        );
        return Ok(());
    }
    let [train, test] = digits(&folder)?;
    let epochs = std::env::args().nth(2).and_then(|epochs| epochs.parse().ok()).unwrap_or(4);
    let start = std::time::Instant::now();
    let saved = folder.join("trained.safetensors");
    let (mut trainer, history) = program(&train, &test, epochs, Some(&saved), Progress::Auto)?;
    if history.interrupted {
        println!("Interrupted; the next start goes on from {}.", saved.display());
        return Ok(());
    }
    let tested = trainer.evaluate(batches(&test, false)?, 64)?;
    println!("on digits it has never seen: {tested}, after {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
