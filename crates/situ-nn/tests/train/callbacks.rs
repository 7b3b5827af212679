//! What is called on the way, and what ends it.

use crate::model::*;
use situ_core::{Error, Result};
use situ_nn::callbacks::*;
use situ_nn::optimizers::{Adam, Sgd};
use situ_nn::{Figures, Fit, Interrupt, Progress, Trainer, compile};
use situ_tensor::Tensor;

fn quiet() -> Fit<'static> {
    Fit { progress: Progress::Silent, ..Fit::default() }
}

fn trainer(rate: f64) -> Result<(Trainer<Mlp>, Tensor, Tensor)> {
    let (x, y) = quadrants(128, 3, 2)?;
    Ok((compile(Mlp::new(&[3, 8, 4], 5)?, Sgd::new(rate), cross_entropy(), [Accuracy])?, x, y))
}

#[test]
fn callbacks_are_called_in_order_and_see_where_training_is() -> Result<()> {
    #[derive(Default)]
    struct Log(Vec<String>);
    impl Callback for Log {
        fn on_train_begin(&mut self, _: &mut Run<'_>) -> Result<()> {
            self.0.push("begin".into());
            Ok(())
        }
        fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
            self.0.push(format!("epoch {}", run.epochs()));
            Ok(())
        }
        fn watches_batches(&self) -> bool {
            true
        }
        fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
            self.0.push(format!("batch {}", run.batch()));
            Ok(())
        }
        fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
            assert!(figures.get("val_loss").is_some());
            self.0.push(format!("over {}", run.epochs()));
            Ok(())
        }
        fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
            assert!(!run.is_interrupted());
            self.0.push("end".into());
            Ok(())
        }
    }
    let (mut trainer, x, y) = trainer(0.1)?;
    let mut log = Log::default();
    let fit = Fit {
        epochs: 2,
        batch_size: 64,
        validation: Some((&x, &y).into()),
        callbacks: vec![Box::new(&mut log)],
        progress: Progress::Silent,
        ..Fit::default()
    };
    trainer.fit((&x, &y), fit)?;
    let expected = "begin, epoch 0, batch 1, batch 2, over 1, epoch 1, batch 1, batch 2, over 2, end";
    assert_eq!(log.0.join(", "), expected);
    Ok(())
}

#[test]
fn early_stopping_waits_for_its_patience_and_gives_the_best_weights_back() -> Result<()> {
    // A rate that makes things worse from epoch 2 on.
    let (mut trainer, x, y) = trainer(0.1)?;
    let mut best = Vec::new();
    let mut losses = Vec::new();
    let stopping = EarlyStopping::new("val_loss", 3).restore_best();
    let worse = LearningRateSchedule(|epoch, _| if epoch < 2 { 0.1 } else { -0.1 });
    let look = EachEpoch(|run: &mut Run<'_>, figures: &Figures| {
        losses.push(figures.get("val_loss").unwrap());
        if run.epochs() == 2 {
            best = bits(run.weights());
        }
        Ok(())
    });
    let fit = Fit {
        epochs: 20,
        validation: Some((&x, &y).into()),
        callbacks: vec![Box::new(worse), Box::new(stopping), Box::new(look)],
        progress: Progress::Silent,
        ..Fit::default()
    };
    let history = trainer.fit((&x, &y), fit)?;
    assert!(history.stopped);
    assert_eq!(history.epochs.len(), 5, "{losses:?}");
    assert!(losses[2..].iter().all(|loss| *loss > losses[1]), "{losses:?}");
    assert_eq!(bits(trainer.weights()), best);
    Ok(())
}

#[test]
fn a_figure_that_is_not_there_is_an_error_that_lists_those_that_are() -> Result<()> {
    let (mut trainer, x, y) = trainer(0.1)?;
    let fit = Fit { callbacks: vec![Box::new(EarlyStopping::new("val_loss", 1))], ..quiet() };
    let error = trainer.fit((&x, &y), fit).unwrap_err().to_string();
    assert!(error.contains("val_loss") && error.contains("loss, accuracy"), "{error}");
    Ok(())
}

#[test]
fn an_interrupt_ends_after_the_step_saves_and_fit_goes_on_from_there() -> Result<()> {
    let (x, y) = quadrants(128, 3, 2)?;
    let make = || {
        let model = Mlp::new(&[3, 8, 4], 5)?.dropout(0.1);
        compile(model, Adam::new(0.05), cross_entropy(), [Accuracy])
    };
    let whole = {
        let mut trainer = make()?;
        let history = trainer.fit((&x, &y), Fit { epochs: 3, batch_size: 16, ..quiet() })?;
        (bits(trainer.weights()), history.series("accuracy"))
    };
    let path = std::env::temp_dir().join(format!("situ-interrupt-{}.safetensors", std::process::id()));
    let interrupt = Interrupt::default();
    let mut trainer = make()?;
    let stop = EachBatch(|run: &mut Run<'_>| {
        if run.steps() == 11 {
            interrupt.set();
        }
        Ok(())
    });
    let callbacks: Vec<Box<dyn Callback>> = vec![Box::new(stop), Box::new(Checkpoint::new(&path).every(100))];
    let fit = Fit {
        epochs: 3,
        batch_size: 16,
        interrupt: interrupt.clone(),
        callbacks,
        progress: Progress::Silent,
        ..Fit::default()
    };
    let history = trainer.fit((&x, &y), fit)?;
    assert!(history.interrupted);
    assert_eq!((trainer.steps(), trainer.epochs(), history.epochs.len()), (11, 1, 1));

    let mut resumed = make()?;
    resumed.load(&path)?;
    assert_eq!((resumed.steps(), resumed.epochs()), (11, 1));
    let history = resumed.fit((&x, &y), Fit { epochs: 2, batch_size: 16, ..quiet() })?;
    assert_eq!(bits(resumed.weights()), whole.0);
    assert_eq!(history.series("accuracy"), whole.1[1..], "the epoch under way keeps its sums");
    std::fs::remove_file(path).unwrap();
    Ok(())
}

