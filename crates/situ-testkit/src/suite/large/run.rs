//! Running large cases on a device: eagerly, and in a function.

use super::{Answer, Large};
use crate::input::strictly_on;
use crate::suite::absent;
use crate::suite::case::signature;
use crate::suite::compare::real_close;
use situ_core::{DType, DeviceId, Element, Error, Result, TensorType, with_element};
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, apply_op, scope, with_runtime};

/// What came of a case.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Right, both ways.
    Right,
    /// The device is known to have no kernel for its dtypes.
    Absent,
    /// What is wrong, one line for each way.
    Wrong(Vec<String>),
}

/// Runs a case on a device, strictly: no fallback, no implicit copies.
pub fn run(runtime: &Runtime, device: DeviceId, case: &Large) -> Outcome {
    with_runtime(runtime, || {
        let _strictly = scope::enter(strictly_on(device));
        let mut inputs = Vec::new();
        for given in &case.inputs {
            match given.tensor() {
                Ok(tensor) => inputs.push(tensor),
                Err(error) => return failure(case, device, "its input", &error),
            }
        }
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let answer = (case.reference)(&case.inputs);
        let mut wrong = Vec::new();
        for (how, result) in [("eager", eager(case, &inputs)), ("in a function", function(case, &inputs))] {
            let result =
                result.and_then(|tensor| Ok((tensor.device(), tensor.tensor_type(), tensor.to_bytes()?)));
            match result {
                Ok((on, ..)) if on != device => wrong.push(format!("{how}: it ran on {on}")),
                Ok((_, ty, bytes)) => {
                    wrong.extend(
                        mismatch(case, device, ty, &bytes, &answer).map(|text| format!("{how}: {text}")),
                    );
                }
                Err(error) => match failure(case, device, how, &error) {
                    Outcome::Wrong(lines) => wrong.extend(lines),
                    other => return other,
                },
            }
        }
        if wrong.is_empty() { Outcome::Right } else { Outcome::Wrong(wrong) }
    })
}

fn eager(case: &Large, inputs: &[&Tensor]) -> Result<Tensor> {
    Ok(apply_op(case.op.clone(), inputs)?.swap_remove(case.output))
}

fn function(case: &Large, inputs: &[&Tensor]) -> Result<Tensor> {
    // A function draws streams of its own: what an op draws there is not what it draws alone.
    if case.op.stream().is_some() {
        return eager(case, inputs);
    }
    let op = case.op.clone();
    let f = Function::many(move |inputs| apply_op(op.clone(), &inputs.iter().collect::<Vec<_>>()));
    Ok(f.call_many(inputs)?.swap_remove(case.output))
}

/// An error: known to be absent, or wrong.
fn failure(case: &Large, device: DeviceId, how: &str, error: &Error) -> Outcome {
    let is_absent = matches!(error, Error::NoKernel(_))
        && absent::expected(device.kind).contains(&signature(&case.op, &case.inputs_types()));
    if is_absent { Outcome::Absent } else { Outcome::Wrong(vec![format!("{how}: {error}")]) }
}

impl Large {
    fn inputs_types(&self) -> Vec<TensorType> {
        self.inputs.iter().map(super::Given::tensor_type).collect()
    }
}

fn element(dtype: DType, bytes: &[u8]) -> f64 {
    match dtype {
        // A bool is 0 or 1: any other byte is a fault that the comparison must see.
        DType::Bool => f64::from(bytes[0]),
        _ => with_element!(dtype, T => T::from_bytes(bytes).to_f64()),
    }
}

/// What is wrong with a result, if anything is.
fn mismatch(case: &Large, device: DeviceId, ty: TensorType, bytes: &[u8], answer: &Answer) -> Option<String> {
    let expected = case.op.infer(&case.inputs_types()).ok()?[case.output];
    if ty != expected {
        return Some(format!("is {ty}, expected {expected}"));
    }
    if let Answer::All { values, .. } = answer {
        assert_eq!(values.len(), ty.shape.elements(), "the reference of {}", case.name);
    }
    let bound = case.tolerance.on(device.kind);
    let (mut first, mut count) = (None, 0usize);
    for (place, bytes) in bytes.chunks_exact(ty.dtype.size()).enumerate() {
        let got = element(ty.dtype, bytes);
        let (want, scale) = match answer {
            Answer::All { values, scale } => (values[place], scale[place]),
            Answer::Each(value) => (value(place), 0.0),
        };
        let right = got == want || (ty.dtype.is_float() && real_close(ty.dtype, got, want, scale, bound));
        if !right {
            count += 1;
            first = first.or(Some((place, got, want)));
        }
    }
    let (place, got, want) = first?;
    let all = ty.shape.elements();
    Some(format!("element {place} is {got}, expected {want} ({count} of {all} are wrong; {bound:?})"))
}
