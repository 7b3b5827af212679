//! Trains small models for 100 steps and writes down weights, batches and losses, for
//! `scripts/compare_losses.py` to do the same with PyTorch.
//!
//! `losses FOLDER` writes `FOLDER/CASE/{x,y,losses}.npy`, the first weights as `w0.npy`, `w1.npy` and so on
//! in the order of the layers, and their names to `weights.txt`; of models that look words up, also the table
//! as it is in the end, as `end.npy`.

use situ::data::write_npy;
use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::optimizers::{Adagrad, Adam, AdamW, Optimizer, RmsProp, Sgd};
use situ::nn::{Activation, Conv2D, Dense, Embedding, Flatten, MaxPool2D, Sequential, compile};
use situ::prelude::*;
use situ::random::Generator;
use std::path::Path;

const STEPS: usize = 100;
const BATCH: usize = 32;
const WORDS: usize = 50_000;

/// An optimizer, to be made anew for each case.
type Named = (&'static str, fn() -> Optimizer);

fn mlp() -> Sequential {
    Sequential::new().seed(1).add(Dense::new(128).activation(Activation::Relu)).add(Dense::new(10))
}

fn cnn() -> Sequential {
    Sequential::new()
        .seed(2)
        .add(Conv2D::new(8, [3, 3]).activation(Activation::Relu))
        .add(MaxPool2D::new([2, 2]))
        .add(Conv2D::new(16, [3, 3]).activation(Activation::Relu))
        .add(Flatten::new())
        .add(Dense::new(10))
}

/// A table of words, eight of which are an example.
fn words() -> Sequential {
    Sequential::new().seed(3).add(Embedding::new(WORDS, 64)).add(Flatten::new()).add(Dense::new(10))
}

/// Words of each class, few of which are in most examples: indices repeat within a batch and between batches.
fn words_case(folder: &Path, name: &str, optimizer: Optimizer) -> Result<()> {
    let generator = Generator::new(11);
    let labels = generator.uniform(&[STEPS * BATCH], 0.0, 10.0, DType::I32)?;
    let first = (&labels.cast(DType::F32)? * (WORDS / 10) as f64)?.expand_dims(1)?;
    let which = generator.uniform(&[STEPS * BATCH, 8], 0.0, 6.0, DType::F32)?.exp()?.floor()?;
    train(folder, name, words(), (&first.add(&which)?.cast(DType::I32)?, &labels), optimizer)
}

fn case(folder: &Path, name: &str, model: Sequential, input: &[usize], optimizer: Optimizer) -> Result<()> {
    let generator = Generator::new(7);
    // Ten classes, each with a centre of its own: losses fall, and go on falling.
    let mut dims = vec![STEPS * BATCH];
    dims.extend(input);
    let labels = generator.uniform(&[STEPS * BATCH], 0.0, 10.0, DType::I32)?;
    dims[0] = 10;
    let centres = generator.normal(&dims, 0.0, 0.3, DType::F32)?;
    dims[0] = STEPS * BATCH;
    let x = centres.gather(&labels, 0)?.add(&generator.normal(&dims, 0.0, 1.0, DType::F32)?)?;
    train(folder, name, model, (&x, &labels), optimizer)
}

fn train(
    folder: &Path,
    name: &str,
    model: Sequential,
    (x, labels): (&Tensor, &Tensor),
    optimizer: Optimizer,
) -> Result<()> {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).map_err(|e| {
        Error::file(folder.to_string_lossy(), "", format!("it can't be made: {e}"), "name another folder")
    })?;
    let mut dims = x.shape().dims().to_vec();
    dims[0] = BATCH;
    let mut trainer = compile(model, optimizer, SparseCategoricalCrossEntropy::from_logits(), ())?;
    trainer.build(&Shape::new(&dims)?)?;
    let mut names = String::new();
    for (number, weight) in trainer.weights().iter().enumerate() {
        write_npy(folder.join(format!("w{number}.npy")), &weight.variable.value())?;
        names.push_str(&weight.name);
        names.push('\n');
    }
    let mut losses = Vec::with_capacity(STEPS);
    for step in 0..STEPS {
        let rows = (step * BATCH, (step + 1) * BATCH);
        let (x, y) = (x.narrow(0, rows.0, rows.1)?, labels.narrow(0, rows.0, rows.1)?);
        losses.push(trainer.train_on_batch(&x, &y)?.loss());
    }
    write_npy(folder.join("x.npy"), x)?;
    write_npy(folder.join("y.npy"), labels)?;
    if let Some(table) = trainer.weights().iter().find(|weight| weight.name.ends_with("table")) {
        write_npy(folder.join("end.npy"), &table.variable.value())?;
    }
    write_npy(folder.join("losses.npy"), &situ::constant(&losses, &[STEPS])?)?;
    let path = folder.join("weights.txt");
    std::fs::write(&path, names)
        .map_err(|e| Error::file(path.to_string_lossy(), "", e.to_string(), "free some space"))
}

fn main() -> Result<()> {
    let Some(folder) = std::env::args_os().nth(1) else {
        println!("losses FOLDER: writes what scripts/compare_losses.py reads");
        return Ok(());
    };
    let folder = Path::new(&folder);
    let optimizers: [Named; 6] = [
        ("sgd", || Sgd { momentum: 0.9, ..Sgd::new(0.05) }.into()),
        ("nesterov", || Sgd { momentum: 0.9, nesterov: true, decay: 1e-3, ..Sgd::new(0.05) }.into()),
        ("adam", || Adam::new(1e-3).into()),
        ("adamw", || AdamW { decay: 0.1, ..AdamW::new(1e-3) }.into()),
        ("rmsprop", || RmsProp::new(1e-3).into()),
        ("adagrad", || Adagrad::new(1e-2).into()),
    ];
    for (name, optimizer) in optimizers {
        case(folder, &format!("mlp-{name}"), mlp(), &[784], optimizer())?;
        case(folder, &format!("cnn-{name}"), cnn(), &[1, 14, 14], optimizer())?;
    }
    words_case(folder, "words-descent", Sgd::new(0.5).into())?;
    words_case(folder, "words-adagrad", Adagrad::new(1e-2).into())?;
    words_case(folder, "words-lazy", Adam { lazy: true, ..Adam::new(1e-2) }.into())?;
    Ok(())
}
