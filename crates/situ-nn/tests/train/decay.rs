//! Weight decay for some weights and not for others.

use crate::model::*;
use situ_core::Result;
use situ_nn::compile;
use situ_nn::optimizers::*;
use situ_tensor::{Tensor, Variable};

#[test]
fn weights_that_are_left_out_of_decay_step_as_without_it() -> Result<()> {
    let (x, y) = quadrants(64, 6, 4)?;
    let trained = |optimizer: Optimizer| -> Result<Vec<(String, Vec<f32>)>> {
        let mut trainer = compile(Mlp::new(&[6, 12, 4], 1)?, optimizer, cross_entropy(), ())?;
        // Biases begin at zero, which decay would leave there.
        for weight in trainer.weights() {
            weight.variable.assign(&situ_tensor::full(weight.variable.shape().dims(), 0.5f32)?)?;
        }
        // One step: a second one has gradients that depend on all weights.
        trainer.train_on_batch(&x, &y)?;
        trainer.weights().iter().map(|w| Ok((w.name.clone(), w.variable.value().to_vec::<f32>()?))).collect()
    };
    type Make = fn(f64) -> Optimizer;
    let optimizers: [Make; 6] = [
        |decay| Sgd { decay, momentum: 0.9, ..Sgd::new(0.1) }.into(),
        |decay| Adam { decay, ..Adam::new(0.1) }.into(),
        |decay| AdamW { decay, ..AdamW::new(0.1) }.into(),
        |decay| RmsProp { decay, ..RmsProp::new(0.1) }.into(),
        |decay| RmsProp { decay, momentum: 0.5, ..RmsProp::new(0.1) }.into(),
        |decay| Adagrad { decay, ..Adagrad::new(0.1) }.into(),
    ];
    for make in optimizers {
        let (without, with) = (trained(make(0.0))?, trained(make(0.5))?);
        let some = trained(make(0.5).decay_only(kernels))?;
        let named = trained(make(0.5).decay_only(|name, _| name == "dense_0/bias"))?;
        for (number, (name, numbers)) in some.iter().enumerate() {
            let (plain, decayed) = (&without[number].1, &with[number].1);
            assert_ne!(plain, decayed, "{name}");
            assert_eq!(numbers, if name.ends_with("kernel") { decayed } else { plain }, "{name}");
            assert_eq!(&named[number].1, if name == "dense_0/bias" { decayed } else { plain }, "{name}");
        }
    }
    // By hand: the first step of AdamW is the rate, whatever the size of the gradient, and the decay before
    // it.
    let (kernel, bias) = (0usize, 1usize);
    let some = trained(AdamW { decay: 0.5, ..AdamW::new(0.1) }.decay_only(kernels))?;
    let steps = |number: usize, start: f32| {
        some[number].1.iter().all(|w| ((w - start).abs() - 0.1).abs() < 1e-5 || (w - start).abs() < 1e-6)
    };
    assert!(steps(kernel, 0.5 * (1.0 - 0.1 * 0.5)) && steps(bias, 0.5), "{some:?}");
    Ok(())
}

#[test]
fn a_rule_without_decay_can_leave_none_out() -> Result<()> {
    #[derive(Debug)]
    struct Plain;
    impl UpdateRule for Plain {
        fn name(&self) -> &'static str {
            "plain"
        }
        fn state(&self) -> Vec<State> {
            Vec::new()
        }
        fn step(&self, weight: &Variable, gradient: &Tensor, _: &Tensor, _: &[&Variable]) -> Result<()> {
            weight.assign(&weight.value().sub(gradient)?)
        }
    }
    let optimizer = Optimizer::new(Plain, 0.1).decay_only(kernels);
    let error = compile(Mlp::new(&[6, 4], 1)?, optimizer, cross_entropy(), ()).err().unwrap().to_string();
    assert!(error.contains("plain") && error.contains("without_decay"), "{error}");
    Ok(())
}
