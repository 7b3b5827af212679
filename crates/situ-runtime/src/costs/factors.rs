//! How much longer operations take in other dtypes than f32.

use serde::{Deserialize, Serialize};
use situ_core::DType;
use situ_ir::WorkClass;
use std::collections::BTreeMap;

/// An operation that is so many times quicker, or slower, than in f32 is no device's.
const MOST: f64 = 1e4;

/// For each dtype, how many times as long an operation takes as in f32: in products of matrices, and in all
/// else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, [f64; 2]>", into = "BTreeMap<String, [f64; 2]>")]
pub struct Factors([[f64; 2]; DType::ALL.len()]);

impl Default for Factors {
    /// All as in f32.
    fn default() -> Factors {
        Factors([[1.0; 2]; DType::ALL.len()])
    }
}

impl From<BTreeMap<String, [f64; 2]>> for Factors {
    fn from(named: BTreeMap<String, [f64; 2]>) -> Factors {
        let mut factors = Factors::default();
        // A name that is no dtype is of another version.
        for (name, pair) in named {
            if let Some(dtype) = DType::from_name(&name) {
                factors.0[dtype as usize] = pair;
            }
        }
        factors
    }
}

impl From<Factors> for BTreeMap<String, [f64; 2]> {
    fn from(factors: Factors) -> BTreeMap<String, [f64; 2]> {
        DType::ALL.into_iter().zip(factors.0).map(|(dtype, pair)| (dtype.name().to_string(), pair)).collect()
    }
}

impl Factors {
    /// What is known without measuring: a register has half as many f64 as f32. What else differs is for
    /// calibration to find.
    pub(super) fn built_in() -> Factors {
        let mut factors = Factors::default();
        factors.0[DType::F64 as usize] = [2.0; 2];
        factors
    }

    /// The factor of a class of work in a dtype.
    #[inline]
    pub fn of(&self, class: WorkClass, dtype: DType) -> f64 {
        self.0[dtype as usize][column(class)]
    }

    /// Sets the factor of a class of work, and of those that share it, in a dtype.
    pub fn set(&mut self, class: WorkClass, dtype: DType, factor: f64) {
        self.0[dtype as usize][column(class)] = factor.clamp(1.0 / MOST, MOST);
    }

    /// What is wrong, if a figure makes no sense.
    pub(super) fn fault(&self) -> Option<String> {
        let range = 1.0 / MOST..=MOST;
        let wrong = |pair: &[f64; 2]| pair.iter().find(|factor| !range.contains(factor)).copied();
        DType::ALL.into_iter().zip(&self.0).find_map(|(dtype, pair)| {
            wrong(pair)
                .map(|factor| format!("the factor of {dtype} is {factor:e}, and must be from 1e-4 to 1e4"))
        })
    }
}

fn column(class: WorkClass) -> usize {
    usize::from(class != WorkClass::Matmul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_kept_by_name_and_those_of_other_versions_are_left_out() {
        let mut factors = Factors::built_in();
        factors.set(WorkClass::Matmul, DType::I8, 7.5);
        factors.set(WorkClass::Elementwise, DType::F16, 1e9);
        assert_eq!(factors.of(WorkClass::Matmul, DType::F64), 2.0);
        assert_eq!(factors.of(WorkClass::Reduce, DType::F16), MOST);
        let text = serde_json::to_string(&factors).unwrap();
        assert_eq!(serde_json::from_str::<Factors>(&text).unwrap(), factors);
        let other: Factors = serde_json::from_str(r#"{"f4": [1.0, 1.0], "f64": [3.0, 4.0]}"#).unwrap();
        assert_eq!(
            (other.of(WorkClass::Matmul, DType::F64), other.of(WorkClass::Move, DType::F64)),
            (3.0, 4.0)
        );
        assert_eq!(other.of(WorkClass::Matmul, DType::F16), 1.0);
    }

    #[test]
    fn a_factor_that_makes_no_sense_is_found() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e5] {
            let mut factors = Factors::default();
            factors.0[DType::U8 as usize][1] = wrong;
            assert!(factors.fault().is_some_and(|why| why.contains("u8")), "{wrong}");
        }
        assert_eq!(Factors::built_in().fault(), None);
    }
}
