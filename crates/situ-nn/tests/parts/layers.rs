//! Values of layers.

use crate::numbers::{Slide, assert_close, convolved, numbers, some, tensor_of};
use situ_core::{DType, Result};
use situ_ir::ops::window::Format;
use situ_nn::{
    Activate, Activation, AvgPool2D, BatchNorm, Conv2D, Dense, Dropout, Embedding, Flatten, GlobalAvgPool2D,
    GlobalMaxPool2D, Initializer, Layer, LayerNorm, Maker, MaxPool2D, Model, Pass, Reshape, Residual,
    Sequential,
};
use situ_tensor::{Padding, Tensor, constant, tensor};

fn maker() -> Maker {
    Maker::new(5).of(DType::F64)
}

fn held(model: &dyn Model, number: usize) -> Vec<f64> {
    numbers(&model.weights()[number].variable.value())
}

fn set(model: &dyn Model, number: usize, values: &[f64]) {
    let variable = &model.weights()[number].variable;
    variable.assign(&constant(values, variable.shape().dims()).unwrap()).unwrap();
}

fn inferred(model: &dyn Model, x: &Tensor) -> Tensor {
    model.forward(x, &Pass::inference()).unwrap()
}

#[test]
fn a_dense_layer_multiplies_adds_and_activates_whatever_axes_are_before_the_last() -> Result<()> {
    let random = Initializer::Uniform { low: -1.0, high: 1.0 };
    let layer =
        Dense::new(3).activation(Activation::Relu).bias_initializer(random).built(&[4], &mut maker())?;
    let (kernel, bias) = (held(&layer, 0), held(&layer, 1));
    let x = some(2 * 5 * 4, 1);
    let wanted: Vec<f64> = x
        .chunks(4)
        .flat_map(|row| {
            let at = |unit: usize| (0..4).map(|i| row[i] * kernel[i * 3 + unit]).sum::<f64>() + bias[unit];
            (0..3).map(|unit| at(unit).max(0.0)).collect::<Vec<_>>()
        })
        .collect();
    for dims in [vec![10, 4], vec![2, 5, 4]] {
        let y = inferred(&layer, &constant(&x, &dims)?);
        assert_eq!(y.shape().dims()[..dims.len() - 1], dims[..dims.len() - 1]);
        assert_close(&numbers(&y), &wanted, 1e-12, "dense");
    }
    assert_eq!(
        inferred(&layer, &tensor_of(&[0, 5, 4], 1)).shape().dims(),
        [0, 5, 3],
        "an empty batch is one too"
    );
    let plain = Dense::new(3).use_bias(false).built(&[4], &mut maker())?;
    assert_eq!(plain.weights().len(), 1);
    Ok(())
}

#[test]
fn a_convolution_is_its_definition_in_both_formats() -> Result<()> {
    let cases = [
        (Slide { stride: 1, dilation: 1, padding: [0, 0], groups: 1 }, Padding::Valid),
        (Slide { stride: 2, dilation: 1, padding: [0, 1], groups: 2 }, Padding::Same),
        (Slide { stride: 1, dilation: 2, padding: [2, 1], groups: 1 }, Padding::Explicit([[2, 1]; 2])),
    ];
    let (n, c, size, o) = (2, 4, 8, 6);
    for (slide, padding) in cases {
        let conv = |format| {
            Conv2D::new(o, [3, 3])
                .stride([slide.stride; 2])
                .dilation([slide.dilation; 2])
                .groups(slide.groups)
                .padding(padding)
                .format(format)
                .activation(Activation::Tanh)
                .bias_initializer(Initializer::Normal { mean: 0.0, deviation: 1.0 })
        };
        let first = conv(Format::ChannelsFirst).built(&[c, size, size], &mut maker())?;
        let last = conv(Format::ChannelsLast).built(&[size, size, c], &mut maker())?;
        let (kernel, bias) = (first.weights()[0].variable.value(), held(&first, 1));
        last.weights()[0].variable.assign(&kernel.transpose(&[2, 3, 1, 0])?)?;
        set(&last, 1, &bias);
        let x = tensor_of(&[n, c, size, size], 3);
        let filter = [o, c / slide.groups, 3, 3];
        let (mut wanted, shape) =
            convolved(&numbers(&x), [n, c, size, size], &numbers(&kernel), filter, slide);
        let places = shape[2] * shape[3];
        for (at, value) in wanted.iter_mut().enumerate() {
            *value = (*value + bias[at / places % o]).tanh();
        }
        let y = inferred(&first, &x);
        assert_eq!(y.shape().dims(), shape);
        assert_close(&numbers(&y), &wanted, 1e-10, "channels first");
        let y = inferred(&last, &x.transpose(&[0, 2, 3, 1])?).transpose(&[0, 3, 1, 2])?;
        assert_close(&numbers(&y), &wanted, 1e-10, "channels last");
    }
    Ok(())
}

