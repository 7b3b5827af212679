//! How much longer work takes in other dtypes than f32.

use serde::{Deserialize, Serialize};
use situ_core::DType;
use situ_ir::WorkClass;
use std::collections::BTreeMap;

/// Work that is so many times quicker, or slower, than in f32 is no device's.
const MOST: f64 = 1e4;

/// A number for each class of work, in the order of [`WorkClass::ALL`].
type ByClass = [f64; WorkClass::ALL.len()];

/// For each dtype and each class of work, how many times as long it takes as in f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, ByClass>", into = "BTreeMap<String, ByClass>")]
pub struct Factors([ByClass; DType::ALL.len()]);

impl Default for Factors {
    /// All as in f32.
    fn default() -> Factors {
        Factors([[1.0; WorkClass::ALL.len()]; DType::ALL.len()])
    }
}

impl From<BTreeMap<String, ByClass>> for Factors {
    fn from(named: BTreeMap<String, ByClass>) -> Factors {
        let mut factors = Factors::default();
        // A name that is no dtype is of another version.
        for (name, of) in named {
            if let Some(dtype) = DType::from_name(&name) {
                factors.0[dtype as usize] = of;
            }
        }
        factors
    }
}

impl From<Factors> for BTreeMap<String, ByClass> {
    fn from(factors: Factors) -> BTreeMap<String, ByClass> {
        DType::ALL.into_iter().zip(factors.0).map(|(dtype, of)| (dtype.name().to_string(), of)).collect()
    }
}

impl Factors {
    /// What is known without measuring: a register has half as many f64 as f32. What else differs is for
    /// calibration to find.
    pub(super) fn built_in() -> Factors {
        let mut factors = Factors::default();
        factors.0[DType::F64 as usize] = [2.0; WorkClass::ALL.len()];
        factors
    }

    /// The factor of a class of work in a dtype.
    #[inline]
    pub fn of(&self, class: WorkClass, dtype: DType) -> f64 {
        self.0[dtype as usize][class as usize]
    }

    /// Sets the factor of a class of work in a dtype.
    pub fn set(&mut self, class: WorkClass, dtype: DType, factor: f64) {
        self.0[dtype as usize][class as usize] = factor.clamp(1.0 / MOST, MOST);
    }

    /// What is wrong, if a figure makes no sense.
    pub(super) fn fault(&self) -> Option<String> {
        let range = 1.0 / MOST..=MOST;
        let wrong = |of: &ByClass| of.iter().find(|factor| !range.contains(factor)).copied();
        DType::ALL.into_iter().zip(&self.0).find_map(|(dtype, of)| {
            wrong(of)
                .map(|factor| format!("the factor of {dtype} is {factor:e}, and must be from 1e-4 to 1e4"))
        })
    }
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
        assert_eq!(factors.of(WorkClass::Elementwise, DType::F16), MOST);
        assert_eq!(factors.of(WorkClass::Reduce, DType::F16), 1.0);
        let text = serde_json::to_string(&factors).unwrap();
        assert_eq!(serde_json::from_str::<Factors>(&text).unwrap(), factors);
        let other = r#"{"f4": [1, 1, 1, 1, 1, 1], "f64": [3, 4, 5, 6, 7, 8]}"#;
        let other: Factors = serde_json::from_str(other).unwrap();
        let of = WorkClass::ALL.map(|class| other.of(class, DType::F64));
        assert_eq!(of, [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
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
