//! Optimizers against their formulas, written out in f64.

use situ_core::{DType, Result};
use situ_nn::optimizers::{Adagrad, Adam, AdamW, Clip, Optimizer, RmsProp, Schedule, Sgd};
use situ_nn::{Maker, Penalty, Weight};
use situ_tensor::{Tensor, tensor};

fn weights(values: &[&[f64]]) -> Result<Vec<Weight>> {
    let mut maker = Maker::new(0).of(DType::F64);
    values
        .iter()
        .enumerate()
        .map(|(n, v)| {
            maker.weight(&format!("w{n}"), &situ_tensor::constant(v, &[v.len()])?, true, Penalty::default())
        })
        .collect()
}

/// One weight after gradients, one a step.
fn after(optimizer: impl Into<Optimizer>, start: f64, gradients: &[f64]) -> f64 {
    let weights = weights(&[&[start]]).unwrap();
    let mut stepper = optimizer.into().bind(&weights).unwrap();
    for g in gradients {
        stepper.step(&[Some(tensor([*g]).unwrap())]).unwrap();
    }
    weights[0].variable.value().item::<f64>().unwrap()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
}

const G: [f64; 4] = [0.5, -0.25, 0.125, 1.0];

#[test]
fn momentum_adds_to_the_velocity_and_nesterov_looks_ahead() {
    let (mut w, mut ahead, mut v) = (1.0, 1.0, 0.0);
    for g in G {
        v = 0.9 * v + g;
        w -= 0.1 * v;
        ahead -= 0.1 * (g + 0.9 * v);
    }
    near(after(Sgd { momentum: 0.9, ..Sgd::new(0.1) }, 1.0, &G), w);
    near(after(Sgd { momentum: 0.9, nesterov: true, ..Sgd::new(0.1) }, 1.0, &G), ahead);
    near(after(Sgd::new(0.1), 1.0, &G), 1.0 - 0.1 * G.iter().sum::<f64>());
}

#[test]
fn adam_adds_epsilon_to_the_root_of_the_corrected_mean_square() {
    let decayed = |decay: f64, decoupled: bool| {
        let (mut w, mut m, mut v) = (1.0f64, 0.0, 0.0);
        for (t, g) in G.iter().enumerate() {
            let t = t as i32 + 1;
            let g = if decoupled { *g } else { g + decay * w };
            if decoupled {
                w -= 0.1 * decay * w;
            }
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            let (m, v) = (m / (1.0 - 0.9f64.powi(t)), v / (1.0 - 0.999f64.powi(t)));
            w -= 0.1 * m / (v.sqrt() + 1e-3);
        }
        w
    };
    near(after(Adam { epsilon: 1e-3, ..Adam::new(0.1) }, 1.0, &G), decayed(0.0, false));
    near(after(Adam { epsilon: 1e-3, decay: 0.2, ..Adam::new(0.1) }, 1.0, &G), decayed(0.2, false));
    near(after(AdamW { epsilon: 1e-3, decay: 0.2, ..AdamW::new(0.1) }, 1.0, &G), decayed(0.2, true));
}

#[test]
fn rmsprop_and_adagrad_divide_by_the_root_and_epsilon() {
    let (mut w, mut square) = (1.0, 0.0);
    for g in G {
        square = 0.9 * square + 0.1 * g * g;
        w -= 0.1 * g / (f64::sqrt(square) + 1e-3);
    }
    near(after(RmsProp { rho: 0.9, epsilon: 1e-3, ..RmsProp::new(0.1) }, 1.0, &G), w);
    let (mut w, mut sum) = (1.0, 0.5);
    for g in G {
        sum += g * g;
        w -= 0.1 * g / (f64::sqrt(sum) + 1e-3);
    }
    near(after(Adagrad { initial: 0.5, epsilon: 1e-3, ..Adagrad::new(0.1) }, 1.0, &G), w);
}

#[test]
fn rmsprop_keeps_a_velocity_and_takes_the_variance_if_it_is_told_to() {
    for (momentum, centered) in [(0.9, false), (0.0, true), (0.9, true)] {
        let (mut w, mut square, mut mean, mut velocity) = (1.0, 0.0, 0.0, 0.0);
        for g in G {
            let g = g + 0.01 * w;
            square = 0.9 * square + 0.1 * g * g;
            mean = 0.9 * mean + 0.1 * g;
            let spread = if centered { square - mean * mean } else { square };
            velocity = momentum * velocity + g / (f64::sqrt(spread) + 1e-3);
            w -= 0.1 * velocity;
        }
        let rms = RmsProp { rho: 0.9, epsilon: 1e-3, decay: 0.01, momentum, centered, ..RmsProp::new(0.1) };
        near(after(rms, 1.0, &G), w);
    }
}

