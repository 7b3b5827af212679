//! Figures of metrics, over several batches, against plain references.

use crate::numbers::some;
use situ_core::Result;
use situ_nn::Metric;
use situ_nn::metrics::{
    Accuracy, Auc, BinaryAccuracy, Mean, MeanAbsoluteError, MeanSquaredError, Precision, Recall,
    SparseAccuracy, TopK,
};
use situ_tensor::{Function, Tensor, constant, tensor};
use std::sync::Arc;

/// Predictions and targets.
type Batches = Vec<(Tensor, Tensor)>;

/// The figure of several batches, eagerly, and the same with each batch in a function.
fn figure(metric: impl Metric + Clone + 'static, batches: &[(Tensor, Tensor)]) -> f64 {
    let held = Arc::new(metric.clone());
    let compiled = Function::new2(move |p, t| held.batch(p, t));
    let mut sums = vec![0.0f32; metric.sums()];
    for (predicted, target) in batches {
        let batch = metric.batch(predicted, target).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(batch.len(), metric.sums());
        assert_eq!(batch, compiled.call2(predicted, target).unwrap().to_vec::<f32>().unwrap());
        sums.iter_mut().zip(batch).for_each(|(sum, more)| *sum += more);
    }
    metric.figure(&sums)
}

fn near(got: f64, wanted: f64, what: &str) {
    assert!((got - wanted).abs() < 1e-6, "{what}: {got}, and not {wanted}");
}

/// Scores of 6 classes and labels, in two batches.
fn classes() -> (Batches, Vec<Vec<f32>>, Vec<i32>) {
    let scores: Vec<f32> = some(50 * 6, 71).iter().map(|&v| v as f32).collect();
    let labels: Vec<i32> = some(50, 72).iter().map(|v| ((v + 1.0) * 2.999) as i32).collect();
    let batch = |from: usize, to: usize| {
        let predicted = constant(&scores[from * 6..to * 6], &[to - from, 6]).unwrap();
        (predicted, constant(&labels[from..to], &[to - from]).unwrap())
    };
    (vec![batch(0, 32), batch(32, 50)], scores.chunks(6).map(<[f32]>::to_vec).collect(), labels)
}

#[test]
fn accuracies_count_what_is_right() -> Result<()> {
    let (batches, rows, labels) = classes();
    let better = |row: usize| rows[row].iter().filter(|s| **s > rows[row][labels[row] as usize]).count();
    let within = |k: usize| (0..50).filter(|&row| better(row) < k).count() as f64 / 50.0;
    near(figure(SparseAccuracy::new(), &batches), within(1), "sparse accuracy");
    for k in [1, 2, 3, 6] {
        near(figure(TopK::new(k), &batches), within(k), "top k");
    }
    let hot: Batches =
        batches.iter().map(|(p, t)| (p.clone(), t.one_hot(6, situ_core::DType::F32).unwrap())).collect();
    near(figure(Accuracy::new(), &hot), within(1), "accuracy");
    near(figure(TopK::new(3), &hot), within(3), "top k of one-hot targets");
    near(figure(TopK::new(1), &[(tensor([[f32::INFINITY, 0.0]])?, tensor([0])?)]), 1.0, "an infinite score");
    near(figure(TopK::new(1), &[(tensor([[f32::NAN, 0.0]])?, tensor([0])?)]), 0.0, "a score that is none");
    Ok(())
}

/// Probabilities and yes or no that depend on them, in two batches.
fn answers(count: usize) -> (Batches, Vec<(f64, bool)>) {
    let all: Vec<(f64, bool)> = some(count, 81)
        .iter()
        .zip(some(count, 82))
        .map(|(p, noise)| (f64::from((0.5 + 0.49 * p) as f32), p + 1.2 * noise > 0.2))
        .collect();
    let batch = |part: &[(f64, bool)]| {
        let predicted: Vec<f32> = part.iter().map(|(p, _)| *p as f32).collect();
        let target: Vec<i32> = part.iter().map(|(_, yes)| i32::from(*yes)).collect();
        (constant(&predicted, &[part.len(), 1]).unwrap(), constant(&target, &[part.len()]).unwrap())
    };
    (vec![batch(&all[..count / 3]), batch(&all[count / 3..])], all)
}

