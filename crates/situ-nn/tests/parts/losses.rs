//! Values of losses.

use crate::numbers::{assert_close, numbers, some};
use situ_core::Result;
use situ_nn::Loss;
use situ_nn::losses::{
    BinaryCrossEntropy, CategoricalCrossEntropy, Huber, MeanAbsoluteError, MeanSquaredError,
    SparseCategoricalCrossEntropy,
};
use situ_tensor::{Tensor, constant, tensor};

const CLASSES: usize = 5;

/// Logits, their softmax, labels, and the labels one-hot.
fn examples() -> (Vec<f64>, Vec<f64>, Vec<i32>, Vec<f64>) {
    let logits: Vec<f64> = some(20, 51).iter().map(|v| v * 4.0).collect();
    let shares = logits
        .chunks(CLASSES)
        .flat_map(|row| {
            let all: f64 = row.iter().map(|v| v.exp()).sum();
            row.iter().map(|v| v.exp() / all).collect::<Vec<_>>()
        })
        .collect();
    let labels = vec![3, 0, 4, 1];
    let mut hot = vec![0.0; 20];
    labels.iter().enumerate().for_each(|(row, &label)| hot[row * CLASSES + label as usize] = 1.0);
    (logits, shares, labels, hot)
}

fn of(loss: &dyn Loss, predicted: &[f64], dims: &[usize], target: &Tensor) -> Vec<f64> {
    numbers(&loss.of(&constant(predicted, dims).unwrap(), target).unwrap())
}

#[test]
fn cross_entropy_is_the_same_from_logits_and_from_probabilities_sparse_and_one_hot() -> Result<()> {
    let (logits, shares, labels, hot) = examples();
    let wanted: Vec<f64> = (0..4).map(|row| -shares[row * CLASSES + labels[row] as usize].ln()).collect();
    let (numbers, hot) = (constant(&labels, &[4])?, constant(&hot, &[4, CLASSES])?);
    let dims = [4, CLASSES];
    let sparse = SparseCategoricalCrossEntropy::from_logits();
    assert_close(&of(&sparse, &logits, &dims, &numbers), &wanted, 1e-12, "sparse, logits");
    assert_close(
        &of(&sparse, &logits, &dims, &numbers.reshape(&[4, 1])?),
        &wanted,
        1e-12,
        "labels in a column",
    );
    let bytes = numbers.cast(situ_core::DType::U8)?;
    assert_close(&of(&sparse, &logits, &dims, &bytes), &wanted, 1e-12, "labels in bytes");
    let sparse = SparseCategoricalCrossEntropy::from_probabilities();
    assert_close(&of(&sparse, &shares, &dims, &numbers), &wanted, 1e-6, "sparse, probabilities");
    let dense = CategoricalCrossEntropy::from_logits();
    assert_close(&of(&dense, &logits, &dims, &hot), &wanted, 1e-12, "one-hot, logits");
    let dense = CategoricalCrossEntropy::from_probabilities();
    assert_close(&of(&dense, &shares, &dims, &hot), &wanted, 1e-6, "one-hot, probabilities");
    let doubled: Vec<f64> = shares.iter().map(|v| v * 0.5).collect();
    assert_close(&of(&dense, &doubled, &dims, &hot), &wanted, 1e-6, "rows are scaled to sum to 1");
    // With more axes, the mean over an example.
    let steps = of(
        &SparseCategoricalCrossEntropy::from_logits(),
        &logits,
        &[2, 2, CLASSES],
        &numbers.reshape(&[2, 2])?,
    );
    assert_close(&steps, &[(wanted[0] + wanted[1]) / 2.0, (wanted[2] + wanted[3]) / 2.0], 1e-12, "steps");
    Ok(())
}

#[test]
fn probabilities_of_nothing_give_a_finite_loss() -> Result<()> {
    let wrong = tensor([[1.0f32, 0.0]])?;
    for each in [
        SparseCategoricalCrossEntropy::from_probabilities().of(&wrong, &tensor([1])?)?,
        CategoricalCrossEntropy::from_probabilities().of(&wrong, &tensor([[0, 1]])?)?,
        BinaryCrossEntropy::from_probabilities().of(&wrong, &tensor([[0, 1]])?)?,
    ] {
        let value = each.to_vec::<f32>()?[0];
        assert!((value - 16.118).abs() < 0.2, "−log 1e-7 is 16.1, not {value}");
    }
    Ok(())
}

