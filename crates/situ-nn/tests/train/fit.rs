//! fit, evaluate, predict.

use crate::model::*;
use situ_core::{DType, Result};
use situ_data::Dataset;
use situ_nn::optimizers::{Adam, Schedule, Sgd};
use situ_nn::{Fit, Loss, Model, Pass, Penalty, Progress, Trainer, compile};
use situ_tensor::{Tensor, with_runtime};
use situ_testkit::machines;

fn quiet() -> Fit<'static> {
    Fit { progress: Progress::Silent, ..Fit::default() }
}

#[test]
fn a_small_network_learns_quadrants() -> Result<()> {
    let (x, y) = quadrants(512, 2, 1)?;
    let mut trainer = compile(Mlp::new(&[2, 32, 4], 3)?, Adam::new(0.01), cross_entropy(), [Accuracy])?;
    let before = trainer.evaluate((&x, &y), 64)?;
    let history = trainer.fit((&x, &y), Fit { epochs: 20, validation: Some((&x, &y).into()), ..quiet() })?;
    assert_eq!(history.epochs.len(), 20);
    assert_eq!(trainer.steps(), 20 * 16);
    let accuracy = history.last("val_accuracy").unwrap();
    assert!(accuracy > 0.95, "{accuracy}");
    assert!(history.last("loss").unwrap() < before.loss());
    let after = trainer.evaluate((&x, &y), 64)?;
    assert!((after.get("accuracy").unwrap() - accuracy).abs() < 1e-9);
    let predicted = trainer.predict(&x)?.argmax(&[-1])?.cast(DType::I32)?.to_vec::<i32>()?;
    let right = predicted.iter().zip(y.to_vec::<i32>()?).filter(|(p, y)| **p == *y).count();
    assert_eq!(right as f64 / 512.0, accuracy);
    Ok(())
}

#[test]
fn the_figures_of_an_epoch_are_means_over_its_examples_with_a_smaller_last_batch() -> Result<()> {
    // A rate of 0: weights stay, so that the epoch's loss is that of the model.
    let (x, y) = quadrants(70, 3, 2)?;
    let model = Mlp::new(&[3, 8, 4], 5)?;
    let logits = model.forward(&x, &Pass::inference())?;
    let expected: f32 = cross_entropy().of(&logits, &y)?.mean(&[])?.item()?;
    let mut trainer = compile(model, Sgd::new(0.0), cross_entropy(), [Accuracy])?;
    let history = trainer.fit((&x, &y), quiet())?;
    let (trained, tested) = (history.last("loss").unwrap(), trainer.evaluate((&x, &y), 32)?.loss());
    assert!((trained - f64::from(expected)).abs() < 1e-6, "{trained} {expected}");
    assert!((tested - f64::from(expected)).abs() < 1e-6, "{tested} {expected}");
    assert_eq!(trainer.training()?.step_function().traces(), 2, "one for each size of batch");
    Ok(())
}

#[test]
fn a_schedule_traces_nothing_again_and_penalties_are_part_of_the_loss() -> Result<()> {
    let (x, y) = quadrants(64, 3, 2)?;
    let model = || Mlp::new(&[3, 8, 4], 5);
    let rate = Schedule::cosine(0.1, 3, 20);
    let mut trainer = compile(model()?, Sgd::new(rate.clone()), cross_entropy(), ())?;
    let history = trainer.fit((&x, &y), Fit { epochs: 4, batch_size: 16, ..quiet() })?;
    assert_eq!(trainer.training()?.step_function().traces(), 1);
    assert_eq!(history.epochs[3].rate, rate.at(15));
    let plain = compile(model()?, Sgd::new(0.0), cross_entropy(), ())?.evaluate((&x, &y), 64)?.loss();
    let penalty = Penalty { l1: 0.5, l2: 0.25 };
    let with = model()?.penalised(penalty);
    let kernel = with.weights()[0].variable.value().to_vec::<f32>()?;
    let added: f64 = kernel.iter().map(|w| f64::from(0.5 * w.abs() + 0.25 * w * w)).sum();
    let mut trainer = compile(with, Sgd::new(0.0), cross_entropy(), ())?;
    let loss = trainer.train_on_batch(&x, &y)?.loss();
    assert!((loss - plain - added).abs() < 1e-5, "{loss} {plain} {added}");
    Ok(())
}

#[test]
fn a_step_reads_nothing_back() -> Result<()> {
    use situ_testkit::simulated::SimulatedGpu;
    let gpu = SimulatedGpu::new();
    let runtime = machines::cpu_and(&[&gpu]);
    with_runtime(&runtime, || {
        let (x, y) = quadrants(64, 3, 2)?;
        let model = situ_tensor::with_device("/GPU:0", || Mlp::new(&[3, 8, 4], 5))?;
        let mut trainer = compile(model, Adam::new(0.01), cross_entropy(), [Accuracy])?;
        let (x, y) = (x.to_device("/GPU:0")?, y.to_device("/GPU:0")?);
        let _there = situ_tensor::device("/GPU:0")?;
        trainer.train_on_batch(&x, &y)?;
        runtime.clear_ledger();
        let batches = Dataset::from_generator(move || {
            let batch = (x.clone(), y.clone());
            std::iter::repeat_n(batch, 10).map(Ok)
        });
        trainer.fit(&batches, quiet())?;
        let copies: u64 = runtime.ledger().entries.iter().map(|e| e.count).sum();
        // The sums are read once at the end of the epoch, zeros and rates are written.
        assert!(copies <= 4, "{:?}", runtime.ledger().entries);
        Ok(())
    })
}