#[test]
fn precision_recall_and_binary_accuracy_count_both_sides_of_a_threshold() {
    let (batches, all) = answers(300);
    for threshold in [0.5, 0.7] {
        let count = |of: &dyn Fn(bool, bool) -> bool| {
            all.iter().filter(|(p, yes)| of(*p > threshold, *yes)).count() as f64
        };
        let (hits, found, right) = (count(&|p, y| p && y), count(&|p, _| p), count(&|_, y| y));
        near(figure(Precision::new().threshold(threshold), &batches), hits / found, "precision");
        near(figure(Recall::new().threshold(threshold), &batches), hits / right, "recall");
        let equal = count(&|p, y| p == y) / 300.0;
        near(figure(BinaryAccuracy::new().threshold(threshold), &batches), equal, "binary accuracy");
    }
    assert_eq!(figure(Precision::new().threshold(2.0), &batches), 0.0, "nothing is found");
    assert_eq!(Precision::new().figure(&[0.0, 0.0]), 0.0, "before the first batch");
}

/// The area by its definition at the same thresholds: lines between the points of true and false positive
/// rates.
fn area_by_thresholds(all: &[(f64, bool)], thresholds: usize) -> f64 {
    let last = (thresholds - 1) as f64;
    let points: Vec<(f64, f64)> = (0..thresholds)
        .map(|at| {
            let level = match at {
                0 => -1e-7,
                at if at == thresholds - 1 => 1.0 + 1e-7,
                at => at as f64 / last,
            } as f32;
            let rate = |side: bool| {
                let of: Vec<_> = all.iter().filter(|(_, yes)| *yes == side).collect();
                of.iter().filter(|(p, _)| *p as f32 > level).count() as f64 / of.len() as f64
            };
            (rate(false), rate(true))
        })
        .collect();
    points.windows(2).map(|w| (w[0].0 - w[1].0) * (w[0].1 + w[1].1) / 2.0).sum()
}

/// Predictions above each threshold, positive and negative ones, counted one by one.
fn counts(all: &[(f32, bool)], thresholds: usize) -> (Vec<f64>, Vec<f64>) {
    let last = thresholds - 1;
    let levels = (0..thresholds).map(|at| match at {
        0 => -1e-7f64 as f32,
        at if at == last => (1.0 + 1e-7f64) as f32,
        at => (at as f64 / last as f64) as f32,
    });
    let above =
        |level: f32, side: bool| all.iter().filter(|(p, yes)| *p > level && *yes == side).count() as f64;
    levels.map(|level| (above(level, true), above(level, false))).unzip()
}

#[test]
fn predictions_are_counted_exactly_wherever_they_lie() -> Result<()> {
    for thresholds in [2, 3, 4, 5, 11, 200, 1000] {
        // On every threshold and next to it, far outside, and no number at all.
        let mut all: Vec<(f32, bool)> = Vec::new();
        for at in 0..thresholds {
            let level = (at as f64 / (thresholds - 1) as f64) as f32;
            for p in [level, level.next_up(), level.next_down(), level + 0.3 / thresholds as f32] {
                all.push((p, all.len().is_multiple_of(3)));
            }
        }
        let odd = [-5.0, -1e-7, -1e-8, -0.0, 1.0, 1.0000001, 1.0000002, 7.0, 1e30, f32::MIN, f32::INFINITY];
        for p in odd.into_iter().chain([f32::NEG_INFINITY, f32::NAN, f32::NAN]) {
            all.push((p, all.len().is_multiple_of(2)));
        }
        let predicted: Vec<f32> = all.iter().map(|(p, _)| *p).collect();
        let target: Vec<f32> = all.iter().map(|(_, yes)| f32::from(u8::from(*yes))).collect();
        let [p, t] = [&predicted, &target].map(|v| constant(v, &[v.len()]).unwrap());
        let auc = Auc::roc().thresholds(thresholds);
        let compiled = Function::new2(move |p, t| auc.batch(p, t));
        let (hits, misses) = counts(&all, thresholds);
        for sums in [auc.batch(&p, &t)?, compiled.call2(&p, &t)?] {
            let sums = sums.to_vec::<f32>()?;
            let from_the_end = |part: &[f32]| -> Vec<f64> {
                (0..part.len()).map(|at| part[at..].iter().map(|&x| f64::from(x)).sum()).collect()
            };
            assert_eq!(from_the_end(&sums[..thresholds]), hits, "{thresholds} thresholds");
            assert_eq!(from_the_end(&sums[thresholds..]), misses, "{thresholds} thresholds");
        }
    }
    Ok(())
}