#[test]
fn smoothing_moves_a_part_of_each_target_to_all_classes() -> Result<()> {
    let (logits, shares, labels, hot) = examples();
    let smooth: Vec<f64> = hot.iter().map(|v| v * 0.8 + 0.2 / CLASSES as f64).collect();
    let rows = (0..4).map(|row| row * CLASSES..(row + 1) * CLASSES);
    let wanted: Vec<f64> = rows.map(|row| -row.map(|at| smooth[at] * shares[at].ln()).sum::<f64>()).collect();
    let (numbers, hot) = (constant(&labels, &[4])?, constant(&hot, &[4, CLASSES])?);
    let dims = [4, CLASSES];
    let sparse = SparseCategoricalCrossEntropy::from_logits().label_smoothing(0.2);
    assert_close(&of(&sparse, &logits, &dims, &numbers), &wanted, 1e-12, "sparse");
    let sparse = SparseCategoricalCrossEntropy::from_probabilities().label_smoothing(0.2);
    assert_close(&of(&sparse, &shares, &dims, &numbers), &wanted, 1e-6, "sparse, probabilities");
    let dense = CategoricalCrossEntropy::from_logits().label_smoothing(0.2);
    assert_close(&of(&dense, &logits, &dims, &hot), &wanted, 1e-12, "one-hot");
    let dense = CategoricalCrossEntropy::from_probabilities().label_smoothing(0.2);
    assert_close(&of(&dense, &shares, &dims, &hot), &wanted, 1e-6, "one-hot, probabilities");
    Ok(())
}

#[test]
fn binary_cross_entropy_and_differences_are_their_formulas() -> Result<()> {
    let logits: Vec<f64> = some(8, 61).iter().map(|v| v * 6.0).collect();
    let likely: Vec<f64> = logits.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect();
    let yes = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.3];
    let target = constant(&yes, &[4, 2])?;
    let paired = |one: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..4).map(|r| (one(2 * r) + one(2 * r + 1)) / 2.0).collect()
    };
    for smoothing in [0.0, 0.1] {
        let at = |i: usize| {
            let t = yes[i] * (1.0 - smoothing) + 0.5 * smoothing;
            -(t * likely[i].ln() + (1.0 - t) * (1.0 - likely[i]).ln())
        };
        let loss = BinaryCrossEntropy::from_logits().label_smoothing(smoothing);
        assert_close(&of(&loss, &logits, &[4, 2], &target), &paired(&at), 1e-12, "binary, logits");
        let loss = BinaryCrossEntropy::from_probabilities().label_smoothing(smoothing);
        assert_close(&of(&loss, &likely, &[4, 2], &target), &paired(&at), 1e-9, "binary, probabilities");
    }
    let away = |i: usize| logits[i] - yes[i];
    let squared = paired(&|i| away(i) * away(i));
    assert_close(&of(&MeanSquaredError::new(), &logits, &[4, 2], &target), &squared, 1e-12, "squares");
    let absolute = paired(&|i| away(i).abs());
    assert_close(&of(&MeanAbsoluteError::new(), &logits, &[4, 2], &target), &absolute, 1e-12, "magnitudes");
    let huber = paired(&|i| match away(i).abs() {
        a if a <= 1.5 => 0.5 * a * a,
        a => 1.5 * a - 0.5 * 1.5 * 1.5,
    });
    assert_close(&of(&Huber::new(1.5), &logits, &[4, 2], &target), &huber, 1e-12, "huber");
    Ok(())
}

#[test]
fn a_column_of_predictions_is_compared_with_a_list_of_targets_one_by_one() -> Result<()> {
    let each =
        MeanSquaredError::new().of(&tensor([[1.0f32], [2.0], [3.0]])?, &tensor([1.0f32, 0.0, 3.0])?)?;
    assert_eq!(each.to_vec::<f32>()?, [0.0, 4.0, 0.0]);
    let each = MeanSquaredError::new().of(&tensor([1.0f32, 2.0])?, &tensor([[1.0f32], [0.0]])?)?;
    assert_eq!(each.to_vec::<f32>()?, [0.0, 4.0]);
    Ok(())
}
