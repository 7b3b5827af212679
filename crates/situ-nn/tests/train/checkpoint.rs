//! Checkpoints: whole at any moment, exact, and plain about what does not fit.

use crate::model::*;
use situ_core::Result;
use situ_nn::checkpoint::{load_weights, save_weights};
use situ_nn::optimizers::{Adagrad, Adam, AdamW, Optimizer, RmsProp, Schedule, Sgd};
use situ_nn::{Fit, Progress, Trainer};
use situ_tensor::with_runtime;
use situ_testkit::machines;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

fn quiet() -> Fit<'static> {
    Fit { progress: Progress::Silent, ..Fit::default() }
}

/// A folder of its own for a test, gone with the test.
pub(crate) struct Folder(PathBuf);
impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("situ-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An optimizer, to be made anew for each trainer.
type Named = (&'static str, fn() -> Optimizer);

fn trainer(optimizer: impl Into<Optimizer>, seed: u64) -> Result<Trainer<Mlp>> {
    let model = Mlp::new(&[6, 20, 4], seed)?.dropout(0.3);
    Trainer::new(model, optimizer, cross_entropy(), [Accuracy], seed)
}

#[test]
fn ten_steps_are_five_a_save_a_load_and_five_bit_for_bit() -> Result<()> {
    let folder = Folder::new("resume");
    let runtime = machines::cpu();
    runtime.set_deterministic(true)?;
    with_runtime(&runtime, || {
        let (x, y) = quadrants(160, 6, 4)?;
        let optimizers: [Named; 5] = [
            ("sgd", || Sgd { momentum: 0.9, nesterov: true, ..Sgd::new(0.05) }.into()),
            ("adam", || Adam::new(Schedule::cosine(0.05, 3, 10)).into()),
            ("adamw", || AdamW::new(0.05).into()),
            ("rmsprop", || RmsProp::new(0.01).into()),
            ("adagrad", || Adagrad::new(0.05).into()),
        ];
        for (name, optimizer) in optimizers {
            let path = folder.file(name);
            // Two epochs of five steps; the file is from the middle, and again from within the second.
            let mut whole = trainer(optimizer(), 1)?;
            whole.fit((&x, &y), Fit { epochs: 2, ..quiet() })?;
            let mut half = trainer(optimizer(), 1)?;
            half.fit((&x, &y), quiet())?;
            half.save(&path)?;
            // Other weights and another seed: all of it comes from the file.
            let mut rest = trainer(optimizer(), 2)?;
            rest.load(&path)?;
            assert_eq!(bits(rest.weights()), bits(half.weights()));
            rest.fit((&x, &y), quiet())?;
            assert_eq!(rest.steps(), 10);
            assert_eq!(bits(rest.weights()), bits(whole.weights()), "{name}");
        }
        Ok(())
    })
}

#[test]
fn what_does_not_fit_is_named_and_changes_nothing() -> Result<()> {
    let folder = Folder::new("misfit");
    let path = folder.file("weights.safetensors");
    let small = Mlp::new(&[6, 20, 4], 1)?;
    save_weights(&path, &situ_nn::Model::weights(&small))?;
    let other = situ_nn::Model::weights(&Mlp::new(&[6, 21, 20, 4], 2)?);
    let before = bits(&other);
    let error = load_weights(&path, &other).unwrap_err().to_string();
    for part in ["it lacks dense_2/kernel, dense_2/bias", "dense_0/kernel is F32[6, 20]", "[6, 21]"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(bits(&other), before);
    let fewer = situ_nn::Model::weights(&Mlp::new(&[6, 20], 2)?);
    let error = load_weights(&path, &fewer).unwrap_err().to_string();
    assert!(error.contains("it has what the model has not: dense_1/bias, dense_1/kernel"), "{error}");
    let mut trainer = trainer(Adam::new(0.1), 1)?;
    let error = trainer.load(&path).unwrap_err().to_string();
    assert!(error.contains("load_weights"), "{error}");
    trainer.save(&path)?;
    let error = self::trainer(Sgd::new(0.1), 1)?.load(&path).unwrap_err().to_string();
    assert!(error.contains("trained by adam, and this is sgd"), "{error}");
    load_weights(&path, trainer.weights())?;
    Ok(())
}

#[test]
fn files_that_are_cut_or_garbled_are_errors() -> Result<()> {
    let folder = Folder::new("garbled");
    let path = folder.file("a.safetensors");
    let mut trainer = trainer(Adam::new(0.1), 1)?;
    trainer.save(&path)?;
    let whole = std::fs::read(&path).unwrap();
    let before = bits(trainer.weights());
    for length in [0, 1, 7, 8, 9, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        trainer.load(&path).unwrap_err();
    }
    for byte in (0..400.min(whole.len())).step_by(7) {
        let mut garbled = whole.clone();
        garbled[byte] ^= 0x55;
        std::fs::write(&path, &garbled).unwrap();
        // A change within a name or a number may be found by the names, or be harmless; it is never a panic.
        let _ = trainer.load(&path);
    }
    std::fs::write(&path, &whole).unwrap();
    trainer.load(&path)?;
    assert_eq!(bits(trainer.weights()), before);
    let error = trainer.load(folder.file("absent")).unwrap_err().to_string();
    assert!(error.contains("absent"), "{error}");
    Ok(())
}

/// Weights that are all the number of the save.
fn numbered(trainer: &Trainer<Mlp>, number: f32) -> Result<()> {
    for weight in trainer.weights() {
        weight.variable.assign(&situ_tensor::full(weight.variable.shape().dims(), number)?)?;
    }
    Ok(())
}

fn large() -> Result<Trainer<Mlp>> {
    Trainer::new(Mlp::new(&[300, 400, 4], 0)?, Adam::new(0.1), cross_entropy(), (), 0)
}

const CHILD: &str = "SITU_TEST_CHECKPOINT";

#[test]
fn a_kill_at_any_moment_leaves_the_old_file_or_the_new_one() -> Result<()> {
    if let Some(path) = std::env::var_os(CHILD) {
        // The child: saves again and again, until it is killed.
        let mut trainer = large()?;
        for number in 1.. {
            numbered(&trainer, number as f32)?;
            trainer.save(&path)?;
            std::fs::write(PathBuf::from(&path).with_extension("begun"), "").unwrap();
        }
    }
    let folder = Folder::new("kill");
    let path = folder.file("kept.safetensors");
    let mut trainer = large()?;
    numbered(&trainer, 0.0)?;
    trainer.save(&path)?;
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..6u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "checkpoint::a_kill_at_any_moment_leaves_the_old_file_or_the_new_one"])
            .env(CHILD, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Once it has saved, at another moment of a later save each time.
        let begun = path.with_extension("begun");
        for _ in 0..12_000 {
            if begun.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_micros(round * 3_407));
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(begun).unwrap();
        trainer.load(&path)?;
        let mut numbers: Vec<f32> =
            trainer.weights().iter().flat_map(|w| w.variable.value().to_vec::<f32>().unwrap()).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), 1, "parts of different saves: {numbers:?}");
        seen.insert(numbers[0] as u64);
    }
    assert!(!seen.contains(&0), "a child did not come to save: {seen:?}");
    Ok(())
}
