//! Summaries: shapes, numbers and devices of layers.

use situ_core::Result;
use situ_nn::{
    Activate, Activation, BatchNorm, Conv2D, Dense, Flatten, Layer, Maker, Model, Residual, Sequential,
    Summary, Whereabouts,
};
use situ_tensor::{with_device, with_runtime};
use situ_testkit::machines::{CPU, GPU, cpu_and};
use situ_testkit::simulated::SimulatedGpu;

fn model() -> Result<Sequential> {
    Ok(with_device("/GPU:0", || Ok(Sequential::new().add(Conv2D::new(32, [3, 3])).add(BatchNorm::new())))?
        .add(with_device("/GPU:0", || Ok(Flatten::new()))?)
        .add(with_device("/CPU:0", || Ok(Dense::new(1000)))?)
        .add(Residual::new().add(Dense::new(1000).named("inner")).named("block"))
        .add(Activate::new(Activation::Softmax)))
}

#[test]
fn a_summary_shows_shapes_numbers_and_where_each_layer_is() {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || -> Result<()> {
        let model = model()?.built(&[1, 28, 28], &mut Maker::new(1))?;
        let summary = model.summary();
        let numbers: Vec<(usize, usize)> = summary.rows.iter().map(|r| (r.trainable, r.fixed)).collect();
        let dense = 32 * 26 * 26 * 1000 + 1000;
        assert_eq!(numbers, [(320, 0), (64, 64), (0, 0), (dense, 0), (1_001_000, 0), (0, 0)]);
        assert_eq!(summary.parameters(), 320 + 128 + dense + 1_001_000);
        assert_eq!(summary.trainable(), summary.parameters() - 64);
        assert_eq!(summary.rows[0].device, Whereabouts::Weights(vec![GPU]));
        assert_eq!(summary.rows[2].device, Whereabouts::Asked("/GPU:0".parse()?));
        assert_eq!(summary.rows[3].device, Whereabouts::Weights(vec![CPU]));
        assert_eq!(summary.rows[5].device, Whereabouts::Auto);
        assert_eq!(summary.bytes[&GPU], (320 + 128) * 4);
        assert_eq!(summary.bytes[&CPU], (dense + 1_001_000) * 4);
        let text = summary.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "layer                   output           parameters  device");
        assert_eq!(lines[2], "conv2d (Conv2D)         [?, 32, 26, 26]         320  GPU:0");
        assert_eq!(lines[5], "dense (Dense)           [?, 1000]        21,633,000  CPU:0");
        assert_eq!(lines[7], "activate (Activate)     [?, 1000]                 0  auto");
        assert!(lines[8].starts_with("22,634,448 parameters, 22,634,384 of them trainable; "), "{text}");
        assert!(lines[8].contains("MiB on CPU:0") && lines[8].contains("KiB on GPU:0"), "{text}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_summary_can_be_had_before_a_model_is_built_and_of_weights_alone() -> Result<()> {
    let model = Sequential::new().add(Dense::new(3).named("a")).add(Dense::new(2));
    let summary = model.summary();
    assert!(summary.rows.iter().all(|row| row.output.is_none()) && summary.parameters() == 0);
    let text = summary.to_string();
    assert!(text.contains("a (Dense)") && text.lines().count() == 5, "{text}");
    let model = model.built(&[4], &mut Maker::new(0))?;
    let of_weights = Summary::of_weights(&model.weights());
    let rows: Vec<(&str, usize)> = of_weights.rows.iter().map(|r| (r.name.as_str(), r.trainable)).collect();
    assert_eq!(rows, [("a", 15), ("dense", 8)]);
    Ok(())
}
