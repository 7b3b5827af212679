//! Gradients of layers and losses, against differences in f64.

use crate::numbers::{numbers, some, tensor_of};
use situ_core::{DType, Result};
use situ_ir::ops::window::Format;
use situ_nn::losses::{
    BinaryCrossEntropy, CategoricalCrossEntropy, Huber, MeanAbsoluteError, MeanSquaredError,
    SparseCategoricalCrossEntropy,
};
use situ_nn::{
    Activate, Activation, AvgPool2D, BatchNorm, Conv2D, Dense, Dropout, Embedding, Flatten, GlobalAvgPool2D,
    GlobalMaxPool2D, Layer, LayerNorm, Loss, Maker, MaxPool2D, Model, Pass, Residual, Sequential,
};
use situ_tensor::{Padding, Source, Tape, Tensor, constant, tensor};

/// A sum of the result with fixed factors, so that no gradient cancels.
fn scalar(y: &Tensor) -> Tensor {
    y.mul(&tensor_of(y.shape().dims(), 99)).unwrap().sum(&[]).unwrap()
}

/// Compares gradients by the input (if it is a float) and by every weight with differences.
fn check(what: &str, model: &dyn Model, x: &Tensor, pass: fn() -> Pass) {
    let value = |x: &Tensor| scalar(&model.forward(x, &pass()).unwrap()).item::<f64>().unwrap();
    let weights = model.weights();
    let trained: Vec<_> = weights.iter().filter(|w| w.trainable).collect();
    let tape = Tape::new();
    let watched = if x.dtype().is_float() { tape.watch(x).unwrap() } else { x.clone() };
    let y = scalar(&model.forward(&watched, &pass()).unwrap());
    let mut sources: Vec<Source<'_>> = trained.iter().map(|w| Source::from(&w.variable)).collect();
    if x.dtype().is_float() {
        sources.push(Source::from(&watched));
    }
    let found = tape.gradients(&y, sources).unwrap();
    let far = |got: f64, above: f64, below: f64, of: &str, at: usize| {
        let slope = (above - below) / 2e-5;
        assert!(
            (got - slope).abs() <= 2e-6 * slope.abs().max(1.0),
            "{what}, by {of}[{at}]: {got}, not {slope}"
        );
    };
    for (weight, gradient) in trained.iter().zip(&found) {
        let gradient =
            numbers(gradient.as_ref().unwrap_or_else(|| panic!("{what}: none by {}", weight.name)));
        let (variable, held) = (&weight.variable, numbers(&weight.variable.value()));
        let moved = |at: usize, by: f64| {
            let mut values = held.clone();
            values[at] += by;
            variable.assign(&constant(&values, variable.shape().dims()).unwrap()).unwrap();
            value(x)
        };
        for at in (0..held.len()).step_by(held.len().div_ceil(12)) {
            far(gradient[at], moved(at, 1e-5), moved(at, -1e-5), &weight.name, at);
        }
        variable.assign(&constant(&held, variable.shape().dims()).unwrap()).unwrap();
    }
    if x.dtype().is_float() {
        let gradient = numbers(found.last().unwrap().as_ref().expect("by the input"));
        let held = numbers(x);
        let moved = |at: usize, by: f64| {
            let mut values = held.clone();
            values[at] += by;
            value(&constant(&values, x.shape().dims()).unwrap())
        };
        for at in (0..held.len()).step_by(held.len().div_ceil(12)) {
            far(gradient[at], moved(at, 1e-5), moved(at, -1e-5), "the input", at);
        }
    }
}

fn check_layer(what: &str, layer: impl Layer, dims: &[usize]) {
    let mut layer = layer;
    let shape = situ_core::Shape::new(dims).unwrap();
    layer.build(&shape, &mut Maker::new(3).of(DType::F64)).unwrap();
    check(what, &layer, &tensor_of(dims, 21), || Pass::training(5, None));
}

#[test]
fn gradients_of_layers_are_the_slopes_of_their_results() {
    check_layer("dense", Dense::new(4).activation(Activation::Tanh), &[3, 5]);
    check_layer("dense of rows", Dense::new(4).activation(Activation::Gelu), &[2, 3, 5]);
    let conv = |format| Conv2D::new(4, [3, 2]).stride([2, 1]).padding(Padding::Same).groups(2).format(format);
    check_layer("conv, channels first", conv(Format::ChannelsFirst), &[2, 2, 5, 4]);
    check_layer("conv, channels last", conv(Format::ChannelsLast), &[2, 5, 4, 2]);
    check_layer("max pool", MaxPool2D::new([2, 2]), &[2, 2, 4, 4]);
    check_layer("average pool", AvgPool2D::new([3, 3]).stride([1, 1]).padding(Padding::Same), &[2, 2, 4, 4]);
    check_layer("global average", GlobalAvgPool2D::new(), &[2, 3, 4, 4]);
    check_layer("global max", GlobalMaxPool2D::new().format(Format::ChannelsLast), &[2, 4, 4, 3]);
    check_layer("batch norm", BatchNorm::new(), &[6, 3]);
    check_layer("batch norm of images", BatchNorm::new().format(Format::ChannelsLast), &[3, 2, 2, 4]);
    check_layer("layer norm", LayerNorm::new(), &[4, 6]);
    check_layer("dropout", Dropout::new(0.4), &[4, 6]);
    check_layer("softmax", Activate::new(Activation::Softmax), &[3, 5]);
    check_layer("residual", Residual::new().add(Dense::new(5)).activation(Activation::Swish), &[3, 5]);
}

