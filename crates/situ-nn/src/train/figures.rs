//! Figures by name: the loss and metrics of an epoch, a batch or an evaluation.

use std::fmt;
use std::sync::Arc;

/// The loss and the metrics, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    names: Arc<[String]>,
    values: Vec<f64>,
}

impl Figures {
    pub(crate) fn new(names: Arc<[String]>, values: Vec<f64>) -> Figures {
        debug_assert_eq!(names.len(), values.len());
        Figures { names, values }
    }

    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        let place = self.names.iter().position(|n| n == name)?;
        self.values.get(place).copied()
    }

    /// The loss, which is the first of the figures; NaN where there are none.
    pub fn loss(&self) -> f64 {
        self.values.first().copied().unwrap_or(f64::NAN)
    }

    /// Names and figures, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// These, then others whose names get a prefix.
    pub(crate) fn joined(&self, prefix: &str, others: &Figures) -> Figures {
        let names = self.names.iter().cloned().chain(others.names.iter().map(|n| format!("{prefix}{n}")));
        let values = self.values.iter().chain(&others.values).copied();
        Figures { names: names.collect(), values: values.collect() }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.iter().enumerate() {
            let space = if number == 0 { "" } else { ", " };
            // Small ones need their exponent, others four digits.
            if value != 0.0 && value.abs() < 1e-3 {
                write!(f, "{space}{name} {value:.2e}")?;
            } else {
                write!(f, "{space}{name} {value:.4}")?;
            }
        }
        Ok(())
    }
}
