//! Training that meets a bad label or index: the step that meets it changes nothing, on any device, and
//! training goes on as if it had never been.

use crate::model::bits;
use situ_core::error::Fault;
use situ_core::{Error, Result, Shape};
use situ_data::Dataset;
use situ_nn::callbacks::Checkpoint;
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::metrics::SparseAccuracy;
use situ_nn::optimizers::{Adam, Optimizer, Sgd};
use situ_nn::{Dense, Dropout, Embedding, Fit, Flatten, Progress, Sequential, Trainer};
use situ_runtime::Runtime;
use situ_tensor::{Tensor, constant, with_device, with_runtime};
use situ_testkit::machines;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const BATCHES: usize = 6;
const ROWS: usize = 4;
const TOKENS: usize = 3;
const WORDS: i32 = 10;
const CLASSES: i32 = 3;

/// How many runs: `SITU_BAD_BATCHES` of them, if it is set.
fn runs() -> usize {
    std::env::var("SITU_BAD_BATCHES").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20)
}

/// Numbers that follow from a seed.
struct Dice(u64);
impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Index,
    Label,
}

/// Tokens and labels of a batch, and the same with one of them out of range.
fn batch(number: usize, bad: Option<(What, usize, i32)>) -> Result<(Tensor, Tensor)> {
    let mut dice = Dice(number as u64 + 1);
    let mut tokens: Vec<i32> = (0..ROWS * TOKENS).map(|_| dice.below(WORDS as usize) as i32).collect();
    let mut labels: Vec<i32> = (0..ROWS).map(|_| dice.below(CLASSES as usize) as i32).collect();
    match bad {
        Some((What::Index, at, value)) => tokens[at % (ROWS * TOKENS)] = value,
        Some((What::Label, at, value)) => labels[at % ROWS] = value,
        None => (),
    }
    Ok((constant(&tokens, &[ROWS, TOKENS])?, constant(&labels, &[ROWS])?))
}

fn optimizer(number: usize) -> Optimizer {
    match number {
        0 => Sgd { momentum: 0.9, ..Sgd::new(0.1) }.into(),
        _ => Adam::new(0.05).into(),
    }
}

fn trainer(place: &str, of: usize) -> Result<Trainer<Sequential>> {
    with_device(place, || {
        let model = Sequential::new()
            .add(Embedding::new(WORDS as usize, 4))
            .add(Flatten::new())
            .add(Dropout::new(0.25))
            .add(Dense::new(CLASSES as usize))
            .seed(5);
        let loss = SparseCategoricalCrossEntropy::from_logits();
        let mut trainer = Trainer::new(model, optimizer(of), loss, [SparseAccuracy::new()], 3)?;
        trainer.build(&Shape::new(&[ROWS, TOKENS])?)?;
        Ok(trainer)
    })
}

/// The weights after every step of two epochs, and the loss of the first.
struct Reference {
    bits: Vec<Vec<u32>>,
    loss: f64,
}

impl Reference {
    fn new(place: &str, of: usize) -> Result<Reference> {
        let mut trained = trainer(place, of)?;
        let mut bits_after = vec![bits(trained.weights())];
        let mut loss = 0.0;
        for step in 0..2 * BATCHES {
            let (x, y) = batch(step % BATCHES, None)?;
            let figures = trained.train_on_batch(&x, &y)?;
            if step < BATCHES {
                loss += figures.loss() / BATCHES as f64;
            }
            bits_after.push(bits(trained.weights()));
        }
        Ok(Reference { bits: bits_after, loss })
    }
}

fn quiet() -> Fit<'static> {
    Fit { progress: Progress::Silent, shuffle: None, batch_size: ROWS, ..Fit::default() }
}

/// That the error names the op, the value and a line of the program or of the layer.
fn check_error(error: &Error, what: What, value: i32) {
    let Error::Data(data) = error else { panic!("{error}") };
    let (name, limit) = match what {
        What::Index => ("index", WORDS),
        What::Label => ("label", CLASSES),
    };
    let fault = Fault::OutOfRange { what: name, value: i64::from(value), limit: i64::from(limit) };
    assert_eq!(data.fault, fault, "{error}");
    assert!(data.location.is_some(), "{error}");
}