#[test]
fn pools_give_one_number_for_each_window_or_image() -> Result<()> {
    let x = tensor_of(&[2, 3, 4, 6], 4);
    let values = numbers(&x);
    let window = |plane: usize, row: usize, column: usize| -> Vec<f64> {
        let at = |down: usize, across: usize| values[(plane * 4 + 2 * row + down) * 6 + 2 * column + across];
        vec![at(0, 0), at(0, 1), at(1, 0), at(1, 1)]
    };
    let windows: Vec<Vec<f64>> = (0..6)
        .flat_map(|p| (0..2).flat_map(move |r| (0..3).map(move |c| (p, r, c))))
        .map(|(p, r, c)| window(p, r, c))
        .collect();
    let largest = |of: &[f64]| of.iter().copied().fold(f64::MIN, f64::max);
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let planes: Vec<&[f64]> = values.chunks(24).collect();
    type Of = fn(&[f64]) -> f64;
    type Case = (Box<dyn Layer>, Box<dyn Layer>, Of);
    let cases: [Case; 2] = [
        (Box::new(MaxPool2D::new([2, 2])), Box::new(GlobalMaxPool2D::new()), largest as Of),
        (Box::new(AvgPool2D::new([2, 2])), Box::new(GlobalAvgPool2D::new()), mean as Of),
    ];
    for (pool, global, of) in cases {
        let wanted: Vec<f64> = windows.iter().map(|w| of(w)).collect();
        let y = inferred(&*pool, &x);
        assert_eq!(y.shape().dims(), [2, 3, 2, 3]);
        assert_close(&numbers(&y), &wanted, 1e-12, pool.kind());
        let wanted: Vec<f64> = planes.iter().map(|p| of(p)).collect();
        let y = inferred(&*global, &x);
        assert_eq!(y.shape().dims(), [2, 3]);
        assert_close(&numbers(&y), &wanted, 1e-12, global.kind());
    }
    let last = x.transpose(&[0, 2, 3, 1])?;
    let pool = MaxPool2D::new([3, 3]).stride([1, 1]).padding(Padding::Same);
    let pool_last = MaxPool2D::new([3, 3]).stride([1, 1]).padding(Padding::Same).format(Format::ChannelsLast);
    let back = inferred(&pool_last, &last).transpose(&[0, 3, 1, 2])?;
    assert_eq!(numbers(&inferred(&pool, &x)), numbers(&back));
    let global = GlobalAvgPool2D::new().format(Format::ChannelsLast);
    assert_close(
        &numbers(&inferred(&global, &last)),
        &numbers(&inferred(&GlobalAvgPool2D::new(), &x)),
        1e-12,
        "last",
    );
    Ok(())
}