#[test]
fn gradients_go_through_a_whole_network() {
    let mut model = Sequential::new()
        .add(Conv2D::new(4, [3, 3]).use_bias(false))
        .add(BatchNorm::new())
        .add(Activate::new(Activation::Elu(1.0)))
        .add(MaxPool2D::new([2, 2]))
        .add(Flatten::new())
        .add(Dense::new(5).activation(Activation::Sigmoid))
        .add(Residual::new().add(Dense::new(5)))
        .add(Dense::new(3).activation(Activation::LogSoftmax));
    let dims = [4, 2, 6, 6];
    model.build(&situ_core::Shape::new(&dims).unwrap(), &mut Maker::new(8).of(DType::F64)).unwrap();
    check("network", &model, &tensor_of(&dims, 31), || Pass::training(5, None));
    check("network in use", &model, &tensor_of(&dims, 31), Pass::inference);
}

#[test]
fn the_gradient_by_an_embedding_is_of_the_rows_that_were_used() -> Result<()> {
    let mut layer = Embedding::new(5, 3);
    layer.build(&situ_core::Shape::new(&[2, 2])?, &mut Maker::new(1).of(DType::F64))?;
    check("embedding", &layer, &tensor([[1, 4], [1, 0]])?, Pass::inference);
    Ok(())
}

#[test]
fn gradients_of_losses_are_their_slopes() -> Result<()> {
    let logits = some(12, 41).iter().map(|v| v * 3.0).collect::<Vec<_>>();
    let likely: Vec<f64> = some(12, 42).iter().map(|v| 0.5 + 0.4 * v).collect();
    let labels = tensor([2, 0, 1])?;
    let shares = tensor_of(&[3, 4], 43).softmax(-1)?;
    let yes = tensor([[1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 1, 0]])?;
    let cases: Vec<(Box<dyn Loss>, &[f64], &Tensor)> = vec![
        (Box::new(SparseCategoricalCrossEntropy::from_logits()), &logits, &labels),
        (Box::new(SparseCategoricalCrossEntropy::from_logits().label_smoothing(0.1)), &logits, &labels),
        (Box::new(SparseCategoricalCrossEntropy::from_probabilities()), &likely, &labels),
        (Box::new(CategoricalCrossEntropy::from_logits().label_smoothing(0.2)), &logits, &shares),
        (Box::new(CategoricalCrossEntropy::from_probabilities()), &likely, &shares),
        (Box::new(BinaryCrossEntropy::from_logits()), &logits, &yes),
        (Box::new(BinaryCrossEntropy::from_probabilities().label_smoothing(0.1)), &likely, &yes),
        (Box::new(MeanSquaredError::new()), &logits, &shares),
        (Box::new(MeanAbsoluteError::new()), &logits, &shares),
        (Box::new(Huber::new(0.7)), &logits, &shares),
    ];
    for (loss, values, target) in cases {
        let of = |values: &[f64]| -> f64 {
            let x = constant(values, &[3, 4]).unwrap();
            scalar(&loss.of(&x, target).unwrap()).item::<f64>().unwrap()
        };
        let tape = Tape::new();
        let x = tape.watch(&constant(values, &[3, 4])?)?;
        let y = scalar(&loss.of(&x, target)?);
        let found = numbers(&tape.gradient(&y, &x)?.expect("connected"));
        for at in 0..12 {
            let moved = |by: f64| {
                let mut list = values.to_vec();
                list[at] += by;
                of(&list)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((found[at] - slope).abs() < 1e-7, "{}[{at}]: {}, not {slope}", loss.name(), found[at]);
        }
    }
    // At a logit of exactly 0, where forms with |x| have no slope.
    let tape = Tape::new();
    let x = tape.watch(&tensor([[0.0f64]])?)?;
    let y = BinaryCrossEntropy::from_logits().of(&x, &tensor([[1]])?)?;
    assert_eq!(numbers(&tape.gradient(&y, &x)?.expect("connected")), [-0.5]);
    Ok(())
}
