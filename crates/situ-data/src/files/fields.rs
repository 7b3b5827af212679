//! The fields of one column of a text file, kept as they are written until somebody says what they are.
//!
//! All text is in one piece, with the end of each field: a field takes its own bytes and eight more.

use situ_core::{DType, Error, Result};
use std::collections::HashMap;

/// A column of text.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    text: String,
    ends: Vec<usize>,
}

/// A field that is not what it was asked to be.
pub(super) struct FieldError {
    /// The number of its row.
    pub(super) row: usize,
    pub(super) field: String,
    /// What it is not.
    pub(super) wanted: String,
}

impl FieldError {
    #[cold]
    fn new(row: usize, field: &str, wanted: impl Into<String>) -> FieldError {
        FieldError { row, field: field.into(), wanted: wanted.into() }
    }
}

impl Fields {
    pub(super) fn push(&mut self, field: &str) {
        self.text.push_str(field);
        self.ends.push(self.text.len());
    }

    /// Gives back the room that was kept for more.
    pub(super) fn close(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let field = self.text.get(start..end).unwrap_or_default();
            start = end;
            field
        })
    }

    /// Each field as a number, an empty one as NaN.
    pub(super) fn floats(&self) -> Result<Vec<f64>, FieldError> {
        let float = |(row, field): (usize, &str)| match field {
            "" => Ok(f64::NAN),
            _ => field.parse().map_err(|_| FieldError::new(row, field, "number")),
        };
        self.iter().enumerate().map(float).collect()
    }

    /// Each field as a whole number that a dtype can hold. Numbers beyond 2⁵³ are exact: they do not go
    /// through f64.
    pub(super) fn integers(&self, dtype: DType) -> Result<Vec<i128>, FieldError> {
        let range = dtype.whole_range().unwrap_or(0..=0);
        let integer = |(row, field): (usize, &str)| {
            let whole = field.parse::<i128>().ok().or_else(|| whole(field.parse().ok()?));
            let fits = whole.filter(|n| range.contains(n));
            fits.ok_or_else(|| FieldError::new(row, field, format!("whole number that {dtype} can hold")))
        };
        self.iter().enumerate().map(integer).collect()
    }

    /// The number of each field's word, and the words, numbered as they first come.
    pub(super) fn words(&self) -> Result<(Vec<i32>, Vec<String>)> {
        let (mut codes, mut names) = (Vec::with_capacity(self.ends.len()), Vec::new());
        let mut numbers: HashMap<&str, i32> = HashMap::new();
        for field in self.iter() {
            let code = match numbers.get(field) {
                Some(code) => *code,
                None => {
                    let code = i32::try_from(names.len()).map_err(|_| {
                        let why = format!("there are more than {} words", i32::MAX);
                        Error::argument("categories", why, "read a column of fewer different words")
                    })?;
                    names.push(field.to_string());
                    numbers.insert(field, code);
                    code
                }
            };
            codes.push(code);
        }
        Ok((codes, names))
    }
}

/// A number written with a point or an exponent that is whole all the same, and below 2⁵³, where f64 is
/// exact.
fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() <= (1u64 << 53) as f64).then_some(number as i128)
}