#[test]
fn a_model_knows_its_shapes_before_it_runs() -> Result<()> {
    let model = Sequential::new()
        .add(Reshape::new(&[1, 8, -1]))
        .add(Conv2D::new(4, [3, 3]).padding(Padding::Same))
        .add(BatchNorm::new())
        .add(Activate::new(Activation::Relu))
        .add(MaxPool2D::new([2, 2]))
        .add(Residual::new().add(Conv2D::new(4, [1, 1])))
        .add(Flatten::new())
        .add(Dropout::new(0.5))
        .add(LayerNorm::new())
        .add(Dense::new(7));
    let model = model.built(&[80], &mut maker())?;
    let mut x = tensor_of(&[3, 80], 5);
    for (row, (_, layer)) in model.summary().rows.iter().zip(model.layers()) {
        x = layer.forward(&x, &Pass::training(1, None))?;
        let shape = row.output.expect("it is built");
        assert_eq!(shape.dims()[1..], x.shape().dims()[1..], "{}", row.name);
    }
    assert_eq!(x.shape().dims(), [3, 7]);
    Ok(())
}

#[test]
fn batch_norm_follows_the_batch_in_training_and_uses_what_it_learned_otherwise() -> Result<()> {
    for format in [Format::ChannelsFirst, Format::ChannelsLast] {
        let layer = BatchNorm::new().format(format).momentum(0.9).epsilon(1e-5);
        let dims = if format == Format::ChannelsFirst { [2, 3, 3] } else { [3, 3, 2] };
        let layer = layer.built(&dims, &mut maker())?;
        set(&layer, 0, &[2.0, 0.5]);
        set(&layer, 1, &[1.0, -1.0]);
        let first = tensor_of(&[4, 2, 3, 3], 6);
        let order: &[isize] = if format == Format::ChannelsFirst { &[0, 1, 2, 3] } else { &[0, 2, 3, 1] };
        let back: &[isize] = if format == Format::ChannelsFirst { &[0, 1, 2, 3] } else { &[0, 3, 1, 2] };
        let x = first.transpose(order)?;
        let values = numbers(&first);
        let channel =
            |c: usize| -> Vec<f64> { (0..4).flat_map(|n| values[(n * 2 + c) * 9..][..9].to_vec()).collect() };
        let statistics: Vec<(f64, f64)> = (0..2)
            .map(|c| {
                let of = channel(c);
                let mean = of.iter().sum::<f64>() / 36.0;
                (mean, of.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 36.0)
            })
            .collect();
        let normal = |by: &[(f64, f64)]| -> Vec<f64> {
            let (scale, shift) = ([2.0, 0.5], [1.0, -1.0]);
            let one = |(at, v): (usize, &f64)| {
                let c = at / 9 % 2;
                (v - by[c].0) / (by[c].1 + 1e-5).sqrt() * scale[c] + shift[c]
            };
            values.iter().enumerate().map(one).collect()
        };
        let y = layer.forward(&x, &Pass::training(0, None))?.transpose(back)?;
        assert_close(&numbers(&y), &normal(&statistics), 1e-10, "in training");
        let moved: Vec<(f64, f64)> = statistics.iter().map(|(m, v)| (0.1 * m, 0.9 + 0.1 * v)).collect();
        assert_close(&held(&layer, 2), &[moved[0].0, moved[1].0], 1e-12, "moving mean");
        assert_close(&held(&layer, 3), &[moved[0].1, moved[1].1], 1e-12, "moving variance");
        let y = inferred(&layer, &x).transpose(back)?;
        assert_close(&numbers(&y), &normal(&moved), 1e-10, "in use");
        assert_close(&held(&layer, 2), &[moved[0].0, moved[1].0], 1e-12, "using it changes nothing");
    }
    Ok(())
}

