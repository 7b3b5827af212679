//! Training that was stopped goes on as if it had not been: rates, callbacks, and batches of the data it was
//! stopped in.

use crate::checkpoint::Folder;
use crate::model::*;
use situ_core::{DType, Error, Result};
use situ_data::Dataset;
use situ_nn::callbacks::*;
use situ_nn::optimizers::{Adam, Schedule, Sgd};
use situ_nn::{Figures, Fit, Input, Interrupt, Progress, Trainer, compile};
use situ_tensor::{Tensor, full, with_runtime};
use situ_testkit::machines;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

fn quiet() -> Fit<'static> {
    Fit { progress: Progress::Silent, ..Fit::default() }
}

fn with<'c>(epochs: usize, callbacks: Vec<Box<dyn Callback + 'c>>) -> Fit<'c> {
    Fit { epochs, callbacks, progress: Progress::Silent, ..Fit::default() }
}

fn trainer() -> Result<Trainer<Mlp>> {
    let model = Mlp::new(&[6, 12, 4], 1)?.dropout(0.2);
    compile(model, Sgd { momentum: 0.9, ..Sgd::new(0.8) }, cross_entropy(), [Accuracy])
}

/// Halves the rate before every epoch but the first.
fn halving() -> Box<dyn Callback> {
    Box::new(LearningRateSchedule(|epoch, rate| if epoch > 0 { rate / 2.0 } else { rate }))
}

/// Stops after that step.
fn stop_at(step: u64) -> Box<dyn Callback> {
    Box::new(EachBatch(move |run: &mut Run<'_>| {
        if run.steps() == step {
            run.stop();
        }
        Ok(())
    }))
}

fn rates(history: &situ_nn::History) -> Vec<f64> {
    history.epochs.iter().map(|epoch| epoch.rate).collect()
}

#[test]
fn a_rate_that_builds_on_the_one_before_goes_on_bit_for_bit() -> Result<()> {
    let folder = Folder::new("rates");
    let runtime = machines::cpu();
    runtime.set_deterministic(true)?;
    with_runtime(&runtime, || {
        // Five steps an epoch.
        let (x, y) = quadrants(160, 6, 4)?;
        let mut whole = trainer()?;
        let history = whole.fit((&x, &y), with(4, vec![halving()]))?;
        assert_eq!(rates(&history), [0.8, 0.4, 0.2, 0.1]);
        for (stopped, file) in [(5, "between"), (10, "between_again"), (7, "within"), (13, "within_again")] {
            let path = folder.file(file);
            let mut first = trainer()?;
            first.fit((&x, &y), with(4, vec![halving(), stop_at(stopped)]))?;
            assert_eq!(first.steps(), stopped);
            first.save(&path)?;
            // From the file, with weights and a rate that count for nothing.
            let mut loaded = compile(
                Mlp::new(&[6, 12, 4], 9)?.dropout(0.2),
                Sgd { momentum: 0.9, ..Sgd::new(0.8) },
                cross_entropy(),
                [Accuracy],
            )?;
            loaded.load(&path)?;
            // And in the same process.
            for trainer in [&mut loaded, &mut first] {
                let epochs = 4 - trainer.epochs() as usize;
                let rest = trainer.fit((&x, &y), with(epochs, vec![halving()]))?;
                assert_eq!(rates(&rest), [0.8, 0.4, 0.2, 0.1][4 - epochs..], "{file}");
                assert_eq!(trainer.steps(), 20);
                assert_eq!(bits(trainer.weights()), bits(whole.weights()), "{file}");
            }
        }
        Ok(())
    })
}

#[test]
fn a_rate_that_was_set_is_saved_and_one_that_was_compiled_is_the_programs() -> Result<()> {
    let folder = Folder::new("set-rate");
    let path = folder.file("a.safetensors");
    let schedules = [
        Schedule::Constant(0.1 + 0.2),
        Schedule::Exponential { rate: 0.3, factor: 0.7, steps: 3, stairs: true },
        Schedule::Cosine { peak: 0.3, floor: 0.01, warmup: 3, steps: 40 },
        Schedule::Piecewise { boundaries: vec![2, 9], rates: vec![0.1, 1e-300, 0.3] },
        Schedule::Polynomial { rate: 0.3, end: 0.1, steps: 30, power: 1.5 },
    ];
    for schedule in schedules {
        let mut a = trainer()?;
        a.training_mut()?.set_rate(schedule.clone());
        a.save(&path)?;
        let mut b = trainer()?;
        b.load(&path)?;
        for step in [0, 1, 2, 5, 17, 100] {
            let rate = b.training()?.stepper().rate_of(step);
            assert_eq!(rate.to_bits(), schedule.at(step).to_bits(), "{schedule:?}");
        }
    }
    // What nobody has set comes from the program that goes on.
    trainer()?.save(&path)?;
    let mut slower = compile(
        Mlp::new(&[6, 12, 4], 1)?,
        Sgd { momentum: 0.9, ..Sgd::new(0.01) },
        cross_entropy(),
        [Accuracy],
    )?;
    slower.load(&path)?;
    assert_eq!(slower.training()?.stepper().rate(), 0.01);
    Ok(())
}

