//! Whether a device computes: one small program with a known answer.

use super::finding::Finding;
use situ::config::LogicalDevice;
use situ::{DType, DeviceId, Error, Result, Tensor};

const TOPIC: &str = "computes";

pub(super) fn check(device: &LogicalDevice) -> Finding {
    let id = device.id();
    match run(id) {
        Ok(answer) if answer.is_right() => {
            Finding::fine(TOPIC, format!("{id}: a matmul, a softmax and a sum are right"))
        }
        Ok(answer) => Finding::broken(
            TOPIC,
            format!("{id}: wrong results: {answer:?}"),
            "the driver miscomputes: update it, and hide the device meanwhile with config::set_visible_devices",
        ),
        Err(error) => Finding::broken(TOPIC, format!("{id}: {error}"), advice(&error)),
    }
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::OutOfMemory(_) => "raise the device's memory limit, or end other programs that use it",
        Error::NoKernel(_) => "this build lacks a kernel that every device should have: report it",
        Error::DeviceLost { .. } => "restart the driver or the machine, or update the driver",
        _ => "update the driver, or hide the device with config::set_visible_devices",
    }
}

/// What the program gave.
#[derive(Debug, PartialEq)]
struct Answer {
    /// Row 1 of a product of which every element is known.
    product: Vec<f32>,
    /// What the softmax of a row sums to.
    total: f32,
    /// Integers added up.
    sum: i32,
}

impl Answer {
    fn is_right(&self) -> bool {
        // 64 products of 1 and the column's number: exact in f32.
        let exact = self.product.iter().enumerate().all(|(column, &x)| x == 64.0 * column as f32);
        exact && self.product.len() == 64 && (self.total - 1.0).abs() < 1e-4 && self.sum == 4950
    }
}

fn run(id: DeviceId) -> Result<Answer> {
    // Another device's answer would prove nothing about this one.
    let _strict = situ::fallback_policy(situ::Policy::Forbid);
    situ::with_device(&id.to_string(), || {
        let ones = situ::ones(&[64, 64], DType::F32)?;
        let columns = situ::arange(64, DType::F32)?;
        let product = ones.matmul(&columns.expand(&[64, 64])?)?;
        let row: Tensor = product.narrow(0, 1, 2)?;
        let total = columns.mul(&situ::full(&[], 0.05f32)?)?.softmax(0)?.sum(&[])?;
        let sum = situ::arange(100, DType::I32)?.sum(&[])?;
        Ok(Answer { product: row.to_vec()?, total: total.item()?, sum: sum.item()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_is_told_from_a_right_one() {
        let right = Answer { product: (0..64).map(|c| 64.0 * c as f32).collect(), total: 1.0, sum: 4950 };
        assert!(right.is_right());
        assert!(!Answer { sum: 4951, product: right.product.clone(), ..right }.is_right());
        assert!(!Answer { product: vec![0.0; 64], total: 1.0, sum: 4950 }.is_right());
        assert!(!Answer { product: Vec::new(), total: 1.0, sum: 4950 }.is_right());
    }
}