#[test]
fn norms_without_scale_or_shift_have_no_such_weights_and_give_what_ones_and_zeros_give() -> Result<()> {
    let x = tensor_of(&[4, 3], 6);
    let training = |layer: &dyn Model| numbers(&layer.forward(&x, &Pass::training(0, None)).unwrap());
    let names = |layer: &dyn Model| -> Vec<String> {
        layer.weights().into_iter().map(|w| w.name.rsplit('/').next().unwrap().to_owned()).collect()
    };
    let full = BatchNorm::new().built(&[3], &mut maker())?;
    let bare = BatchNorm::new().scale(false).center(false).built(&[3], &mut maker())?;
    assert_eq!(names(&bare), ["moving_mean", "moving_variance"]);
    assert_close(&training(&bare), &training(&full), 1e-12, "in training");
    assert_close(&numbers(&inferred(&bare, &x)), &numbers(&inferred(&full, &x)), 1e-12, "in use");
    let shifted = BatchNorm::new().scale(false).built(&[3], &mut maker())?;
    assert_eq!(names(&shifted), ["shift", "moving_mean", "moving_variance"]);

    let full = LayerNorm::new().built(&[3], &mut maker())?;
    let scaled = LayerNorm::new().center(false).built(&[3], &mut maker())?;
    assert_eq!(names(&scaled), ["scale"]);
    assert_close(&numbers(&inferred(&scaled, &x)), &numbers(&inferred(&full, &x)), 1e-12, "layer norm");
    let bare = LayerNorm::new().scale(false).center(false).built(&[3], &mut maker())?;
    assert_close(&numbers(&inferred(&bare, &x)), &numbers(&inferred(&full, &x)), 1e-12, "layer norm");
    Ok(())
}

#[test]
fn moving_means_follow_inside_of_a_compiled_step_too() -> Result<()> {
    let layer = BatchNorm::new().momentum(0.5).built(&[1], &mut Maker::new(0))?;
    let weights = layer.weights();
    let step = situ_tensor::Function::new(move |x| layer.forward(x, &Pass::training(0, None)));
    let x = tensor([[1.0f32], [3.0]])?;
    step.call(&x)?;
    step.call(&x)?;
    assert_eq!(weights[2].variable.value().to_vec::<f32>()?, [1.5]);
    assert_eq!(weights[3].variable.value().to_vec::<f32>()?, [1.0]);
    Ok(())
}

#[test]
fn layer_norm_normalises_each_row() -> Result<()> {
    let layer = LayerNorm::new().epsilon(1e-6).built(&[3, 5], &mut maker())?;
    let (scale, shift) = (some(5, 8), some(5, 9));
    set(&layer, 0, &scale);
    set(&layer, 1, &shift);
    let x = tensor_of(&[2, 3, 5], 7);
    let wanted: Vec<f64> = numbers(&x)
        .chunks(5)
        .flat_map(|row| {
            let mean = row.iter().sum::<f64>() / 5.0;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 5.0;
            let rate = 1.0 / (variance + 1e-6).sqrt();
            (0..5).map(|i| (row[i] - mean) * rate * scale[i] + shift[i]).collect::<Vec<_>>()
        })
        .collect();
    assert_close(&numbers(&inferred(&layer, &x)), &wanted, 1e-10, "layer norm");
    Ok(())
}

#[test]
fn an_embedding_looks_up_rows_by_any_integers() -> Result<()> {
    let layer = Embedding::new(6, 2).built(&[3], &mut maker())?;
    let table = held(&layer, 0);
    let wanted: Vec<f64> = [5, 0, 5, 2].iter().flat_map(|&w| [table[w * 2], table[w * 2 + 1]]).collect();
    for words in [tensor([[5i32, 0], [5, 2]])?, tensor([[5i64, 0], [5, 2]])?, tensor([[5u8, 0], [5, 2]])?] {
        let y = inferred(&layer, &words);
        assert_eq!(y.shape().dims(), [2, 2, 2]);
        assert_eq!(numbers(&y), wanted);
    }
    Ok(())
}

#[test]
fn dropout_drops_its_part_others_in_each_step_and_nothing_in_use() -> Result<()> {
    let layer = Dropout::new(0.3);
    let x = constant(&[1.0f64; 20_000], &[20, 1000])?;
    assert_eq!(numbers(&inferred(&layer, &x)), [1.0; 20_000]);
    let step = |number: i32| Pass::training(3, Some(tensor(number).unwrap()));
    let first = numbers(&layer.forward(&x, &step(1))?);
    let kept = first.iter().filter(|v| **v != 0.0).count() as f64 / 20_000.0;
    assert!((kept - 0.7).abs() < 0.015, "{kept}");
    assert!(first.iter().all(|v| *v == 0.0 || (v - 1.0 / 0.7).abs() < 1e-12));
    assert_eq!(first, numbers(&layer.forward(&x, &step(1))?), "the same step, the same elements");
    assert_ne!(first, numbers(&layer.forward(&x, &step(2))?));
    let pass = step(1);
    let (a, b) = (layer.forward(&x, &pass)?, Dropout::new(0.3).forward(&x, &pass)?);
    assert_ne!(numbers(&a), numbers(&b), "two layers of one pass drop apart");
    Ok(())
}

