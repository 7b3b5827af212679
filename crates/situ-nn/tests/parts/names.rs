//! Names of layers and of their weights.

use situ_core::{Result, Shape};
use situ_nn::{BatchNorm, Conv2D, Dense, Flatten, Layer, Maker, Model, Pass, Residual, Sequential, Weight};
use situ_tensor::{Function, Tensor};

fn names(model: &dyn Model) -> Vec<String> {
    model.weights().into_iter().map(|w| w.name).collect()
}

#[test]
fn layers_are_numbered_by_kind_and_named_below_the_layers_around_them() -> Result<()> {
    let block = || Sequential::new().add(Dense::new(3)).add(Dense::new(3).named("last"));
    let model = Sequential::new()
        .named("not shown: it is the whole")
        .add(Dense::new(3))
        .add(block())
        .add(block().named("head"))
        .add(Dense::new(3))
        .built(&[3], &mut Maker::new(1))?;
    let kernels: Vec<String> = names(&model).into_iter().filter(|n| n.ends_with("kernel")).collect();
    assert_eq!(
        kernels,
        [
            "dense/kernel",
            "sequential/dense/kernel",
            "sequential/last/kernel",
            "head/dense/kernel",
            "head/last/kernel",
            "dense_1/kernel"
        ]
    );
    let layers: Vec<&str> = model.layers().map(|(name, _)| name).collect();
    assert_eq!(layers, ["dense", "sequential", "head", "dense_1"]);
    Ok(())
}

#[test]
fn a_layer_that_is_built_keeps_its_weights_and_takes_the_name_of_its_new_place() -> Result<()> {
    let trained = Dense::new(4).built(&[3], &mut Maker::new(7))?;
    let before = trained.weights()[0].variable.value().to_vec::<f32>()?;
    let model = Sequential::new().add(Dense::new(3)).add(trained).built(&[5], &mut Maker::new(8))?;
    let kernel = &model.weights()[2];
    assert_eq!(kernel.name, "dense_1/kernel");
    assert_eq!(kernel.variable.value().to_vec::<f32>()?, before);

    let grown = model.add(Dense::new(2));
    assert!(!grown.is_built());
    let grown = grown.built(&[5], &mut Maker::new(9))?;
    assert_eq!(grown.weights()[2].variable.value().to_vec::<f32>()?, before);
    assert_eq!(names(&grown)[4], "dense_2/kernel");
    let error = grown.built(&[6], &mut Maker::new(9)).unwrap_err().to_string();
    assert!(
        error.contains("dense/kernel") && error.contains("[5, 3]") && error.contains("[6, 3]"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_model_without_weights_gets_them_from_its_seed_for_the_first_batch() -> Result<()> {
    let new = || Sequential::new().add(Flatten::new()).add(Dense::new(4)).seed(11);
    let (mut a, mut b) = (new(), new());
    a.prepare(&Shape::new(&[32, 2, 3])?)?;
    b.prepare(&Shape::new(&[8, 2, 3])?)?;
    let kernel = |m: &Sequential| m.weights()[0].variable.value().to_vec::<f32>();
    assert_eq!(kernel(&a)?, kernel(&b)?);
    a.prepare(&Shape::new(&[8, 2, 3])?)?;
    assert_eq!(kernel(&a)?, kernel(&b)?, "a model that has weights keeps them");
    assert_eq!(kernel(&new().built(&[2, 3], &mut Maker::new(11))?)?, kernel(&a)?);
    Ok(())
}

#[test]
fn two_layers_with_one_name_are_an_error_and_so_is_a_name_that_is_a_path() {
    let twice = Sequential::new().add(Dense::new(2).named("a")).add(Dense::new(2).named("a"));
    let error = twice.built(&[2], &mut Maker::new(0)).unwrap_err().to_string();
    assert!(error.contains("\"a\""), "{error}");
    for name in ["", "a/b"] {
        assert!(Dense::new(2).named(name).built(&[2], &mut Maker::new(0)).is_err());
    }
    // A name that is taken by one that was given is not given to another.
    let model = Sequential::new().add(Dense::new(2).named("dense")).add(Dense::new(2));
    let model = model.built(&[2], &mut Maker::new(0)).unwrap();
    assert_eq!(names(&model)[2], "dense_1/kernel");
}

#[test]
fn ops_have_the_names_of_their_layers() -> Result<()> {
    let block = Residual::new().add(Conv2D::new(2, [1, 1])).add(BatchNorm::new());
    let model = Sequential::new()
        .add(block)
        .add(Flatten::new())
        .add(Sequential::new().named("head").add(Dense::new(3)));
    let model = model.built(&[2, 4, 4], &mut Maker::new(0))?;
    let function = situ_tensor::Function::new(move |x| model.forward(x, &situ_nn::Pass::inference()));
    let x = situ_tensor::zeros(&[2, 2, 4, 4], situ_core::DType::F32)?;
    let places: Vec<String> = function.places(&[&x])?.iter().map(|place| place.full_name()).collect();
    for wanted in ["residual/conv2d/conv2d", "residual/add", "head/dense/matmul"] {
        assert!(places.iter().any(|name| name == wanted), "{wanted} in {places:?}");
    }
    Ok(())
}

#[test]
fn ops_of_a_model_of_ones_own_have_the_names_that_their_weights_were_made_within() -> Result<()> {
    struct Blocks(Vec<(Dense, Sequential)>);
    impl Model for Blocks {
        fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
            let mut x = x.clone();
            for (number, (dense, rest)) in self.0.iter().enumerate() {
                // The second block says its name itself.
                let _name = (number == 1).then(|| situ_tensor::name_scope("block1"));
                x = rest.forward(&dense.forward(&x, pass)?, pass)?;
            }
            Ok(x)
        }
        fn weights(&self) -> Vec<Weight> {
            self.0.iter().flat_map(|(a, b)| [a.weights(), b.weights()].concat()).collect()
        }
    }
    let maker = &mut Maker::new(0);
    let mut blocks = Vec::new();
    for name in ["block0", "block1", "block2"] {
        blocks.push(maker.within(name, |maker| {
            let rest = || Sequential::new().add(Dense::new(3)).add(Residual::new().add(Dense::new(3)));
            let dense = Dense::new(3).built(&[3], maker)?;
            Ok((dense, maker.within("inner", |maker| rest().built(&[3], maker))?))
        })?);
    }
    let model = Blocks(blocks);
    let weights = model.weights();
    let function = Function::new(move |x| {
        let tape = situ_tensor::Tape::new();
        let loss = model.forward(x, &Pass::inference())?.square()?.sum(&[])?;
        let gradients = tape.gradients(&loss, weights.iter().map(|w| &w.variable))?;
        gradients.into_iter().flatten().try_fold(loss, |sum, g| sum.add(&g.sum(&[])?))
    });
    let x = situ_tensor::ones(&[2, 3], situ_core::DType::F32)?;
    let places: Vec<String> = function.places(&[&x])?.iter().map(|place| place.full_name()).collect();
    for block in ["block0", "block1", "block2"] {
        for wanted in ["dense/matmul", "inner/dense/matmul", "inner/residual/dense/matmul"] {
            let wanted = format!("{block}/{wanted}");
            let count = places.iter().filter(|name| **name == wanted).count();
            assert_eq!(count, 1, "{wanted} in {places:#?}");
        }
        let gradient = format!("gradient/{block}/inner/residual/dense/");
        assert!(places.iter().any(|name| name.starts_with(&gradient)), "{gradient} in {places:#?}");
    }
    Ok(())
}
