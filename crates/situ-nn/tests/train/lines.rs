//! The ops of training are said to be of lines of the program, and not of this library's.

use situ_core::{DType, Result};
use situ_nn::metrics::{self, BinaryAccuracy, MeanAbsoluteError, Precision, TopK};
use situ_nn::optimizers::{Adagrad, Adam, AdamW, Clip, Optimizer, RmsProp, Sgd, kernels};
use situ_nn::{
    BatchNorm, Dense, Dropout, Fit, Layer, Maker, Model, Pass, Penalty, Progress, Sequential, losses,
};
use situ_tensor::{Function, Tape, Tensor, full, with_device, with_runtime, zeros};
use situ_testkit::machines::cpu_and;
use situ_testkit::simulated::SimulatedGpu;

fn here(function: &Function, inputs: &[&Tensor]) -> Result<()> {
    let places = function.places(inputs)?;
    let elsewhere: Vec<String> = places
        .iter()
        .map(|place| format!("{} {}", place.full_name(), place.source))
        // A number that the function captured was made before it: it is of no line.
        .filter(|text| !text.contains(file!()) && text != "fill unknown")
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    Ok(())
}

#[test]
fn the_ops_of_a_step_are_of_lines_of_the_program() -> Result<()> {
    let (x, y) = (zeros(&[8, 3], DType::F32)?, full(&[8, 1], 1.0f32)?);
    let optimizers: [Optimizer; 6] = [
        Sgd { momentum: 0.9, clip: Clip::GlobalNorm(1.0), ..Sgd::new(0.1) }.into(),
        Adam { clip: Clip::Norm(1.0), ..Adam::new(0.1) }.into(),
        AdamW { clip: Clip::Value(1.0), ..AdamW::new(0.1) }.decay_only(kernels),
        RmsProp { momentum: 0.9, centered: true, ..RmsProp::new(0.1) }.into(),
        RmsProp::new(0.1).into(),
        Adagrad::new(0.1).into(),
    ];
    for optimizer in optimizers {
        let own = metrics::Custom::new("own", |predicted, target| predicted.less(target));
        let model = Sequential::new()
            .add(Dense::new(4).kernel_penalty(Penalty { l1: 0.1, l2: 0.1 }))
            .add(BatchNorm::new())
            .add(Dropout::new(0.5))
            .add(Dense::new(1));
        let mut trainer = model.compile(
            optimizer,
            losses::MeanSquaredError::new(),
            (BinaryAccuracy::new(), MeanAbsoluteError::new(), Precision::new(), TopK::new(1), own),
        )?;
        trainer.build(x.shape())?;
        here(trainer.training()?.step_function(), &[&x, &y])?;
    }
    Ok(())
}

#[test]
fn a_loss_of_the_programs_own_and_a_loop_of_its_own_are_of_its_lines() -> Result<()> {
    let (x, y) = (zeros(&[8, 3], DType::F32)?, full(&[8, 1], 1.0f32)?);
    let own = losses::Custom::new("own", |predicted: &Tensor, target: &Tensor| predicted.sub(target)?.abs());
    let mut trainer = Sequential::new().add(Dense::new(1)).compile(Adam::new(0.1), own, ())?;
    trainer.build(x.shape())?;
    here(trainer.training()?.step_function(), &[&x, &y])?;

    let model = Dense::new(1).built(&[3], &mut Maker::new(1))?;
    let adam = Adam { clip: Clip::GlobalNorm(1.0), ..Adam::new(0.1) };
    let stepper = Optimizer::from(adam).bind(&model.weights())?;
    let (update, weights) = (stepper.updater(), model.weights());
    let step = Function::new(move |x| {
        let tape = Tape::new();
        let loss = model.forward(x, &Pass::training(1, None))?.square()?.mean(&[])?;
        update(&tape.gradients(&loss, weights.iter().map(|w| &w.variable))?)?;
        Ok(loss)
    });
    here(&step, &[&x])
}

#[test]
fn a_metric_that_the_program_calls_is_of_its_lines() -> Result<()> {
    use situ_nn::Metric;
    let function = Function::new(|x| {
        let zeros = zeros(&[8], DType::I32)?;
        situ_tensor::concat(
            &[
                &metrics::SparseAccuracy::new().batch(x, &zeros)?,
                &TopK::new(2).batch(x, &zeros)?,
                &metrics::Mean::new().batch(x, x)?,
                &metrics::Recall::new().batch(x, x)?,
            ],
            0,
        )
    });
    here(&function, &[&zeros(&[8, 3], DType::F32)?])
}

#[test]
fn parts_of_a_tensor_are_of_the_line_that_split_it() -> Result<()> {
    let function = Function::new(|x| {
        let parts = x.split(2, 1)?;
        parts[0].mul(&parts[1])
    });
    let x = zeros(&[8, 4], DType::F32)?;
    let slices = function.places(&[&x])?.iter().filter(|place| place.full_name() == "slice").count();
    assert_eq!(slices, 2);
    here(&function, &[&x])
}

#[test]
fn copies_that_fit_makes_are_of_the_line_that_called_it() -> Result<()> {
    let runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let (x, y) = (zeros(&[64, 3], DType::F32)?, full(&[64, 1], 1.0f32)?);
        let loss = losses::MeanSquaredError::new();
        let model =
            || Sequential::new().add(Dense::new(1)).compile(Adam::new(0.1), loss, (BinaryAccuracy::new(),));
        let mut trainer = with_device("/GPU:0", model)?;
        trainer.build(x.shape())?;
        let before = runtime.ledger();
        let fit = Fit { epochs: 2, batch_size: 16, progress: Progress::Silent, ..Fit::default() };
        trainer.fit((&x, &y), fit)?;
        let line = format!("{}:{}", file!(), line!() - 1);
        trainer.evaluate((&x, &y), 16)?;
        let known = |location| before.entries.iter().any(|e| e.location == location);
        let new: Vec<_> = runtime.ledger().entries.into_iter().filter(|e| !known(e.location)).collect();
        let ours: Vec<String> = new.iter().map(|e| e.location.to_string()).collect();
        assert!(ours.iter().all(|at| at.contains(file!())), "{ours:#?}");
        assert!(ours.contains(&line), "{line} is not among {ours:#?}");
        Ok(())
    })
}