#[test]
fn gradients_are_clipped_by_value_by_norm_and_by_the_norm_of_all() {
    let moved = |clip: Clip| -> Vec<Vec<f64>> {
        let weights = weights(&[&[0.0, 0.0], &[0.0]]).unwrap();
        let mut stepper = Optimizer::from(Sgd { clip, ..Sgd::new(1.0) }).bind(&weights).unwrap();
        let gradients = [Some(tensor([3.0, -4.0]).unwrap()), Some(tensor([12.0]).unwrap())];
        stepper.step(&gradients).unwrap();
        weights.iter().map(|w| w.variable.value().to_vec::<f64>().unwrap()).collect()
    };
    assert_eq!(moved(Clip::Value(3.5)), [vec![-3.0, 3.5], vec![-3.5]]);
    let by_norm = moved(Clip::Norm(10.0));
    assert_eq!(by_norm[0], [-3.0, 4.0], "a norm of 5 is within the limit");
    near(by_norm[1][0], -10.0);
    let by_all = moved(Clip::GlobalNorm(6.5));
    near(by_all[0][0], -1.5);
    near(by_all[1][0], -6.0);
    assert_eq!(moved(Clip::GlobalNorm(13.5)), [vec![-3.0, 4.0], vec![-12.0]], "13 is within the limit");
    let weights = weights(&[&[0.0]]).unwrap();
    let mut stepper = Optimizer::from(Sgd { clip: Clip::Norm(0.0), ..Sgd::new(1.0) }).bind(&weights).unwrap();
    let error = stepper.step(&[Some(tensor([1.0]).unwrap())]).unwrap_err().to_string();
    assert!(error.contains("positive"), "{error}");
}

#[test]
fn a_schedule_gives_each_step_its_rate() {
    let weights = weights(&[&[0.0]]).unwrap();
    let optimizer = Optimizer::from(Sgd::new(Schedule::custom(|step| 1.0 / (step + 1) as f64)));
    let mut stepper = optimizer.bind(&weights).unwrap();
    let mut expected = 0.0;
    for step in 0..4 {
        stepper.step(&[Some(tensor([1.0]).unwrap())]).unwrap();
        expected -= 1.0 / (step + 1) as f64;
        near(weights[0].variable.value().item::<f64>().unwrap(), expected);
    }
}

#[test]
fn a_weight_without_a_gradient_stays_and_a_wrong_number_of_gradients_is_an_error() {
    let weights = weights(&[&[1.0], &[1.0]]).unwrap();
    let mut stepper = Optimizer::from(Adam::new(0.1)).bind(&weights).unwrap();
    stepper.step(&[None, Some(tensor([1.0]).unwrap())]).unwrap();
    assert_eq!(weights[0].variable.value().item::<f64>().unwrap(), 1.0);
    let error = stepper.step(&[None]).unwrap_err().to_string();
    assert!(error.contains("1 gradients for 2 weights"), "{error}");
    let bad = Optimizer::from(Sgd::new(Schedule::custom(|_| f64::NAN)));
    let error = bad.bind(&weights).unwrap().step(&[None, None]).unwrap_err().to_string();
    assert!(error.contains("learning rate of step 0 is NaN"), "{error}");
}

#[test]
fn a_rule_of_ones_own_is_an_optimizer_too() {
    #[derive(Debug)]
    struct Sign;
    impl situ_nn::optimizers::UpdateRule for Sign {
        fn name(&self) -> &'static str {
            "sign"
        }
        fn state(&self) -> Vec<situ_nn::optimizers::State> {
            vec![]
        }
        fn step(
            &self,
            weight: &situ_tensor::Variable,
            gradient: &Tensor,
            rates: &Tensor,
            _: &[&situ_tensor::Variable],
        ) -> Result<()> {
            weight.assign_sub(&gradient.sign()?.mul(&rates.narrow(0, 0, 1)?)?)
        }
    }
    near(after(Optimizer::new(Sign, 0.5), 1.0, &[3.0, 0.1, -7.0]), 0.5);
}