#[test]
fn an_epoch_that_was_stopped_before_its_first_step_has_begun_all_the_same() -> Result<()> {
    let (x, y) = quadrants(160, 6, 4)?;
    let interrupt = Interrupt::default();
    let set = interrupt.clone();
    let at_the_end = EachEpoch(move |_: &mut Run<'_>, _: &Figures| {
        set.set();
        Ok(())
    });
    let mut trainer = trainer()?;
    let fit = Fit { interrupt, ..with(4, vec![halving(), Box::new(at_the_end)]) };
    assert!(trainer.fit((&x, &y), fit)?.interrupted);
    assert_eq!((trainer.epochs(), trainer.steps()), (1, 5));
    let rest = trainer.fit((&x, &y), with(3, vec![halving()]))?;
    assert_eq!(rates(&rest), [0.4, 0.2, 0.1]);
    Ok(())
}

#[test]
fn a_callback_that_was_not_there_when_an_epoch_began_is_told_when_it_goes_on() -> Result<()> {
    #[derive(Default)]
    struct Log(Vec<String>);
    impl Callback for Log {
        fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
            self.0.push(format!("begin {}", run.epochs()));
            Ok(())
        }
        fn on_epoch_resume(&mut self, run: &mut Run<'_>) -> Result<()> {
            self.0.push(format!("resume {} at {}", run.epochs(), run.batch()));
            Ok(())
        }
    }
    let (x, y) = quadrants(160, 6, 4)?;
    let (mut first, mut second) = (Log::default(), Log::default());
    let mut trainer = trainer()?;
    trainer.fit((&x, &y), with(2, vec![Box::new(&mut first), stop_at(7)]))?;
    trainer.fit((&x, &y), with(1, vec![Box::new(&mut first), Box::new(&mut second)]))?;
    assert_eq!(first.0, ["begin 0", "begin 1", "resume 1 at 2"]);
    assert_eq!(second.0, ["begin 1"]);
    Ok(())
}

