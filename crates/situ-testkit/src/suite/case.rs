//! One case: an op, what it is given, what it must give, and how closely.

use crate::array::Array;
use crate::input::{Form, Input};
use situ_core::{DType, DeviceKind, TensorType};
use situ_ir::Op;
use std::fmt;
use std::sync::OnceLock;

/// How close a result must be to its reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// The same bits, after rounding the reference to the dtype; one NaN is as good as another.
    Bits,
    /// The same number: zeros of either sign are one.
    Equal,
    /// Within `relative` of the reference's size (or of the scale that the reference gives), plus `absolute`.
    Near {
        /// Of the size.
        relative: f64,
        /// Whatever the size.
        absolute: f64,
    },
}

/// How close a result must be, by the kind of device: shaders round divisions and roots more loosely than the
/// CPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// How far results may be off on CPUs.
    pub cpu: Bound,
    /// How far results may be off on GPUs.
    pub gpu: Bound,
}

impl Tolerance {
    /// The same bits everywhere (on a GPU, but for the sign of zero).
    pub const BITS: Tolerance = Tolerance { cpu: Bound::Bits, gpu: Bound::Equal };
    /// The same numbers everywhere.
    pub const EQUAL: Tolerance = Tolerance { cpu: Bound::Equal, gpu: Bound::Equal };

    /// Within some units in the last place of the dtype on a CPU, and `gpu` times as many on a GPU.
    pub fn units(dtype: DType, units: f64, gpu: f64) -> Tolerance {
        let (Some(bits), Some(least_normal)) = (dtype.significand_bits(), dtype.least_normal()) else {
            return Tolerance::EQUAL;
        };
        let epsilon = 2f64.powi(1 - bits as i32);
        let least = least_normal * epsilon;
        Tolerance {
            cpu: Bound::Near { relative: units * epsilon, absolute: units * least },
            // Denormals of f32 may be zeros there; those of 16-bit floats are not.
            gpu: Bound::Near {
                relative: gpu * units * epsilon,
                absolute: (units * least).max(f64::from(f32::MIN_POSITIVE)),
            },
        }
    }

    /// The same with something allowed whatever the size: near the zeros of a function.
    pub fn plus(self, more: f64) -> Tolerance {
        let widen = |bound| match bound {
            Bound::Near { relative, absolute } => Bound::Near { relative, absolute: absolute + more },
            Bound::Bits | Bound::Equal => bound,
        };
        Tolerance { cpu: widen(self.cpu), gpu: widen(self.gpu) }
    }

    /// The bound on that kind of device.
    pub fn on(self, kind: DeviceKind) -> Bound {
        match kind {
            DeviceKind::Cpu => self.cpu,
            DeviceKind::Gpu => self.gpu,
        }
    }
}

/// What a reference gives.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The result, floats not yet rounded to the dtype.
    pub array: Array,
    /// For each element, the size of what was added up to get it: sums that cancel can't be closer than that.
    pub scale: Option<Vec<f64>>,
}

impl From<Array> for Expected {
    fn from(array: Array) -> Expected {
        Expected { array, scale: None }
    }
}

type Reference = dyn Fn(&[Array]) -> Expected + Send + Sync;

/// One op on given inputs, and what must come out.
pub struct Case {
    /// Unique, and enough to find it: the op, dtypes, shapes, layout.
    pub name: String,
    /// The op with its attributes.
    pub op: Op,
    /// What it is given.
    pub inputs: Vec<Input>,
    /// What it must give.
    reference: Box<Reference>,
    /// How close results must be.
    pub tolerance: Tolerance,
    /// Which of the op's outputs is meant.
    pub output: usize,
    /// The reference's answer, worked out once however often the case is run.
    expected: OnceLock<Expected>,
}

impl Case {
    /// A case. `label` tells it from others of the same op and types.
    pub fn new(
        label: &str,
        op: impl Into<Op>,
        inputs: Vec<Input>,
        tolerance: Tolerance,
        reference: impl Fn(&[Array]) -> Expected + Send + Sync + 'static,
    ) -> Case {
        let op = op.into();
        let types: Vec<String> =
            inputs.iter().map(|i| format!("{}{}", i.dtype(), i.layout().shape())).collect();
        let name = format!("{}({}) {label}", op.name(), types.join(", "));
        let name = name.trim_end().to_string();
        Case {
            name,
            op,
            inputs,
            reference: Box::new(reference),
            tolerance,
            output: 0,
            expected: OnceLock::new(),
        }
    }

    /// The same, of another output of the op than the first.
    #[must_use]
    pub fn output(self, output: usize) -> Case {
        Case { output, ..self }
    }

    /// A case whose inputs are all laid out in a form; the label names it.
    pub fn formed(
        label: &str,
        form: Form,
        op: impl Into<Op>,
        arrays: Vec<Array>,
        tolerance: Tolerance,
        reference: impl Fn(&[Array]) -> Expected + Send + Sync + 'static,
    ) -> Case {
        let inputs = arrays.into_iter().map(|a| Input::formed(a, form)).collect();
        Case::new(&format!("{label} {}", form.name()), op, inputs, tolerance, reference)
    }

    /// What the result must be.
    pub fn expected(&self) -> &Expected {
        self.expected.get_or_init(|| {
            let dense: Vec<Array> = self.inputs.iter().map(Input::dense).collect();
            (self.reference)(&dense)
        })
    }

    /// What the result must be on a device that takes denormals for zeros, coming and going.
    pub fn expected_without_denormals(&self) -> Expected {
        let dense: Vec<Array> = self.inputs.iter().map(|i| i.dense().flushed()).collect();
        let Expected { array, scale } = (self.reference)(&dense);
        Expected { array: array.flushed(), scale }
    }

    /// The op and its dtypes, by which kernels are absent or present.
    pub fn signature(&self) -> String {
        let types: Vec<TensorType> =
            self.inputs.iter().map(|i| TensorType::new(i.dtype(), *i.layout().shape())).collect();
        signature(&self.op, &types)
    }
}

/// An op and its dtypes, as the lists of absent kernels have them: `gather f32,i64`, `cast f32 -> i32`.
pub(super) fn signature(op: &Op, types: &[TensorType]) -> String {
    let mut inputs: Vec<&str> = types.iter().map(|t| t.dtype.name()).collect();
    if inputs.iter().all(|d| *d == inputs[0]) {
        inputs.truncate(1);
    }
    let out = op.infer(types).map_or("?", |out| out[0].dtype.name());
    match inputs.as_slice() {
        [] => format!("{} {out}", op.name()),
        [one] if *one == out => format!("{} {one}", op.name()),
        // What the result is follows from the op, but for casts and one-hot rows.
        list if !matches!(op, Op::Cast(_) | Op::OneHot(_)) => format!("{} {}", op.name(), list.join(",")),
        list => format!("{} {} -> {out}", op.name(), list.join(",")),
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