#[test]
fn the_area_under_a_curve_takes_memory_for_the_predictions_and_not_for_each_threshold() -> Result<()> {
    let runtime = situ_testkit::machines::cpu();
    situ_tensor::with_runtime(&runtime, || {
        let count = 200_000;
        let p = situ_tensor::random::uniform(&[count], 0.0, 1.0)?;
        let t = p.greater(&constant(&[0.5f32], &[1])?)?;
        let auc = Auc::roc();
        // Perfect but for what lies between the two thresholds around the limit.
        let area = auc.figure(&auc.batch(&p, &t)?.to_vec::<f32>()?);
        assert!((0.9999..=1.0).contains(&area), "{area}");
        let peak = runtime.memory_info(&"/CPU:0".parse().unwrap())?.peak;
        assert!(peak < 16 * 4 * count, "{peak} bytes for {count} predictions");
        Ok(())
    })
}

#[test]
fn the_area_under_a_curve_is_that_of_its_points_and_near_the_share_of_ordered_pairs() {
    let (batches, all) = answers(400);
    for thresholds in [200, 11] {
        let got = figure(Auc::roc().thresholds(thresholds), &batches);
        near(got, area_by_thresholds(&all, thresholds), "roc");
    }
    // The exact area: how often a positive example is above a negative one.
    let (positive, negative): (Vec<_>, Vec<_>) = all.iter().partition(|(_, yes)| *yes);
    let mut ordered = 0.0;
    for (p, _) in &positive {
        for (n, _) in &negative {
            ordered += if p > n {
                1.0
            } else if p == n {
                0.5
            } else {
                0.0
            };
        }
    }
    let exact = ordered / (positive.len() * negative.len()) as f64;
    let got = figure(Auc::roc(), &batches);
    assert!((got - exact).abs() < 2e-3, "{got} and {exact}");

    // The exact area under precision by recall, with a threshold at every prediction.
    let mut sorted = all.clone();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut hits, mut area) = (0.0, 0.0);
    for (found, (_, yes)) in sorted.iter().enumerate() {
        if *yes {
            hits += 1.0;
            area += hits / (found as f64 + 1.0);
        }
    }
    let exact = area / positive.len() as f64;
    let got = figure(Auc::precision_recall(), &batches);
    assert!((got - exact).abs() < 1e-2, "{got} and {exact}");

    let logits: Batches = batches
        .iter()
        .map(|(p, t)| (p.div(&(&p.neg().unwrap() + 1.0).unwrap()).unwrap().log().unwrap(), t.clone()))
        .collect();
    let got_of_logits = figure(Auc::roc().from_logits(), &logits);
    assert!((got_of_logits - figure(Auc::roc(), &batches)).abs() < 1e-3);
    assert_eq!(Auc::roc().figure(&[0.0; 400]), 0.0, "before the first batch");
}

#[test]
fn means_are_over_all_examples_and_not_over_batches() -> Result<()> {
    let batches = [
        (tensor([[1.0f32], [2.0], [6.0]])?, tensor([[1.0f32], [0.0], [0.0]])?),
        (tensor([[11.0f32]])?, tensor([[12.0f32]])?),
    ];
    near(figure(Mean::new(), &batches), 5.0, "mean");
    near(figure(MeanSquaredError::new(), &batches), 41.0 / 4.0, "squares");
    near(figure(MeanAbsoluteError::new(), &batches), 9.0 / 4.0, "magnitudes");
    Ok(())
}