#[test]
fn other_data_is_trained_on_from_its_first_batch() -> Result<()> {
    let input = |rows: usize, seed: u64| quadrants(rows, 6, seed);
    let (a, b) = (input(640, 4)?, input(64, 5)?);
    let batches = |x: &(Tensor, Tensor), size: usize, seed: u64| -> Result<Input> {
        Ok(Dataset::from_tensors(x.clone())?.shuffle(1000, seed).batch(size).into())
    };
    let same_shape = input(640, 6)?;
    let others: [(&str, Input, Fit<'static>, u64); 7] = [
        ("fewer rows", (&b.0, &b.1).into(), quiet(), 2),
        ("other rows", (&same_shape.0, &same_shape.1).into(), quiet(), 20),
        ("another size of batch", (&a.0, &a.1).into(), Fit { batch_size: 64, ..quiet() }, 10),
        ("another order", (&a.0, &a.1).into(), Fit { shuffle: Some(1), ..quiet() }, 20),
        ("no order", (&a.0, &a.1).into(), Fit { shuffle: None, ..quiet() }, 20),
        ("a dataset", batches(&a, 16, 0)?, quiet(), 40),
        ("a dataset of other rows", batches(&same_shape, 32, 3)?, quiet(), 20),
    ];
    let folder = Folder::new("other-data");
    let path = folder.file("stopped.safetensors");
    let mut stopped = trainer()?;
    stopped.fit((&a.0, &a.1), with(1, vec![stop_at(10)]))?;
    stopped.save(&path)?;
    for (what, input, fit, steps) in others {
        let mut loaded = trainer()?;
        loaded.load(&path)?;
        let history = loaded.fit(input, fit)?;
        assert_eq!((loaded.steps() - 10, history.epochs[0].steps), (steps, steps), "{what}");
    }
    // And the same data, from where it was: as tensors that are equal, and as a pipeline that is.
    let mut loaded = trainer()?;
    loaded.load(&path)?;
    loaded.fit(input(640, 4)?, quiet())?;
    assert_eq!(loaded.steps(), 20);
    let mut piped = trainer()?;
    piped.fit(batches(&a, 32, 3)?, with(1, vec![stop_at(10)]))?;
    let Input::Batches(again) = batches(&a, 32, 3)? else { unreachable!("it was made of batches") };
    piped.fit(again.prefetch(2), quiet())?;
    assert_eq!(piped.steps(), 20);
    // Loss and metrics are those of the data that they are said to be of.
    let ones = (full(&[64, 6], 1.0f32)?, full(&[64], 3i32)?);
    let trainer = || compile(Mlp::new(&[6, 12, 4], 1)?, Sgd::new(0.0), cross_entropy(), [Accuracy]);
    let mut fresh = trainer()?;
    let expected = fresh.fit((&ones.0, &ones.1), quiet())?.last("accuracy");
    let mut stopped = trainer()?;
    stopped.fit((&a.0, &a.1), with(1, vec![stop_at(10)]))?;
    assert_eq!(stopped.fit((&ones.0, &ones.1), quiet())?.last("accuracy"), expected);
    Ok(())
}

#[test]
fn an_input_that_is_mended_goes_on_at_the_batch_that_failed() -> Result<()> {
    let (x, y) = quadrants(128, 6, 2)?;
    let broken = Arc::new(AtomicBool::new(true));
    let state = broken.clone();
    let input = Dataset::from_generator(move || {
        let (x, y, broken) = (x.clone(), y.clone(), state.clone());
        (0..4).map(move |n| match n {
            3 if broken.load(SeqCst) => Err(Error::argument("reader", "the disk is gone", "")),
            _ => Ok((x.narrow(0, n * 32, (n + 1) * 32)?, y.narrow(0, n * 32, (n + 1) * 32)?)),
        })
    });
    let mut trainer = trainer()?;
    trainer.fit(&input, quiet()).unwrap_err();
    assert_eq!(trainer.steps(), 3);
    broken.store(false, SeqCst);
    trainer.fit(&input, quiet())?;
    assert_eq!((trainer.steps(), trainer.epochs()), (4, 1));
    Ok(())
}

/// Gives each epoch's `val_loss` as the program wants it, by way of the weights: the loss of a batch grows
/// with their size.
fn losses_by(values: &'static [f32]) -> Box<dyn Callback> {
    struct Scaled(&'static [f32]);
    impl Callback for Scaled {
        fn watches_batches(&self) -> bool {
            true
        }
        fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
            // The last layer's bias alone, which is the same for all examples, decides.
            let value = self.0[run.epochs() as usize];
            for weight in run.weights() {
                let dims = weight.variable.shape().dims().to_vec();
                let last = weight.name == "dense_1/bias";
                let filled = match last {
                    true => situ_tensor::constant(&[value, 0.0, 0.0, 0.0], &dims)?,
                    false => situ_tensor::zeros(&dims, DType::F32)?,
                };
                weight.variable.assign(&filled)?;
            }
            Ok(())
        }
    }
    Box::new(Scaled(values))
}

/// Examples of class 1: the larger the bias of class 0, the larger the loss.
fn of_class_one() -> Result<(Tensor, Tensor)> {
    Ok((full(&[64, 6], 1.0f32)?, full(&[64], 1i32)?))
}

fn bias_in(path: &Path) -> Result<f32> {
    let mut trainer = trainer()?;
    trainer.load(path)?;
    let bias = trainer.weights().iter().find(|w| w.name == "dense_1/bias").unwrap().variable.value();
    Ok(bias.to_vec::<f32>()?[0])
}

#[test]
fn saves_on_the_way_leave_the_best_file_and_the_files_of_epochs_alone() -> Result<()> {
    const VALUES: &[f32] = &[3.0, 1.0, 2.0, 4.0];
    let folder = Folder::new("best-and-steps");
    let (x, y) = of_class_one()?;
    let (best, each) = (folder.file("best.safetensors"), folder.file("{epoch}.safetensors"));
    let callbacks: Vec<Box<dyn Callback>> = vec![
        losses_by(VALUES),
        Box::new(Checkpoint::new(&best).best("val_loss").every_steps(1)),
        Box::new(Checkpoint::new(&each).every_steps(1)),
    ];
    let fit = Fit { validation: Some((&x, &y).into()), ..with(4, callbacks) };
    trainer()?.fit((&x, &y), fit)?;
    assert_eq!(bias_in(&best)?, 1.0, "the best epoch");
    for (epoch, value) in VALUES.iter().enumerate() {
        let mut saved = trainer()?;
        let path = folder.file(&format!("{}.safetensors", epoch + 1));
        saved.load(&path)?;
        assert_eq!((bias_in(&path)?, saved.training()?.batch()), (*value, 0), "the end of epoch {epoch}");
    }
    for latest in ["best.safetensors.latest", "latest.safetensors"] {
        let mut saved = trainer()?;
        saved.load(folder.file(latest))?;
        assert_eq!((saved.steps(), saved.training()?.batch()), (8, 2), "{latest}");
    }
    Ok(())
}

#[test]
fn the_best_epoch_and_the_patience_come_back_with_a_checkpoint() -> Result<()> {
    // Epoch 1 is the best; patience ends after epoch 4.
    const VALUES: &[f32] = &[3.0, 1.0, 2.0, 2.0, 2.0, 0.5, 2.0, 2.0];
    let folder = Folder::new("callback-states");
    let (x, y) = of_class_one()?;
    for stopped_after in [2, 3, 4] {
        let best = folder.file(&format!("best{stopped_after}.safetensors"));
        let last = folder.file(&format!("last{stopped_after}.safetensors"));
        let callbacks = |epochs: usize| {
            let callbacks: Vec<Box<dyn Callback>> = vec![
                losses_by(VALUES),
                // Before the others: what it saves has their states after the epoch too.
                Box::new(Checkpoint::new(&last)),
                Box::new(Checkpoint::new(&best).best("val_loss")),
                Box::new(EarlyStopping::new("val_loss", 3)),
            ];
            Fit { validation: Some((&x, &y).into()), ..with(epochs, callbacks) }
        };
        trainer()?.fit((&x, &y), callbacks(stopped_after))?;
        let mut resumed = trainer()?;
        resumed.load(&last)?;
        let history = resumed.fit((&x, &y), callbacks(8))?;
        assert_eq!((history.stopped, resumed.epochs()), (true, 5), "after {stopped_after}");
        assert_eq!(bias_in(&best)?, 1.0, "after {stopped_after}");
    }
    // In another fit of the same trainer.
    let again = folder.file("again.safetensors");
    let mut twice = trainer()?;
    for _ in 0..2 {
        let best = Checkpoint::new(&again).best("val_loss");
        let callbacks: Vec<Box<dyn Callback>> = vec![losses_by(VALUES), Box::new(best)];
        twice.fit((&x, &y), Fit { validation: Some((&x, &y).into()), ..with(2, callbacks) })?;
        assert_eq!(bias_in(&again)?, 1.0);
    }
    // From the best file itself.
    let best = folder.file("best4.safetensors");
    let mut resumed = trainer()?;
    resumed.load(&best)?;
    let again = Checkpoint::new(&best).best("val_loss");
    let fit = Fit { validation: Some((&x, &y).into()), ..with(2, vec![losses_by(VALUES), Box::new(again)]) };
    resumed.fit((&x, &y), fit)?;
    assert_eq!(bias_in(&best)?, 1.0);
    // Other data has a best epoch of its own.
    let mut elsewhere = trainer()?;
    elsewhere.load(&best)?;
    let (x, y) = (full(&[96, 6], 1.0f32)?, full(&[96], 1i32)?);
    let own = Checkpoint::new(&best).best("val_loss");
    let fit = Fit { validation: Some((&x, &y).into()), ..with(1, vec![losses_by(VALUES), Box::new(own)]) };
    elsewhere.fit((&x, &y), fit)?;
    assert_eq!(bias_in(&best)?, 2.0);
    Ok(())
}

#[test]
fn early_stopping_begins_anew_in_a_new_fit_and_goes_on_after_an_interrupt() -> Result<()> {
    const VALUES: &[f32] = &[1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    let (x, y) = of_class_one()?;
    let fit = |epochs, interrupt: Interrupt, stopping| {
        let callbacks: Vec<Box<dyn Callback>> = vec![losses_by(VALUES), stopping];
        Fit { validation: Some((&x, &y).into()), interrupt, ..with(epochs, callbacks) }
    };
    let stopping = || Box::new(EarlyStopping::new("val_loss", 2));
    let mut trainer = trainer()?;
    trainer.fit((&x, &y), fit(8, Interrupt::default(), stopping()))?;
    assert_eq!(trainer.epochs(), 3);
    trainer.fit((&x, &y), fit(8, Interrupt::default(), stopping()))?;
    assert_eq!(trainer.epochs(), 6, "one that is the best so far, and two of patience");
    let mut trainer = self::trainer()?;
    let interrupt = Interrupt::default();
    let set = interrupt.clone();
    let mut interrupted = fit(8, interrupt, stopping());
    interrupted.callbacks.push(Box::new(EachEpoch(move |run: &mut Run<'_>, _: &Figures| {
        if run.epochs() == 2 {
            set.set();
        }
        Ok(())
    })));
    assert!(trainer.fit((&x, &y), interrupted)?.interrupted);
    trainer.fit((&x, &y), fit(8, Interrupt::default(), stopping()))?;
    assert_eq!(trainer.epochs(), 3);
    Ok(())
}

#[test]
fn a_callback_of_the_programs_own_keeps_its_state() -> Result<()> {
    #[derive(Default)]
    struct Counter(u64);
    impl Callback for Counter {
        fn watches_batches(&self) -> bool {
            true
        }
        fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
            self.0 += 1;
            if self.0 == 3 {
                run.request_save(std::env::temp_dir().join(format!("situ-own-{}", std::process::id())));
            }
            Ok(())
        }
        fn state(&self) -> Option<String> {
            Some(self.0.to_string())
        }
        fn resume(&mut self, state: &str) -> Result<()> {
            self.0 = state.parse().map_err(|_| Error::argument("counter", "no number", ""))?;
            Ok(())
        }
    }
    let (x, y) = quadrants(160, 6, 4)?;
    let mut counters = [Counter::default(), Counter(100)];
    let [a, b] = &mut counters;
    trainer()?.fit((&x, &y), with(1, vec![Box::new(a), Box::new(b)]))?;
    assert_eq!(counters.map(|c| c.0), [5, 105]);
    let path = std::env::temp_dir().join(format!("situ-own-{}", std::process::id()));
    let mut resumed = trainer()?;
    resumed.load(&path)?;
    std::fs::remove_file(path).unwrap();
    assert_eq!(resumed.steps(), 3);
    let mut counters = [Counter::default(), Counter::default()];
    let [a, b] = &mut counters;
    resumed.fit((&x, &y), with(1, vec![Box::new(a), Box::new(b)]))?;
    assert_eq!(counters.map(|c| c.0), [5, 105], "each has its own, by its place among its kind");
    // A state that it can't read is an error with its name.
    struct Picky;
    impl Callback for Picky {
        fn identity(&self) -> String {
            "picky".into()
        }
        fn state(&self) -> Option<String> {
            Some("x".into())
        }
        fn resume(&mut self, _: &str) -> Result<()> {
            Err(Error::argument("picky", "can't go on", ""))
        }
    }
    let folder = Folder::new("picky");
    let path = folder.file("a.safetensors");
    let mut trainer = trainer()?;
    trainer.fit((&x, &y), with(1, vec![Box::new(Picky)]))?;
    trainer.save(&path)?;
    trainer.load(&path)?;
    let error = trainer.fit((&x, &y), with(1, vec![Box::new(Picky)])).unwrap_err().to_string();
    assert!(error.contains("picky"), "{error}");
    Ok(())
}

