//! How weights begin.

use crate::numbers::{assert_close, numbers};
use situ_core::{DType, Result, Shape};
use situ_nn::{
    Activation, BatchNorm, Conv2D, Dense, Embedding, Fans, Flatten, Initializer, Layer, Maker, Model,
    Sequential,
};
use situ_tensor::with_runtime;
use situ_testkit::machines::{cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

fn made(initializer: Initializer, dims: &[usize], fans: Fans) -> Vec<f64> {
    let shape = Shape::new(dims).unwrap();
    numbers(&initializer.make(&shape, fans, &Maker::new(9).of(DType::F64)).unwrap())
}

#[test]
fn fans_are_counted_as_keras_counts_them() -> Result<()> {
    let of = |dims: &[usize]| Fans::of(&Shape::new(dims).unwrap());
    assert_eq!(of(&[]), Fans { inputs: 1.0, outputs: 1.0 });
    assert_eq!(of(&[7]), Fans { inputs: 7.0, outputs: 7.0 });
    assert_eq!(of(&[784, 128]), Fans { inputs: 784.0, outputs: 128.0 });
    assert_eq!(of(&[3, 5, 16, 32]), Fans { inputs: 240.0, outputs: 480.0 });
    // A convolution's are the same in both formats: 3·3·16 inputs, 3·3·32 outputs; the limit is √(6 / 432).
    let limit = (6.0f64 / 432.0).sqrt();
    for format in [situ_ir::ops::window::Format::ChannelsFirst, situ_ir::ops::window::Format::ChannelsLast] {
        let dims =
            if format == situ_ir::ops::window::Format::ChannelsFirst { [16, 9, 9] } else { [9, 9, 16] };
        let conv = Conv2D::new(32, [3, 3]).format(format).built(&dims, &mut Maker::new(4))?;
        let largest = numbers(&conv.weights()[0].variable.value()).iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(largest <= limit * 1.000_001 && largest > 0.99 * limit, "{largest} of {limit}");
    }
    Ok(())
}

#[test]
fn distributions_have_the_variances_that_their_names_promise() {
    let fans = Fans { inputs: 50.0, outputs: 150.0 };
    let cases = [
        (Initializer::Uniform { low: -1.0, high: 2.0 }, 0.5, 0.75),
        (Initializer::Normal { mean: 1.0, deviation: 3.0 }, 1.0, 9.0),
        // The variance of a normal cut at ±2 is 0.7737.
        (Initializer::TruncatedNormal { mean: -1.0, deviation: 2.0 }, -1.0, 4.0 * 0.773_741_303_2),
        (Initializer::GlorotUniform, 0.0, 0.01),
        (Initializer::GlorotNormal, 0.0, 0.01),
        (Initializer::HeUniform, 0.0, 0.04),
        (Initializer::HeNormal, 0.0, 0.04),
        (Initializer::LecunUniform, 0.0, 0.02),
        (Initializer::LecunNormal, 0.0, 0.02),
    ];
    for (initializer, mean, variance) in cases {
        let values = made(initializer, &[200, 500], fans);
        let count = values.len() as f64;
        let found = values.iter().sum::<f64>() / count;
        let spread = values.iter().map(|v| (v - found).powi(2)).sum::<f64>() / count;
        let error = 6.0 * (variance / count).sqrt();
        assert!((found - mean).abs() < error, "{initializer:?}: mean {found}");
        assert!((spread / variance - 1.0).abs() < 0.03, "{initializer:?}: variance {spread}");
    }
    let cut = made(Initializer::TruncatedNormal { mean: 0.0, deviation: 1.0 }, &[100_000], fans);
    assert!(cut.iter().all(|v| v.abs() <= 2.0) && cut.iter().any(|v| v.abs() > 1.95));
}

#[test]
fn fixed_values_are_what_they_say() {
    let fans = Fans { inputs: 1.0, outputs: 1.0 };
    assert_eq!(made(Initializer::Zeros, &[3], fans), [0.0; 3]);
    assert_eq!(made(Initializer::Ones, &[3], fans), [1.0; 3]);
    assert_eq!(made(Initializer::Constant(0.25), &[2], fans), [0.25; 2]);
    assert_eq!(made(Initializer::Identity { gain: 2.0 }, &[2, 3], fans), [2.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    for dims in [[6, 4], [4, 6]] {
        let q = made(Initializer::Orthogonal { gain: 3.0 }, &dims, fans);
        let (rows, columns) = (dims[0], dims[1]);
        // The shorter side's vectors are orthogonal, each of length 3.
        let at = |number: usize, position: usize| {
            if rows >= columns { q[position * columns + number] } else { q[number * columns + position] }
        };
        for a in 0..4 {
            for b in 0..4 {
                let dot: f64 = (0..6).map(|p| at(a, p) * at(b, p)).sum();
                assert_close(&[dot], &[if a == b { 9.0 } else { 0.0 }], 1e-12, "orthogonal");
            }
        }
    }
    let shape = Shape::new(&[3]).unwrap();
    let error =
        Initializer::Identity { gain: 1.0 }.make(&shape, fans, &Maker::new(0)).unwrap_err().to_string();
    assert!(error.contains("[3]") && error.contains("two axes"), "{error}");
}

fn weights_of(seed: u64) -> Vec<Vec<u8>> {
    let model = Sequential::new()
        .add(Conv2D::new(8, [3, 3]).kernel_initializer(Initializer::HeNormal))
        .add(BatchNorm::new())
        .add(Flatten::new())
        .add(
            Dense::new(64)
                .activation(Activation::Relu)
                .kernel_initializer(Initializer::Orthogonal { gain: 1.0 }),
        )
        .add(Dense::new(10))
        .built(&[3, 12, 12], &mut Maker::new(seed))
        .unwrap();
    let table = Embedding::new(500, 8).built(&[4], &mut Maker::new(seed)).unwrap();
    let weights = model.weights().into_iter().chain(table.weights());
    weights.map(|w| w.variable.value().to_bytes().unwrap()).collect()
}

#[test]
fn the_same_seed_gives_the_same_weights_for_any_number_of_threads_and_on_any_device() {
    let with_threads = |threads: usize| {
        let runtime = cpu();
        runtime.set_intra_op_threads(Some(threads)).unwrap();
        with_runtime(&runtime, || weights_of(1))
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(2));
    assert_eq!(one, with_threads(3));
    let on_gpu = with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let _gpu = situ_tensor::device("/GPU:0").unwrap();
        weights_of(1)
    });
    assert_eq!(one, on_gpu);
    assert_ne!(one, with_runtime(&cpu(), || weights_of(2)));
}