#[test]
fn weights_are_the_same_bits_for_any_number_of_threads() -> Result<()> {
    let trained = |threads| -> Result<Vec<u32>> {
        let runtime = machines::cpu();
        runtime.set_intra_op_threads(Some(threads))?;
        with_runtime(&runtime, || {
            let (x, y) = quadrants(600, 40, 1)?;
            let model = Mlp::new(&[40, 300, 4], 3)?.dropout(0.2);
            let mut trainer = Trainer::new(model, Adam::new(0.01), cross_entropy(), [Accuracy], 9)?;
            trainer.fit((&x, &y), Fit { epochs: 2, batch_size: 100, ..quiet() })?;
            Ok(bits(trainer.weights()))
        })
    };
    let one = trained(1)?;
    assert_eq!(one, trained(2)?);
    assert_eq!(one, trained(3)?);
    Ok(())
}

#[test]
fn dropout_draws_other_numbers_in_each_step_of_one_trace() -> Result<()> {
    let (x, y) = quadrants(64, 3, 2)?;
    let model = Mlp::new(&[3, 64, 4], 5)?.dropout(0.5);
    let mut trainer = compile(model, Sgd::new(0.0), cross_entropy(), ())?;
    let losses: Vec<f64> =
        (0..4).map(|_| Ok(trainer.train_on_batch(&x, &y)?.loss())).collect::<Result<_>>()?;
    assert!(losses.windows(2).all(|pair| pair[0] != pair[1]), "{losses:?}");
    assert_eq!(trainer.training()?.step_function().traces(), 1);
    Ok(())
}

#[test]
fn bad_input_is_an_error_and_training_goes_on_after_it() -> Result<()> {
    let (x, y) = quadrants(64, 3, 2)?;
    let mut trainer = compile(Mlp::new(&[3, 8, 4], 5)?, Adam::new(0.01), cross_entropy(), [Accuracy])?;
    let before = bits(trainer.weights());
    let wide = situ_tensor::zeros(&[8, 5], DType::F32)?;
    let labels = situ_tensor::zeros(&[8], DType::I32)?;
    let error = trainer.fit((&wide, &labels), quiet()).unwrap_err().to_string();
    assert!(error.contains("matmul"), "{error}");
    let error = trainer.fit((&x, &labels), quiet()).unwrap_err().to_string();
    assert!(error.contains("64") && error.contains('8'), "{error}");
    let error = trainer.fit((&x, &y), Fit { batch_size: 0, ..quiet() }).unwrap_err().to_string();
    assert!(error.contains("batch"), "{error}");
    let none = (situ_tensor::zeros(&[0, 3], DType::F32)?, situ_tensor::zeros(&[0], DType::I32)?);
    let error = trainer.fit(none, quiet()).unwrap_err().to_string();
    assert!(error.contains("no batches"), "{error}");
    assert_eq!(bits(trainer.weights()), before);
    assert_eq!(trainer.steps(), 0);
    trainer.fit((&x, &y), quiet())?;
    assert_eq!(trainer.steps(), 2);
    Ok(())
}

#[test]
fn a_dataset_of_batches_is_used_as_it_is() -> Result<()> {
    let (x, y) = quadrants(64, 3, 2)?;
    let batches: Dataset<(Tensor, Tensor)> = Dataset::from_tensors((x, y))?.batch_exact(10).prefetch(2);
    let mut trainer = compile(Mlp::new(&[3, 8, 4], 5)?, Adam::new(0.01), cross_entropy(), ())?;
    let history = trainer.fit(&batches, Fit { epochs: 2, batch_size: 7, ..quiet() })?;
    assert_eq!(history.epochs.iter().map(|e| e.steps).collect::<Vec<_>>(), [6, 6]);
    Ok(())
}

#[test]
fn a_model_without_weights_is_built_for_the_first_batch() -> Result<()> {
    /// A model that makes itself when it is told the shape.
    #[derive(Debug)]
    struct Late(Option<Mlp>);
    impl Model for Late {
        fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
            self.0.as_ref().unwrap().forward(x, pass)
        }
        fn weights(&self) -> Vec<situ_nn::Weight> {
            self.0.as_ref().map_or(vec![], |m| m.weights())
        }
        fn prepare(&mut self, input: &situ_core::Shape) -> Result<()> {
            self.0 = Some(Mlp::new(&[input.dims()[1], 8, 4], 1)?);
            Ok(())
        }
    }
    let (x, y) = quadrants(64, 3, 2)?;
    let mut trainer = compile(Late(None), Adam::new(0.01), cross_entropy(), ())?;
    let error = trainer.predict(&x).unwrap_err().to_string();
    assert!(error.contains("no weights yet"), "{error}");
    trainer.fit((&x, &y), quiet())?;
    assert_eq!(trainer.weights().len(), 4);
    assert_eq!(trainer.predict(&x)?.shape().dims(), [64, 4]);
    Ok(())
}