const CHILD: &str = "SITU_TEST_INTERRUPT";

#[cfg(unix)]
#[test]
fn ctrl_c_ends_after_the_step_with_the_state_saved() -> Result<()> {
    let make = || compile(Mlp::new(&[3, 8, 4], 5)?, Adam::new(0.05), cross_entropy(), [Accuracy]);
    if let Some(path) = std::env::var_os(CHILD) {
        // The child: trains without end, until it is interrupted.
        let (x, y) = quadrants(128, 3, 2)?;
        let ready = std::path::PathBuf::from(&path).with_extension("ready");
        let say = EachBatch(move |run: &mut Run<'_>| {
            if run.steps() == 1 {
                std::fs::write(&ready, "").unwrap();
            }
            Ok(())
        });
        let fit = Fit {
            epochs: usize::MAX,
            interrupt: Interrupt::on_ctrl_c()?,
            callbacks: vec![Box::new(Checkpoint::new(path).every(u64::MAX)), Box::new(say)],
            ..quiet()
        };
        let history = make()?.fit((&x, &y), fit)?;
        assert!(history.interrupted);
        return Ok(());
    }
    let path = std::env::temp_dir().join(format!("situ-ctrl-c-{}.safetensors", std::process::id()));
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "callbacks::ctrl_c_ends_after_the_step_with_the_state_saved"])
        .env(CHILD, &path)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let ready = path.with_extension("ready");
    for _ in 0..1200 {
        if ready.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success(), "the child ended before it was interrupted");
    assert!(child.wait().unwrap().success());
    let mut trainer = make()?;
    trainer.load(&path)?;
    assert!(trainer.steps() > 0);
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(ready).unwrap();
    Ok(())
}

#[test]
fn callbacks_are_told_of_a_failure_and_training_goes_on_from_the_last_good_step() -> Result<()> {
    /// Notes how training ended.
    #[derive(Default)]
    struct Ends(Vec<String>);
    impl Callback for Ends {
        fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
            assert!(!run.is_interrupted());
            let failure = run.failure().map_or(String::new(), ToString::to_string);
            self.0.push(format!("after {} steps: {failure}", run.steps()));
            Ok(())
        }
    }
    /// Fails at the end, too: a second error must not hide the first.
    struct Fails;
    impl Callback for Fails {
        fn on_train_end(&mut self, _: &mut Run<'_>) -> Result<()> {
            Err(Error::argument("fails", "at the end", ""))
        }
    }
    let (mut trainer, x, y) = trainer(0.1)?;
    let folder = std::env::temp_dir().join(format!("situ-failure-{}", std::process::id()));
    let path = folder.join("saved.safetensors");
    let mut ends = Ends::default();
    let mut stopping = EarlyStopping::new("loss", 3).restore_best();
    // Three batches of 32, and one that fails.
    let (of_x, of_y) = (x.clone(), y.clone());
    let input = situ_data::Dataset::from_generator(move || {
        let (x, y) = (of_x.clone(), of_y.clone());
        (0..4).map(move |n| match n {
            3 => Err(Error::argument("reader", "the disk is gone", "")),
            _ => Ok((x.narrow(0, n * 32, (n + 1) * 32)?, y.narrow(0, n * 32, (n + 1) * 32)?)),
        })
    });
    let fit = Fit {
        callbacks: vec![
            Box::new(Fails),
            Box::new(&mut ends),
            Box::new(&mut stopping),
            Box::new(Checkpoint::new(&path)),
        ],
        ..quiet()
    };
    let error = trainer.fit(&input, fit).unwrap_err().to_string();
    assert!(error.contains("the disk is gone"), "{error}");
    assert_eq!(ends.0.len(), 1);
    assert!(
        ends.0[0].starts_with("after 3 steps: ") && ends.0[0].contains("the disk is gone"),
        "{:?}",
        ends.0
    );
    // What was saved on the way out is the state after the third step, and both go on from there alike.
    let mut other = compile(Mlp::new(&[3, 8, 4], 6)?, Sgd::new(0.1), cross_entropy(), [Accuracy])?;
    other.load(&path)?;
    std::fs::remove_dir_all(folder).unwrap();
    for trainer in [&mut trainer, &mut other] {
        trainer.fit((&x, &y), quiet())?;
        assert_eq!(
            trainer.steps(),
            7,
            "these tensors are not the input that failed: all four of their batches"
        );
    }
    assert_eq!(bits(trainer.weights()), bits(other.weights()));
    Ok(())
}