#[test]
fn a_rate_on_a_plateau_falls_when_patience_ends_and_its_state_is_saved() -> Result<()> {
    const VALUES: &[f32] = &[3.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    let folder = Folder::new("plateau");
    let path = folder.file("a.safetensors");
    let (x, y) = of_class_one()?;
    let make =
        || compile(Mlp::new(&[6, 12, 4], 1)?.dropout(0.2), Adam::new(0.8), cross_entropy(), [Accuracy]);
    let fit = |epochs| {
        let reduce = ReduceLearningRate::on_plateau("val_loss", 2).factor(0.25).at_least(0.05);
        let callbacks: Vec<Box<dyn Callback>> = vec![losses_by(VALUES), Box::new(reduce)];
        Fit { validation: Some((&x, &y).into()), ..with(epochs, callbacks) }
    };
    let mut whole = make()?;
    let expected = [0.8, 0.8, 0.8, 0.8, 0.2, 0.2, 0.05, 0.05];
    assert_eq!(rates(&whole.fit((&x, &y), fit(8))?), expected);
    for stopped in 1..8 {
        let mut first = make()?;
        first.fit((&x, &y), fit(stopped))?;
        first.save(&path)?;
        let mut rest = make()?;
        rest.load(&path)?;
        assert_eq!(rates(&rest.fit((&x, &y), fit(8 - stopped))?), expected[stopped..], "after {stopped}");
    }
    // A schedule has its own idea of the rate.
    let model = Mlp::new(&[6, 12, 4], 1)?;
    let mut scheduled = compile(model, Adam::new(Schedule::cosine(0.1, 1, 9)), cross_entropy(), ())?;
    let error = scheduled.fit((&x, &y), fit(8)).unwrap_err().to_string();
    assert!(error.contains("ReduceLearningRate") && error.contains("constant"), "{error}");
    Ok(())
}
