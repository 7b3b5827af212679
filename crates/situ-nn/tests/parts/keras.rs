//! Figures that Keras 3.15 gives for the same inputs, which are made by the same formulas.

use crate::numbers::{assert_close, numbers};
use situ_core::Result;
use situ_ir::ops::window::Format;
use situ_nn::losses::{BinaryCrossEntropy, CategoricalCrossEntropy, Huber, SparseCategoricalCrossEntropy};
use situ_nn::metrics::{Auc, BinaryAccuracy, Precision, Recall};
use situ_nn::{BatchNorm, Layer, LayerNorm, Loss, Maker, Metric, Model, Pass};
use situ_tensor::{Tensor, constant, tensor};

/// `p = ((37·i) mod 101) / 101`, and yes where `(37·i) mod 101 + (53·i) mod 97 > 95`, for i below 60.
fn answers() -> Result<[Tensor; 2]> {
    let likely: Vec<f32> = (0..60).map(|i| (i * 37 % 101) as f32 / 101.0).collect();
    let yes: Vec<i32> = (0..60).map(|i| i32::from(i * 37 % 101 + i * 53 % 97 > 95)).collect();
    Ok([constant(&likely, &[60])?, constant(&yes, &[60])?])
}

#[test]
fn metrics_are_those_of_keras() -> Result<()> {
    let [likely, yes] = answers()?;
    let cases: [(Box<dyn Metric>, f64); 7] = [
        (Box::new(Auc::roc()), 0.849_833_190_441_131_6),
        (Box::new(Auc::roc().thresholds(11)), 0.846_496_105_194_091_8),
        (Box::new(Auc::precision_recall()), 0.834_788_382_053_375_2),
        (Box::new(Auc::precision_recall().thresholds(11)), 0.825_422_048_568_725_6),
        (Box::new(Precision::new()), 0.724_137_902_259_826_7),
        (Box::new(Recall::new()), 0.724_137_902_259_826_7),
        (Box::new(BinaryAccuracy::new()), 0.733_333_349_227_905_3),
    ];
    for (metric, wanted) in cases {
        let mut sums = vec![0.0; metric.sums()];
        for (from, to) in [(0, 25), (25, 60)] {
            let batch = metric.batch(&likely.narrow(0, from, to)?, &yes.narrow(0, from, to)?)?;
            sums.iter_mut().zip(batch.to_vec::<f32>()?).for_each(|(sum, more): (&mut f32, f32)| *sum += more);
        }
        assert_close(&[metric.figure(&sums)], &[wanted], 1e-6, &metric.name());
    }
    Ok(())
}

#[test]
fn losses_are_those_of_keras() -> Result<()> {
    let logits: Vec<f64> =
        (0..3).flat_map(|r| (0..4).map(move |c| ((r * 7 + c * 5) % 11) as f64 / 2.0 - 2.5)).collect();
    let logits = constant(&logits, &[3, 4])?;
    let labels = tensor([2, 0, 3])?;
    let hot = labels.one_hot(4, situ_core::DType::F64)?;
    let shares = logits.softmax(-1)?;
    // Rows that do not sum to 1 are scaled.
    let less = (&shares * 0.9)?;
    let plain = [0.129_808_232_499_548_37, 0.522_664_335_753_848_7, 1.052_966_718_472_656_3];
    let smooth = [0.392_308_232_499_548_4, 0.697_664_335_753_848_8, 1.152_966_718_472_656_4];
    type Case<'t> = (Box<dyn Loss>, &'t Tensor, &'t Tensor, [f64; 3]);
    let cases: [Case<'_>; 7] = [
        (Box::new(SparseCategoricalCrossEntropy::from_logits()), &logits, &labels, plain),
        (Box::new(SparseCategoricalCrossEntropy::from_probabilities()), &less, &labels, plain),
        (Box::new(CategoricalCrossEntropy::from_logits().label_smoothing(0.1)), &logits, &hot, smooth),
        (Box::new(CategoricalCrossEntropy::from_probabilities().label_smoothing(0.1)), &less, &hot, smooth),
        (
            Box::new(BinaryCrossEntropy::from_logits().label_smoothing(0.2)),
            &logits,
            &hot,
            [0.468_750_908_331_287_85, 0.498_289_104_258_462_84, 0.682_337_482_750_487_6],
        ),
        (
            Box::new(BinaryCrossEntropy::from_probabilities()),
            &shares,
            &hot,
            [0.063_819_372_471_842_19, 0.254_103_660_699_721_9, 0.496_656_704_612_204_24],
        ),
        (Box::new(Huber::new(0.7)), &logits, &hot, [0.60875, 0.69625, 0.51625]),
    ];
    for (loss, predicted, target, wanted) in cases {
        assert_close(&numbers(&loss.of(predicted, target)?), &wanted, 1e-9, loss.name());
    }
    Ok(())
}

#[test]
fn normalisation_is_that_of_keras_with_its_moving_means() -> Result<()> {
    let x: Vec<f32> = (0..4)
        .flat_map(|a| (0..2).flat_map(move |b| (0..3).map(move |c| (a * 7 + b * 5 + c * 3) % 13)))
        .map(|v| v as f32 / 4.0 - 1.5)
        .collect();
    let x = constant(&x, &[4, 2, 3])?;
    let norm = BatchNorm::new().format(Format::ChannelsLast).built(&[2, 3], &mut Maker::new(0))?;
    let pass = Pass::training(0, None);
    norm.forward(&x, &pass)?;
    let y = numbers(&norm.forward(&x, &pass)?);
    let wanted = [-1.214_002_847, -0.960_316_240, 0.0, 0.031_128_287, 0.517_093_360, 1.269_346_356];
    assert_close(&y[..6], &wanted, 1e-5, "in training");
    let held = |number: usize| numbers(&norm.weights()[number].variable.value());
    assert_close(&held(2), &[-0.005_596_874, 0.001_243_749, 0.0], 1e-6, "moving means");
    assert_close(&held(3), &[1.000_136_137, 0.994_325_399, 0.999_378_085], 1e-6, "moving variances");
    let y = numbers(&norm.forward(&x, &Pass::inference())?);
    let wanted = [-1.493_554_949, -0.753_005_862, 0.0, -0.244_264_394, 0.499_926_120, 1.249_763_727];
    assert_close(&y[..6], &wanted, 1e-5, "in use");
    let norm = LayerNorm::new().built(&[2, 3], &mut Maker::new(0))?;
    let y = numbers(&norm.forward(&x, &Pass::inference())?);
    let wanted = [-1.223_115_086, 0.0, 1.223_115_086, -1.223_115_086, 0.0, 1.223_115_086];
    assert_close(&y[..6], &wanted, 1e-5, "layer norm");
    Ok(())
}
