//! Steps of optimizers: the parameter and every tensor of state.

use super::case::{Case, Expected, Tolerance};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::{DType, Real};
use situ_ir::ops::{Update, UpdateKind};

fn kinds() -> Vec<UpdateKind> {
    let r = Real;
    vec![
        UpdateKind::Sgd { momentum: r(0.0), nesterov: false },
        UpdateKind::Sgd { momentum: r(0.9), nesterov: false },
        UpdateKind::Sgd { momentum: r(0.8), nesterov: true },
        UpdateKind::Adam { beta1: r(0.9), beta2: r(0.999), epsilon: r(1e-8) },
        UpdateKind::RmsProp { rho: r(0.9), epsilon: r(1e-7) },
        UpdateKind::Adagrad { epsilon: r(1e-7) },
    ]
}

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        for kind in kinds() {
            for (decay, decoupled) in [(0.0, false), (0.01, false), (0.1, true)] {
                let op = Update { kind, decay: Real(decay), decoupled };
                for (dims, step) in [(&[5][..], 1.0), (&[3, 7], 10.0), (&[0, 2], 1.0), (&[130, 140], 1000.0)]
                {
                    push(list, &mut noise, op, dtype, dims, step, Form::Dense);
                }
            }
            for form in Form::VIEWS {
                let op = Update { kind, decay: Real(0.0), decoupled: false };
                push(list, &mut noise, op, dtype, &[4, 6], 2.0, form);
            }
        }
    }
}

fn push(
    list: &mut Vec<Case>,
    noise: &mut Noise,
    op: Update,
    dtype: DType,
    dims: &[usize],
    step: f64,
    form: Form,
) {
    // A step's number is no number of 16 bits: rates are f32 beside those.
    let rates = Array::real(if dtype.is_half() { DType::F32 } else { dtype }, &[2], vec![0.01, step]);
    let mut inputs: Vec<Input> = vec![
        Input::formed(noise.array(dtype, dims), form),
        Input::formed(noise.array(dtype, dims), form),
        rates.into(),
    ];
    for n in 0..op.states() {
        // Means of squares are not negative.
        let low = if matches!(op.kind, UpdateKind::Sgd { .. }) || (n == 0 && op.states() == 2) {
            -2.0
        } else {
            0.0
        };
        inputs.push(Input::formed(noise.reals(dtype, dims, low, 2.0), form));
    }
    for output in 0..=op.states() {
        let label = format!(
            "{:?} decay {} {} step {step} {} output {output}",
            op.kind,
            op.decay.0,
            op.decoupled,
            form.name()
        );
        let tolerance = Tolerance::units(dtype, 8.0, 8.0);
        list.push(
            Case::new(&label, op, inputs.clone(), tolerance, move |i| stepped(op, i, output)).output(output),
        );
    }
}

fn stepped(op: Update, inputs: &[Array], output: usize) -> Expected {
    let (p, g, rates) = (inputs[0].reals(), inputs[1].reals(), inputs[2].reals());
    let (rate, t) = (rates[0], rates[1]);
    // 1 − b^t, without the loss of digits that the difference would have.
    let rest = |b: f64| -(t * b.ln()).exp_m1();
    let state = |n: usize, i: usize| inputs[3 + n].reals()[i];
    let (mut values, mut scale) = (Vec::new(), Vec::new());
    for i in 0..p.len() {
        let (kept, g) = if op.decoupled {
            (p[i] * (1.0 - rate * op.decay.0), g[i])
        } else {
            (p[i], g[i] + op.decay.0 * p[i])
        };
        // The step with nothing cancelled: what its rounding is measured by.
        let moved = |old: f64, keep: f64, add: f64| (keep * old).abs() + (add * g).abs();
        let mut reach = 2.0 * rate * g.abs();
        let made: Vec<f64> = match op.kind {
            UpdateKind::Sgd { .. } if op.states() == 0 => vec![kept - rate * g],
            UpdateKind::Sgd { momentum: Real(m), nesterov } => {
                let v = m * state(0, i) + g;
                reach += 2.0 * rate * moved(state(0, i), m, 1.0);
                vec![kept - rate * if nesterov { g + m * v } else { v }, v]
            }
            UpdateKind::Adam { beta1: Real(b1), beta2: Real(b2), epsilon: Real(e) } => {
                let m = b1 * state(0, i) + (1.0 - b1) * g;
                let v = b2 * state(1, i) + (1.0 - b2) * g * g;
                reach = rate * moved(state(0, i), b1, 1.0 - b1) / rest(b1) * (rest(b2) / v).sqrt();
                let (m_hat, v_hat) = (m / rest(b1), v / rest(b2));
                vec![kept - rate * m_hat / (v_hat.sqrt() + e), m, v]
            }
            UpdateKind::RmsProp { rho: Real(rho), epsilon: Real(e) } => {
                let v = rho * state(0, i) + (1.0 - rho) * g * g;
                vec![kept - rate * g / (v.sqrt() + e), v]
            }
            UpdateKind::Adagrad { epsilon: Real(e) } => {
                let v = state(0, i) + g * g;
                vec![kept - rate * g / (v.sqrt() + e), v]
            }
        };
        // What was added up.
        scale.push(if output == 0 { p[i].abs() + reach + (kept - made[0]).abs() } else { 4.0 + g.abs() });
        values.push(made[output]);
    }
    let array = Array::unrounded(inputs[0].dtype, &inputs[0].dims, values);
    Expected { array, scale: Some(scale) }
}
