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
    registry.add(OpKind::Update, &[DType::F32], CpuKernel::dense(run::<f32>).working_in_place());
    registry.add(OpKind::Update, &[DType::F64], CpuKernel::dense(run::<f64>).working_in_place());
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

/// Elements that are read before the first of them is written: a cache line of f32.
const BLOCK: usize = 16;

/// The elements that a task works on. A result may be where an operand is: new parameters are written over
/// their gradient where nobody needs that any more, and so into lines that are in the caches. Hence pointers,
/// and each block of all operands is read before results of it are written.
///
/// Whoever makes one vouches that all but tensors of state that the op does not have are there, with `count`
/// elements, that nobody else writes to these, and that a result overlaps no operand but one that begins
/// where it does.
#[derive(Clone, Copy)]
struct Part<T> {
    parameter: *const T,
    gradient: *const T,
    old: [*const T; 2],
    out: *mut T,
    new: [*mut T; 2],
    count: usize,
}

impl<T: Float> Part<T> {
    /// Applies a step to every element: from a parameter, its gradient and its state to both anew.
    #[inline(always)]
    fn each<const STATES: usize>(&self, step: impl Fn(T, T, [T; STATES]) -> (T, [T; STATES])) {
        let whole = self.count / BLOCK * BLOCK;
        for at in (0..whole).step_by(BLOCK) {
            self.block(at, BLOCK, &step);
        }
        if whole < self.count {
            self.block(whole, self.count - whole, &step);
        }
    }

    /// The `length` elements from `at` on, at most a block.
    #[inline(always)]
    fn block<const STATES: usize>(
        &self,
        at: usize,
        length: usize,
        step: &impl Fn(T, T, [T; STATES]) -> (T, [T; STATES]),
    ) {
        let read = |from: *const T| {
            let mut block = [T::ZERO; BLOCK];
            // SAFETY: the tensor has these elements, by the promise of a part; a block has room for them.
            unsafe { std::ptr::copy_nonoverlapping(from.add(at), block.as_mut_ptr(), length) };
            block
        };
        let (parameter, gradient) = (read(self.parameter), read(self.gradient));
        let old: [[T; BLOCK]; STATES] = std::array::from_fn(|n| read(self.old[n]));
        let mut out = [T::ZERO; BLOCK];
        let mut new = [[T::ZERO; BLOCK]; STATES];
        for (i, out) in out.iter_mut().enumerate() {
            let (value, state) = step(parameter[i], gradient[i], std::array::from_fn(|n| old[n][i]));
            *out = value;
            for (new, state) in new.iter_mut().zip(state) {
                new[i] = state;
            }
        }
        let write = |block: &[T; BLOCK], to: *mut T| {
            // SAFETY: the tensor has these elements, and they are this task's.
            unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to.add(at), length) };
        };
        new.iter().zip(self.new).for_each(|(block, to)| write(block, to));
        write(&out, self.out);
    }
}

multiversion! {
    fn sgd[I, T: (Float)](part: Part<T>, n: Numbers<T>) {
        part.each(|p, g, []| {
            let g = n.coupled.mul_add::<I>(p, g);
            (n.kept * p - n.rate * g, [])
        });
    }
}

multiversion! {
    fn momentum[I, T: (Float)](part: Part<T>, n: Numbers<T>, nesterov: bool) {
        part.each(|p, g, [old]| {
            let g = n.coupled.mul_add::<I>(p, g);
            let v = n.first.mul_add::<I>(old, g);
            let ahead = if nesterov { n.first.mul_add::<I>(v, g) } else { v };
            (n.kept * p - n.rate * ahead, [v])
        });
    }
}

multiversion! {
    fn adam[I, T: (Float)](part: Part<T>, n: Numbers<T>) {
        let [rest1, rest2] = n.rests;
        part.each(|p, g, [m, v]| {
            let g = n.coupled.mul_add::<I>(p, g);
            let mean = n.first.mul_add::<I>(m, rest1 * g);
            let square = n.second.mul_add::<I>(v, rest2 * g * g);
            let root = n.root.mul_add::<I>(square.sqrt(), n.epsilon);
            (n.kept * p - n.rate * mean / root, [mean, square])
        });
    }
}

multiversion! {
    /// RMSprop and Adagrad: `keep` of the old sum, `add` of the new square.
    fn scaled[I, T: (Float)](part: Part<T>, n: Numbers<T>, keep: T, add: T) {
        part.each(|p, g, [old]| {
            let g = n.coupled.mul_add::<I>(p, g);
            let square = keep.mul_add::<I>(old, add * g * g);
            (n.kept * p - n.rate * g / (square.sqrt() + n.epsilon), [square])
        });
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
        let ([p, g, a, b], [out, x, y]) = (inputs.get(), outputs.get());
        // All tensors are dense, with more than `first` elements; ranges do not overlap. An output is memory
        // of its own, or that of an operand that lies as it does.
        let part = Part {
            parameter: p.wrapping_add(first),
            gradient: g.wrapping_add(first),
            old: [a.wrapping_add(first), b.wrapping_add(first)],
            out: out.wrapping_add(first),
            new: [x.wrapping_add(first), y.wrapping_add(first)],
            count: last - first,
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
