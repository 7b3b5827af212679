//! Running cases on a device.

use super::case::{Case, Expected};
use super::compare::mismatch;
use crate::array::Array;
use crate::input::strictly_on;
use situ_core::{Caller, DeviceId, DeviceKind, Error, Result};
use situ_runtime::{DeviceTensor, Runtime};
use std::collections::BTreeSet;

/// What came of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cases whose results are right.
    pub passed: usize,
    /// Cases whose results are wrong, or that failed, each with what is wrong.
    pub failures: Vec<String>,
    /// Signatures of which every case is without a kernel.
    pub absent: BTreeSet<String>,
    /// Signatures with a kernel for some cases and none for others.
    pub partial: BTreeSet<String>,
}

/// Runs every case on a device, strictly: no fallback, no implicit copies.
pub fn run(runtime: &Runtime, device: DeviceId, cases: &[Case]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut present = BTreeSet::new();
    for case in cases {
        match result_of(runtime, device, case) {
            Ok(Some(got)) => {
                present.insert(case.signature());
                let or = without_denormals(device, case);
                match mismatch(&got, case.expected(), or.as_ref(), case.tolerance.on(device.kind)) {
                    None => outcome.passed += 1,
                    Some(wrong) => outcome.failures.push(format!("{}: {wrong}", case.name)),
                }
            }
            Ok(None) => {
                outcome.absent.insert(case.signature());
            }
            Err(error) => outcome.failures.push(format!("{}: {error}", case.name)),
        }
    }
    outcome.partial = outcome.absent.intersection(&present).cloned().collect();
    outcome.absent.retain(|signature| !present.contains(signature));
    outcome
}

/// The bytes of every result, `None` where there is no kernel: for comparing runs with one another.
pub fn bits(runtime: &Runtime, device: DeviceId, cases: &[Case]) -> Vec<Option<Vec<u8>>> {
    cases
        .iter()
        .map(|case| {
            let placed = attempt(runtime, device, case).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            placed.map(|tensor| read(runtime, &tensor).unwrap_or_else(|e| panic!("{}: {e}", case.name)))
        })
        .collect()
}

fn read(runtime: &Runtime, tensor: &DeviceTensor) -> Result<Vec<u8>> {
    let mut bytes = vec![0; tensor.tensor_type().bytes()];
    runtime.read(tensor, &mut bytes, Caller::here())?;
    Ok(bytes)
}

/// GPUs may take denormals for zeros: then the reference of such inputs counts too.
fn without_denormals(device: DeviceId, case: &Case) -> Option<Expected> {
    (device.kind == DeviceKind::Gpu).then(|| case.expected_without_denormals())
}

fn result_of(runtime: &Runtime, device: DeviceId, case: &Case) -> Result<Option<Array>> {
    let Some(tensor) = attempt(runtime, device, case)? else { return Ok(None) };
    let bytes = read(runtime, &tensor)?;
    Ok(Some(Array::from_bytes(tensor.dtype(), tensor.shape(), &bytes)))
}

/// The result as a tensor; `None` where the device has no kernel for the op, or none for a dtype of its
/// inputs.
fn attempt(runtime: &Runtime, device: DeviceId, case: &Case) -> Result<Option<DeviceTensor>> {
    let mut placed = Vec::new();
    for input in &case.inputs {
        match input.place(runtime, device) {
            Ok(tensor) => placed.push(tensor),
            Err(Error::NoKernel(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let inputs: Vec<&DeviceTensor> = placed.iter().collect();
    match runtime.eager_all(&case.op, &inputs, &strictly_on(device), Caller::here()) {
        Ok(mut outputs) => {
            let tensor = outputs.swap_remove(case.output);
            assert_eq!(tensor.device(), device, "{} ran elsewhere", case.name);
            Ok(Some(tensor))
        }
        Err(Error::NoKernel(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
