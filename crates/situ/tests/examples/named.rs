//! What the examples that are named for what they do promise.

use super::*;
use situ::nn::{Model, Progress};
use std::path::PathBuf;

/// Runs a program without a GPU, and with one where there is one; `check` is told where that one is.
fn both<T>(program: impl Fn() -> Result<T>, check: impl Fn(T, DeviceId)) {
    check(without_gpu(&program).0, CPU);
    if let Some((outcome, _, _runtime)) = with_gpu(&program) {
        check(outcome, GPU);
    }
}

fn in_temp(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("situ-example-{}-{name}", std::process::id()))
}

#[test]
fn the_classifier_learns_a_spiral_that_it_then_knows_elsewhere() {
    both(
        || train_classifier::program(30, Progress::Silent),
        |(history, figures), _| {
            let losses = history.series("loss");
            assert!(losses[29] < 0.3 * losses[0], "{losses:?}");
            assert!(figures.get("accuracy").unwrap() > 0.9, "{figures}");
        },
    );
}

#[test]
fn the_explanation_has_each_op_by_its_name_and_the_softmax_on_the_cpu() {
    both(explain_placement::program, |why, _| {
        let of = |name: &str| why.ops.iter().find(|op| op.place.full_name() == name).unwrap();
        assert_eq!(of("classes/softmax").place.device, CPU);
        assert_eq!(of("classes/softmax").place.reason, Reason::Requested);
        assert!(of("hidden/matmul").seconds > 0.0);
        assert!(why.lower_bound <= why.predicted * 1.000_001, "{why}");
    });
}

#[test]
fn the_limit_holds_where_it_was_set() {
    both(limit_gpu_memory::program, |outcome, expected| {
        assert_eq!(outcome.limited, expected);
        assert!(outcome.peak <= 64 << 20, "{}", outcome.peak);
        let Error::OutOfMemory(report) = &outcome.refused else { panic!("{}", outcome.refused) };
        assert_eq!(report.requested, 64 << 20);
    });
}

#[test]
fn the_profiled_step_is_one_call_with_named_ops() {
    both(profile_a_step::program, |record, _| {
        assert_eq!((record.calls.len(), record.plans[0].function.as_str()), (1, "step"));
        assert!(record.op_names().iter().any(|name| name == "forward/matmul"), "{:?}", record.op_names());
        assert!(!record.why(&situ::observe::Pattern::new("forward/matmul")).is_empty());
    });
}

#[test]
fn the_loop_of_ones_own_finds_the_line() {
    both(
        || custom_training_loop::program(100),
        |(slope, intercept, losses), _| {
            assert!((slope - 3.0).abs() < 0.05 && (intercept - 0.5).abs() < 0.05, "{slope} {intercept}");
            assert!(losses[99] < 0.01, "{losses:?}");
        },
    );
}

#[test]
fn the_table_becomes_batches_of_normalised_rows() {
    let path = in_temp("flowers.csv");
    datasets_from_csv::write_table(&path).unwrap();
    both(
        || datasets_from_csv::program(&path),
        |(batches, names), _| {
            let rows: Vec<usize> = batches.iter().map(|(x, _)| x.shape()[0]).collect();
            assert_eq!((rows, names), (vec![32, 32, 32, 4], vec!["setosa".to_string(), "virginica".into()]));
            let all: Vec<f32> = batches.iter().flat_map(|(x, _)| x.to_vec::<f32>().unwrap()).collect();
            assert!(all.iter().sum::<f32>().abs() < 1e-3);
        },
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn training_goes_on_from_its_file_bit_for_bit() {
    let path = in_temp("resumed.safetensors");
    both(|| save_and_resume::program(&path), |(whole, rest), _| assert_eq!(whole[2..], rest));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_layer_of_ones_own_has_its_weights_where_it_was_made() {
    both(custom_layer::program, |(model, y), beside| {
        let weights = model.weights();
        let at = |name: &str| weights.iter().find(|w| w.name == name).unwrap().variable.device();
        assert_eq!((at("scale/scale"), at("dense/kernel")), (CPU, beside));
        assert_eq!((y.shape().dims(), y.device()), (&[2, 4][..], beside));
    });
}

#[test]
fn what_was_not_expected_is_an_error_that_names_the_op() {
    both(expect_a_placement::program, |(classes, unmet), _| {
        assert_eq!(classes.device(), CPU);
        assert!(unmet.to_string().contains("dense/matmul ran on"), "{unmet}");
    });
}

#[test]
fn the_second_derivative_is_the_one_of_the_book() {
    both(higher_gradients::program, |[x, first, second], _| {
        for ((x, first), second) in x.into_iter().zip(first).zip(second) {
            let (sin, cos) = (x.sin(), x.cos());
            assert!((first - (3.0 * x * x * sin + x * x * x * cos)).abs() < 1e-3, "{first}");
            let expected = (6.0 * x - x * x * x) * sin + 6.0 * x * x * cos;
            assert!((second - expected).abs() < 1e-3, "{second}");
        }
    });
}