fn one_run(runtime: &Runtime, place: &str, of: usize, reference: &Reference, dice: &mut Dice) -> Result<()> {
    let what = if dice.below(2) == 0 { What::Index } else { What::Label };
    let value = [-1, 99, i32::MAX, i32::MIN][dice.below(4)];
    let (at, step) = (dice.below(ROWS * TOKENS), dice.below(2 * BATCHES));
    let bad = Some((what, at, value));
    let mut trained = trainer(place, of)?;
    let as_before = |trained: &Trainer<Sequential>| {
        assert!(bits(trained.weights()) == reference.bits[step], "{what:?} changed a weight at step {step}");
        assert_eq!(trained.steps(), step as u64);
    };
    if dice.below(2) == 0 {
        for number in 0..2 * BATCHES {
            if number == step {
                let (x, y) = batch(number % BATCHES, bad)?;
                check_error(&trained.train_on_batch(&x, &y).unwrap_err(), what, value);
                as_before(&trained);
                runtime.sync()?;
            }
            let (x, y) = batch(number % BATCHES, None)?;
            trained.train_on_batch(&x, &y)?;
        }
    } else {
        let is_bad = Arc::new(AtomicBool::new(true));
        let (epoch, place_in_epoch) = (step / BATCHES, step % BATCHES);
        let flag = is_bad.clone();
        let batches = Dataset::from_generator(move || {
            let flag = flag.clone();
            (0..BATCHES).map(move |n| batch(n, bad.filter(|_| n == place_in_epoch && flag.load(Relaxed))))
        });
        // The first epoch, where the bad one is in the second, has none.
        is_bad.store(epoch == 0, Relaxed);
        if epoch == 1 {
            trained.fit(&batches, quiet())?;
            is_bad.store(true, Relaxed);
        }
        let path = std::env::temp_dir().join(format!("situ-bad-batch-{}.safetensors", std::process::id()));
        let saves = dice.below(4) == 0;
        let mut fit = quiet();
        if saves {
            fit.callbacks.push(Box::new(Checkpoint::new(&path)));
        }
        check_error(&trained.fit(&batches, fit).unwrap_err(), what, value);
        as_before(&trained);
        let training = trained.training()?;
        assert_eq!((training.epochs(), training.batch()), (epoch as u64, place_in_epoch as u64));
        if saves {
            // What the callback has saved at the failure is what is there.
            let mut loaded = trainer(place, of)?;
            loaded.load(&path)?;
            std::fs::remove_file(&path).expect("it was written");
            as_before(&loaded);
            trained = loaded;
        }
        is_bad.store(false, Relaxed);
        let history = trained.fit(&batches, quiet())?;
        if epoch == 0 {
            let loss = history.epochs[0].figures.loss();
            assert!((loss - reference.loss).abs() < 1e-5, "{loss} {}", reference.loss);
            trained.fit(&batches, quiet())?;
        }
    }
    assert!(
        bits(trained.weights()) == reference.bits[2 * BATCHES],
        "{what:?} at step {step} is felt at the end"
    );
    runtime.sync()
}

#[test]
fn a_bad_label_or_index_at_any_step_leaves_no_trace() -> Result<()> {
    let (cpu, gpu) = (machines::cpu(), machines::cpu_and_gpu());
    let mut places = vec![(&cpu, "/CPU:0")];
    places.extend(gpu.as_ref().map(|gpu| (gpu, "/GPU:0")));
    for (runtime, place) in places {
        runtime.set_deterministic(true)?;
        with_runtime(runtime, || {
            let references = [Reference::new(place, 0)?, Reference::new(place, 1)?];
            let mut dice = Dice(7);
            for _ in 0..runs() {
                let of = dice.below(2);
                one_run(runtime, place, of, &references[of], &mut dice)?;
            }
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}

#[test]
fn good_data_trains_after_bad_data_and_the_model_can_be_saved_and_tested() -> Result<()> {
    let cpu = machines::cpu();
    let mut places = vec![(&cpu, "/CPU:0")];
    places.extend(machines::shared_cpu_and_gpu().map(|gpu| (gpu, "/GPU:0")));
    for (runtime, place) in places {
        with_runtime(runtime, || {
            for what in [What::Index, What::Label] {
                let mut trained = trainer(place, 1)?;
                let (good_x, good_y) = batch(0, None)?;
                let (x, y) = batch(0, Some((what, 5, 99)))?;
                let small = || Fit { batch_size: 1, ..quiet() };
                check_error(&trained.fit((&x, &y), small()).unwrap_err(), what, 99);
                let path = std::env::temp_dir().join(format!("situ-after-bad-{}", std::process::id()));
                trained.save(&path)?;
                std::fs::remove_file(&path).expect("it was written");
                // Testing on bad data fails as well, and is over with it.
                check_error(&trained.evaluate((&x, &y), ROWS).unwrap_err(), what, 99);
                assert!(trained.evaluate((&good_x, &good_y), ROWS)?.loss().is_finite());
                for _ in 0..3 {
                    trained.fit((&good_x, &good_y), small())?;
                }
                assert!(trained.predict(&good_x)?.to_vec::<f32>()?.iter().all(|p| p.is_finite()));
                runtime.sync()?;
            }
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}
