//! Steps of optimizers, in one pass over memory; f32 and f64.

use super::{CpuKernel, start};
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::multiversion;
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::ops::update::{Update, UpdateKind};
use situ_ir::{Op, OpKind};

/// Elements worth a task of their own.
const GRAIN: usize = 8 << 10;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::Update, &[DType::F32], CpuKernel::dense(run::<f32>));
    registry.add(OpKind::Update, &[DType::F64], CpuKernel::dense(run::<f64>));
}

/// The numbers of a step, worked out once.
#[derive(Clone, Copy)]
struct Numbers<T> {
    rate: T,
    /// Added to the gradient: so much of the parameter.
    coupled: T,
    /// What the parameter is multiplied by first.
    kept: T,
    first: T,
    second: T,
    /// 1 − first and 1 − second, whose digits a difference in f32 would lose.
    rests: [T; 2],
    epsilon: T,
    /// By what the root of the second mean is multiplied.
    root: T,
}

impl<T: Float> Numbers<T> {
    fn new(op: &Update, rate: f64, step: f64) -> Numbers<T> {
        let [first, second, epsilon] = op.numbers();
        let decay = op.decay.0;
        let (mut size, mut root) = (rate, 1.0);
        if matches!(op.kind, UpdateKind::Adam { .. }) {
            // In f64, and by way of expm1: 1 − beta^step is a small difference of near numbers.
            size = rate / -(step * first.ln()).exp_m1();
            root = 1.0 / (-(step * second.ln()).exp_m1()).sqrt();
        }
        let [coupled, kept] = if op.decoupled { [0.0, 1.0 - rate * decay] } else { [decay, 1.0] };
        let t = T::from_f64;
        Numbers {
            rate: t(size),
            coupled: t(coupled),
            kept: t(kept),
            first: t(first),
            second: t(second),
            rests: [t(1.0 - first), t(1.0 - second)],
            epsilon: t(epsilon),
            root: t(root),
        }
    }
}

/// The parts of tensors that a task works on.
struct Part<'a, T> {
    parameter: &'a [T],
    gradient: &'a [T],
    old: [&'a [T]; 2],
    out: &'a mut [T],
    new: [&'a mut [T]; 2],
}

multiversion! {
    fn sgd[I, T: (Float)](part: Part<'_, T>, n: Numbers<T>) {
        for ((out, p), g) in part.out.iter_mut().zip(part.parameter).zip(part.gradient) {
            let g = n.coupled.mul_add::<I>(*p, *g);
            *out = n.kept * *p - n.rate * g;
        }
    }
}

multiversion! {
    fn momentum[I, T: (Float)](part: Part<'_, T>, n: Numbers<T>, nesterov: bool) {
        let Part { parameter, gradient, old: [old, _], out, new: [new, _] } = part;
        // Slices of one length, so that no access is checked.
        let count = out.len();
        let (parameter, gradient, old, new) = (&parameter[..count], &gradient[..count], &old[..count], &mut new[..count]);
        for i in 0..count {
            let g = n.coupled.mul_add::<I>(parameter[i], gradient[i]);
            let v = n.first.mul_add::<I>(old[i], g);
            new[i] = v;
            let ahead = if nesterov { n.first.mul_add::<I>(v, g) } else { v };
            out[i] = n.kept * parameter[i] - n.rate * ahead;
        }
    }
}

multiversion! {
    fn adam[I, T: (Float)](part: Part<'_, T>, n: Numbers<T>) {
        let Part { parameter, gradient, old: [m, v], out, new: [new_m, new_v] } = part;
        let count = out.len();
        let (parameter, gradient, m, v) = (&parameter[..count], &gradient[..count], &m[..count], &v[..count]);
        let (new_m, new_v) = (&mut new_m[..count], &mut new_v[..count]);
        let [rest1, rest2] = n.rests;
        for i in 0..count {
            let g = n.coupled.mul_add::<I>(parameter[i], gradient[i]);
            let mean = n.first.mul_add::<I>(m[i], rest1 * g);
            let square = n.second.mul_add::<I>(v[i], rest2 * g * g);
            new_m[i] = mean;
            new_v[i] = square;
            out[i] = n.kept * parameter[i] - n.rate * mean / n.root.mul_add::<I>(square.sqrt(), n.epsilon);
        }
    }
}

multiversion! {
    /// RMSprop and Adagrad: `keep` of the old sum, `add` of the new square.
    fn scaled[I, T: (Float)](part: Part<'_, T>, n: Numbers<T>, keep: T, add: T) {
        let Part { parameter, gradient, old: [old, _], out, new: [new, _] } = part;
        let count = out.len();
        let (parameter, gradient, old, new) = (&parameter[..count], &gradient[..count], &old[..count], &mut new[..count]);
        for i in 0..count {
            let g = n.coupled.mul_add::<I>(parameter[i], gradient[i]);
            let square = keep.mul_add::<I>(old[i], add * g * g);
            new[i] = square;
            out[i] = n.kept * parameter[i] - n.rate * g / (square.sqrt() + n.epsilon);
        }
    }
}

fn run<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Update(op) = call.op else { return Err(super::refused(call)) };
    let count = call.outputs[0].layout.shape().elements();
    let at =
        |n: usize| call.inputs.get(n).map_or(std::ptr::null(), |arg| start(arg).cast::<T>().cast_const());
    let to = |n: usize| call.outputs.get(n).map_or(std::ptr::null_mut(), |arg| start(arg).cast::<T>());
    // SAFETY: the rule says that there are two rates.
    let [rate, step] = unsafe { [(*at(2)).to_f64(), (*at(2).add(1)).to_f64()] };
    let numbers = Numbers::<T>::new(op, rate, step);
    let (inputs, outputs) = (Shared([at(0), at(1), at(3), at(4)]), Shared([to(0), to(1), to(2)]));
    let states = op.states();
    exec.for_elements(count, GRAIN, |first, last| {
        let ([p, g, a, b], [out, x, y], length) = (inputs.get(), outputs.get(), last - first);
        // SAFETY: all tensors are dense, with `count` elements, and there are as many of state as the op has;
        // outputs are memory of their own; ranges do not overlap.
        let part = unsafe {
            let read = |from: *const T, there: bool| match there {
                true => std::slice::from_raw_parts(from.add(first), length),
                false => &[],
            };
            let write = |to: *mut T, there: bool| match there {
                true => std::slice::from_raw_parts_mut(to.add(first), length),
                false => &mut [],
            };
            Part {
                parameter: read(p, true),
                gradient: read(g, true),
                old: [read(a, states > 0), read(b, states > 1)],
                out: write(out, true),
                new: [write(x, states > 0), write(y, states > 1)],
            }
        };
        match op.kind {
            UpdateKind::Sgd { .. } if states == 0 => sgd(exec.level, part, numbers),
            UpdateKind::Sgd { nesterov, .. } => momentum(exec.level, part, numbers, nesterov),
            UpdateKind::Adam { .. } => adam(exec.level, part, numbers),
            UpdateKind::RmsProp { .. } => {
                scaled(exec.level, part, numbers, numbers.first, numbers.rests[0]);
            }
            UpdateKind::Adagrad { .. } => scaled(exec.level, part, numbers, T::ONE, T::ONE),
        }
    });
    Ok(())
}