#[test]
fn a_residual_block_adds_its_input_or_a_projection_of_it() -> Result<()> {
    let block = Residual::new()
        .add(Dense::new(4).activation(Activation::Tanh))
        .add(Dense::new(3))
        .activation(Activation::Relu);
    let block = block.built(&[3], &mut maker())?;
    let inner = Sequential::new()
        .add(Dense::new(4).activation(Activation::Tanh))
        .add(Dense::new(3))
        .built(&[3], &mut maker())?;
    let x = tensor_of(&[5, 3], 10);
    let wanted: Vec<f64> =
        numbers(&inferred(&inner, &x)).iter().zip(numbers(&x)).map(|(a, b)| (a + b).max(0.0)).collect();
    assert_close(&numbers(&inferred(&block, &x)), &wanted, 1e-12, "residual");
    let projected = Residual::new()
        .add(Dense::new(2))
        .projection(Dense::new(2).named("past"))
        .built(&[3], &mut maker())?;
    let names: Vec<String> = projected.weights().into_iter().map(|w| w.name).collect();
    assert_eq!(
        names,
        ["residual/dense/kernel", "residual/dense/bias", "residual/past/kernel", "residual/past/bias"]
    );
    assert_eq!(inferred(&projected, &x).shape().dims(), [5, 2]);
    Ok(())
}

#[test]
fn activations_are_their_formulas() -> Result<()> {
    let values = some(40, 11).iter().map(|v| v * 8.0).collect::<Vec<_>>();
    let x = constant(&values, &[4, 10])?;
    type Formula = fn(f64) -> f64;
    let elementwise: [(Activation, Formula); 10] = [
        (Activation::Linear, |v| v),
        (Activation::Relu, |v| v.max(0.0)),
        (Activation::Relu6, |v| v.clamp(0.0, 6.0)),
        (Activation::LeakyRelu(0.2), |v| if v < 0.0 { 0.2 * v } else { v }),
        (Activation::Elu(1.5), |v| if v < 0.0 { 1.5 * (v.exp() - 1.0) } else { v }),
        (Activation::Selu, |v| {
            1.0507009873554805 * if v < 0.0 { 1.6732632423543772 * (v.exp() - 1.0) } else { v }
        }),
        (Activation::Sigmoid, |v| 1.0 / (1.0 + (-v).exp())),
        (Activation::Tanh, f64::tanh),
        (Activation::Softplus, |v| (1.0 + v.exp()).ln()),
        (Activation::Swish, |v| v / (1.0 + (-v).exp())),
    ];
    for (activation, formula) in elementwise {
        let wanted: Vec<f64> = values.iter().map(|&v| formula(v)).collect();
        assert_close(&numbers(&activation.apply(&x)?), &wanted, 1e-9, &format!("{activation:?}"));
    }
    let shares: Vec<f64> = values
        .chunks(10)
        .flat_map(|row| {
            let all: f64 = row.iter().map(|v| v.exp()).sum();
            row.iter().map(move |v| v.exp() / all).collect::<Vec<_>>()
        })
        .collect();
    assert_close(&numbers(&Activation::Softmax.apply(&x)?), &shares, 1e-9, "softmax");
    let logs: Vec<f64> = shares.iter().map(|v| v.ln()).collect();
    assert_close(&numbers(&Activation::LogSoftmax.apply(&x)?), &logs, 1e-9, "log softmax");
    let gelu = numbers(&Activation::Gelu.apply(&tensor([-1.0f64, 0.0, 1.0, 3.0])?)?);
    assert_close(&gelu, &[-0.15865525393145707, 0.0, 0.8413447460685429, 2.99595030590511], 1e-9, "gelu");
    Ok(())
}
