//! Layers whose weights stay as they are.

use crate::model::{bits, quadrants};
use situ_core::Result;
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::optimizers::Adam;
use situ_nn::{
    Activation, BatchNorm, Dense, Fit, Layer, Maker, Model, Pass, Penalty, Progress, Residual, Sequential,
    Trainer,
};
use situ_tensor::tensor;

fn quiet() -> Fit<'static> {
    Fit { batch_size: 64, progress: Progress::Silent, ..Fit::default() }
}

fn trunk() -> Sequential {
    let hidden = Dense::new(16).activation(Activation::Relu).kernel_penalty(Penalty::l2(0.1));
    Sequential::new().add(hidden).add(BatchNorm::new()).named("trunk")
}

fn compiled(model: Sequential) -> Result<Trainer<Sequential>> {
    model.compile(Adam::new(0.01), SparseCategoricalCrossEntropy::from_logits(), ())
}

/// How many ops of that name a step has.
fn count(trainer: &Trainer<Sequential>, name: &str) -> Result<usize> {
    let (x, y) = quadrants(64, 3, 2)?;
    let places = trainer.training()?.step_function().places(&[&x, &y])?;
    Ok(places.iter().filter(|p| p.name == name).count())
}

#[test]
fn frozen_layers_stay_as_they_are_and_cost_no_gradient_until_they_are_let_go() -> Result<()> {
    let (x, y) = quadrants(64, 3, 2)?;
    let model = |trainable| {
        let head = Sequential::new().add(trunk().trainable(trainable)).add(Dense::new(4));
        head.built(&[3], &mut Maker::new(1))
    };
    let mut free = compiled(model(true)?)?;
    free.fit((&x, &y), quiet())?;
    let mut frozen = compiled(model(false)?)?;
    let before = bits(frozen.weights());
    frozen.fit((&x, &y), Fit { epochs: 3, ..quiet() })?;
    let after = bits(frozen.weights());
    let of_trunk = 3 * 16 + 16 + 4 * 16;
    assert_eq!(before[..of_trunk], after[..of_trunk], "kernel, bias, scale, shift and moving means");
    assert_ne!(before[of_trunk..], after[of_trunk..], "the head learns");
    // Of the gradients, those by the head's kernel and bias alone; the penalty of a frozen kernel is no part
    // of the loss.
    assert_eq!([count(&free, "adam")?, count(&frozen, "adam")?], [6, 2]);
    assert_eq!([count(&free, "matmul")?, count(&frozen, "matmul")?], [5, 3]);

    let mut model = frozen.into_model()?;
    assert_eq!(bits(&model.weights()), after, "the model comes back as it was trained");
    model.set_trainable("trunk", true)?;
    let mut all = compiled(model)?;
    all.fit((&x, &y), quiet())?;
    assert_ne!(bits(all.weights())[..of_trunk], after[..of_trunk]);
    Ok(())
}

#[test]
fn a_summary_says_what_is_frozen() -> Result<()> {
    let model = Sequential::new().add(Dense::new(2).trainable(false)).add(Dense::new(1));
    let summary = model.built(&[3], &mut Maker::new(1))?.summary();
    assert_eq!((summary.parameters(), summary.trainable()), (11, 3));
    let frozen: Vec<bool> = summary.rows.iter().map(|row| row.is_frozen()).collect();
    assert_eq!(frozen, [true, false]);
    let text = summary.to_string();
    assert!(text.lines().nth(2).unwrap().ends_with("CPU:0, frozen"), "{text}");
    assert!(text.contains("11 parameters, 3 of them trainable"), "{text}");
    Ok(())
}

#[test]
fn batch_norm_in_a_frozen_block_normalises_by_what_it_learned() -> Result<()> {
    let x = tensor([[1.0f32, 2.0], [3.0, 8.0]])?;
    let block = |trainable| {
        let block = Residual::new().add(Sequential::new().add(BatchNorm::new())).trainable(trainable);
        block.built(&[2], &mut Maker::new(0))
    };
    let (free, frozen) = (block(true)?, block(false)?);
    let training = |model: &Residual| model.forward(&x, &Pass::training(0, None))?.to_vec::<f32>();
    let used = frozen.forward(&x, &Pass::inference())?.to_vec::<f32>()?;
    assert_eq!(training(&frozen)?, used);
    assert_ne!(training(&free)?, used);
    assert_eq!(frozen.weights()[2].variable.value().to_vec::<f32>()?, [0.0, 0.0]);
    // What is frozen ends with the block.
    let pass = Pass::training(0, None);
    frozen.forward(&x, &pass)?;
    assert_ne!(free.forward(&x, &pass)?.to_vec::<f32>()?, used);
    Ok(())
}

#[test]
fn a_layer_that_is_not_there_is_an_error_that_lists_those_that_are() -> Result<()> {
    let mut model = Sequential::new().add(Dense::new(2).named("first")).add(Dense::new(1));
    model.set_trainable("first", false)?;
    let mut model = model.built(&[3], &mut Maker::new(1))?;
    let error = model.set_trainable("second", false).unwrap_err().to_string();
    assert!(error.contains("there is no layer second") && error.contains("first, dense"), "{error}");
    assert_eq!(model.summary().trainable(), 3);
    Ok(())
}
