//! What goes wrong is said with the layer's name, what it takes, what it was given, and what to do.

use situ_core::{DType, Result};
use situ_ir::ops::window::Format;
use situ_nn::losses::{
    BinaryCrossEntropy, CategoricalCrossEntropy, Huber, MeanSquaredError, SparseCategoricalCrossEntropy,
};
use situ_nn::metrics::{Accuracy, Auc, SparseAccuracy, TopK};
use situ_nn::{
    AvgPool2D, BatchNorm, Conv2D, Dense, Dropout, Embedding, Flatten, GlobalAvgPool2D, Layer, LayerNorm,
    Loss, Maker, MaxPool2D, Metric, Model, Pass, Reshape, Residual, Sequential,
};
use situ_tensor::{Padding, Tensor, tensor, zeros};

fn text<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.expect_err("an error").to_string()
}

fn of(dims: &[usize]) -> Tensor {
    zeros(dims, DType::F32).unwrap()
}

fn run(model: &dyn Model, x: &Tensor) -> String {
    text(model.forward(x, &Pass::training(0, None)))
}

fn assert_says(error: &str, words: &[&str]) {
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn a_layer_says_what_it_takes() {
    let mut maker = Maker::new(0);
    let dense = Dense::new(4).named("hidden").built(&[784], &mut maker).unwrap();
    assert_says(
        &run(&dense, &of(&[32, 28])),
        &["Dense", "f32[32, 28]", "hidden", "f32[batch, .., 784]", "flatten"],
    );
    assert_says(&run(&dense, &zeros(&[32, 784], DType::F64).unwrap()), &["f64[32, 784]", "hidden", "cast"]);
    assert_says(&run(&dense, &of(&[784])), &["hidden"]);
    let conv = Conv2D::new(8, [3, 3]).built(&[3, 8, 8], &mut maker).unwrap();
    assert_says(
        &run(&conv, &of(&[2, 8, 8, 3])),
        &["Conv2D", "conv2d", "f32[batch, 3, height, width]", "format"],
    );
    assert_says(&run(&conv, &of(&[2, 3, 2, 2])), &["in the layer conv2d", "does not fit", "pad"]);
    assert_says(&run(&conv, &of(&[3, 8, 8])), &["[batch, 3, height, width]"]);
    let norm = BatchNorm::new().built(&[3, 8, 8], &mut maker).unwrap();
    assert_says(&run(&norm, &of(&[2, 4, 8, 8])), &["BatchNorm", "batch_norm", "[batch, 3, ..]"]);
    let norm = LayerNorm::new().built(&[6], &mut maker).unwrap();
    assert_says(&run(&norm, &of(&[2, 5])), &["LayerNorm", "[batch, .., 6]"]);
    let words = Embedding::new(10, 4).built(&[5], &mut maker).unwrap();
    assert_says(&run(&words, &of(&[2, 5])), &["Embedding", "0 to 9", "i32", "cast"]);
    let error = words.forward(&tensor([[11]]).unwrap(), &Pass::inference()).and_then(|y| y.to_vec::<f32>());
    assert_says(&text(error), &["index", "11"]);
    assert_says(
        &run(&MaxPool2D::new([4, 4]).named("p"), &of(&[1, 1, 2, 2])),
        &["in the layer p", "does not fit"],
    );
    assert_says(&run(&GlobalAvgPool2D::new().named("g"), &of(&[1, 1])), &["in the layer g", "four axes"]);
    assert_says(&run(&Reshape::new(&[7, -1]), &of(&[2, 10])), &["Reshape", "[7, -1]", "f32[2, 10]"]);
    assert_says(&run(&Reshape::new(&[-1, -1]), &of(&[2, 10])), &["Reshape"]);
    assert_says(&run(&Reshape::new(&[-2, 5]), &of(&[2, 10])), &["Reshape"]);
    assert_says(&run(&Flatten::new(), &of(&[])), &["Flatten", "[batch, ..]"]);
    assert_says(&run(&Dropout::new(1.5), &of(&[2, 2])), &["Dropout", "1.5", "below 1"]);
}

#[test]
fn a_layer_without_weights_says_how_it_gets_them() {
    for layer in [&Dense::new(3) as &dyn Model, &Conv2D::new(3, [1, 1]), &BatchNorm::new(), &LayerNorm::new()]
    {
        assert_says(&run(layer, &of(&[1, 1, 1, 1])), &["no weights yet", "built"]);
    }
    let model = Sequential::new().add(Dense::new(3).named("first"));
    assert_says(&run(&model, &of(&[1, 1])), &["first", "no weights yet"]);
}

#[test]
fn what_cant_be_built_is_found_when_it_is_built() {
    let build = |layer: Sequential, dims: &[usize]| text(layer.built(dims, &mut Maker::new(0)));
    assert_says(
        &build(Sequential::new().add(Dense::new(3)), &[]),
        &["Dense", "dense", "[batch, .., inputs]"],
    );
    assert_says(
        &build(Sequential::new().add(Conv2D::new(4, [9, 9])), &[1, 8, 8]),
        &["in the layer conv2d", "does not fit"],
    );
    assert_says(
        &build(Sequential::new().add(Conv2D::new(4, [3, 3]).groups(3)), &[4, 8, 8]),
        &["3 groups", "divide"],
    );
    assert_says(
        &build(Sequential::new().add(Conv2D::new(4, [3, 3]).stride([0, 1])), &[4, 8, 8]),
        &["at least 1"],
    );
    assert_says(&build(Sequential::new().add(Conv2D::new(4, [0, 3])), &[4, 8, 8]), &["at least 1"]);
    assert_says(
        &build(Sequential::new().add(Conv2D::new(4, [3, 3])), &[8]),
        &["Conv2D", "[batch, channels, height, width]"],
    );
    assert_says(&build(Sequential::new().add(Conv2D::new(4, [3, 3]).groups(0)), &[4, 8, 8]), &["0 groups"]);
    assert_says(
        &build(Sequential::new().add(BatchNorm::new().format(Format::ChannelsLast)), &[]),
        &["[batch, .., channels]"],
    );
    for norm in
        [BatchNorm::new().momentum(1.5), BatchNorm::new().epsilon(-1.0), BatchNorm::new().epsilon(f64::NAN)]
    {
        assert_says(&build(Sequential::new().add(norm), &[3]), &["batch_norm", "momentum", "epsilon"]);
    }
    assert_says(&build(Sequential::new().add(Dense::new(usize::MAX)), &[3]), &["shape"]);
    assert_says(&build(Sequential::new().add(Conv2D::new(4, [usize::MAX, 2])), &[4, 8, 8]), &["shape"]);
    assert_says(&build(Sequential::new().add(Embedding::new(usize::MAX, 2)), &[4]), &["shape"]);
    let dropout = Sequential::new().add(Dropout::new(1.0));
    assert_says(&build(dropout, &[3]), &["dropout", "below 1"]);
    let pool = Sequential::new().add(AvgPool2D::new([3, 3]).padding(Padding::Explicit([[9, 9]; 2])));
    assert_says(&build(pool, &[1, 4, 4]), &["in the layer avg_pool2d", "padding"]);
    let block = Sequential::new().add(Residual::new().add(Dense::new(4)));
    assert_says(&build(block, &[3]), &["residual", "[1, 4]", "[1, 3]", "projection"]);
    assert_says(&build(Sequential::new().add(Flatten::new()), &[1; 9]), &["at most 8"]);
}

#[test]
fn losses_and_metrics_show_both_sides_of_what_does_not_fit() {
    let (a, b) = (of(&[32, 10]), of(&[32]));
    let both = ["f32[32, 10]", "f32[32]"];
    assert_says(&text(MeanSquaredError::new().of(&a, &b)), &both);
    assert_says(&text(CategoricalCrossEntropy::from_logits().of(&a, &b)), &[both[0], both[1], "sparse"]);
    assert_says(&text(SparseCategoricalCrossEntropy::from_logits().of(&a, &b)), &["integers", "cast"]);
    assert_says(&text(SparseCategoricalCrossEntropy::from_logits().of(&a, &a)), &["one class number"]);
    assert_says(&text(SparseCategoricalCrossEntropy::from_logits().of(&b, &b)), &["one class number"]);
    assert_says(
        &text(BinaryCrossEntropy::from_logits().label_smoothing(2.0).of(&b, &b)),
        &["smoothing of 2"],
    );
    assert_says(&text(Huber::new(-1.0).of(&b, &b)), &["delta of -1"]);
    assert_says(&text(MeanSquaredError::new().of(&of(&[]), &of(&[]))), &["batch"]);
    assert_says(&text(Accuracy::new().batch(&a, &b)), &[both[0], both[1], "SparseAccuracy"]);
    assert_says(&text(SparseAccuracy::new().batch(&a, &b)), &["integers"]);
    assert_says(&text(TopK::new(2).batch(&b, &b)), &["classes"]);
    assert_says(&text(Auc::roc().thresholds(1).batch(&b, &b)), &["1 thresholds", "from 2"]);
    let beyond = Auc::roc().thresholds(usize::MAX);
    assert_says(&text(beyond.batch(&b, &b)), &["thresholds", "from 2"]);
    assert_eq!((beyond.sums(), beyond.figure(&[])), (usize::MAX, 0.0));
    let label = SparseCategoricalCrossEntropy::from_logits().of(&of(&[1, 3]), &tensor([3]).unwrap());
    assert_says(&text(label.and_then(|each| each.to_vec::<f32>())), &["label 3", "0 to 2"]);
}

#[test]
fn absurd_sizes_are_errors() {
    const MOST: usize = usize::MAX;
    let image: &[usize] = &[3, 8, 8];
    let layers: Vec<(Box<dyn Layer>, &[usize])> = vec![
        (Box::new(Dense::new(MOST)), &[4]),
        (Box::new(Dense::new(1 << 62)), &[1 << 40]),
        (Box::new(Conv2D::new(MOST, [3, 3])), image),
        (Box::new(Conv2D::new(4, [MOST, MOST])), image),
        (Box::new(Conv2D::new(4, [3, 3]).stride([MOST, 0])), image),
        (Box::new(Conv2D::new(4, [3, 3]).groups(MOST)), image),
        (Box::new(MaxPool2D::new([MOST, MOST])), image),
        (Box::new(Embedding::new(MOST, MOST)), &[4]),
        (Box::new(Embedding::new(1 << 40, 1 << 30)), &[4]),
    ];
    for (mut layer, input) in layers {
        let mut dims = vec![1];
        dims.extend(input);
        let shape = situ_core::Shape::new(&dims).unwrap();
        let built = Maker::new(0).build(&mut *layer, &shape);
        assert!(built.is_err(), "{layer:?}");
    }
}
