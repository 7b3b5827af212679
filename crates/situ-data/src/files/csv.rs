//! CSV files: columns of numbers, and columns of words, which become numbers too.
//!
//! Fields are kept as text: whether `02134` is a number or a word is for who asks for the column to say.

use crate::files::fields::{FieldError, Fields};
use crate::files::system;
use situ_core::{DType, Element, Error, Result, with_element};
use situ_tensor::{Tensor, constant};
use std::path::Path;

/// How to read a CSV file.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// # let path = std::env::temp_dir().join(format!("situ-csv-doc-{}", std::process::id()));
/// # std::fs::write(&path, "length,width,kind\n5.1,3.5,a\n4.9,3.0,b\n").unwrap();
/// use situ_data::{Csv, Dataset};
/// let table = Csv::new().read(&path)?;
/// let (labels, names) = table.categories("kind")?;
/// let flowers = Dataset::from_tensors((table.floats(&["length", "width"])?, labels))?;
/// assert_eq!(names, ["a", "b"]);
/// # std::fs::remove_file(path).unwrap();
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Csv {
    header: bool,
    delimiter: u8,
}

impl Default for Csv {
    fn default() -> Csv {
        Csv::new()
    }
}

impl Csv {
    /// Fields between commas, names in the first line.
    pub fn new() -> Csv {
        Csv { header: true, delimiter: b',' }
    }

    /// Without names in the first line: columns are called `0`, `1` and so on.
    pub fn without_header(mut self) -> Csv {
        self.header = false;
        self
    }

    /// Fields between other characters.
    pub fn delimiter(mut self, delimiter: u8) -> Csv {
        self.delimiter = delimiter;
        self
    }

    /// Reads a file. Lines with another number of fields than the first are errors; an empty field is NaN, or
    /// the empty word. Spaces around a field are no part of it.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Table> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| system(path, &e))?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .delimiter(self.delimiter)
            .trim(csv::Trim::All)
            .from_reader(&bytes[..]);
        let mut table = Table {
            path: path.display().to_string(),
            names: Vec::new(),
            columns: Vec::new(),
            rows: 0,
            lines: Vec::new(),
        };
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|e| table.broken(&e, &bytes))? {
            let line = record.position().map_or(0, |at| line_of(at, &bytes));
            if table.names.is_empty() {
                table.columns = vec![Fields::default(); record.len()];
                if self.header {
                    table.names = record.iter().map(str::to_string).collect();
                    continue;
                }
                table.names = (0..record.len()).map(|n| n.to_string()).collect();
            }
            for (column, field) in table.columns.iter_mut().zip(&record) {
                column.push(field);
            }
            if table.line(table.rows) != line {
                table.lines.push((table.rows, line));
            }
            table.rows += 1;
        }
        if table.names.is_empty() {
            return Err(Error::file(
                table.path,
                "line 1",
                "the file is empty",
                "give a file with at least one line",
            ));
        }
        table.columns.iter_mut().for_each(Fields::close);
        Ok(table)
    }
}

/// The line of a record. The reader's own position is before the empty lines that it skips.
fn line_of(at: &csv::Position, bytes: &[u8]) -> u64 {
    let rest = bytes.get(at.byte() as usize..).unwrap_or_default();
    let skipped = rest.iter().take_while(|b| matches!(b, b'\n' | b'\r')).filter(|&&b| b == b'\n').count();
    at.line() + skipped as u64
}

/// The columns of a CSV file.
#[derive(Clone, Debug)]
pub struct Table {
    path: String,
    names: Vec<String>,
    columns: Vec<Fields>,
    rows: usize,
    /// Rows that are not on the line behind that of the row before, and their lines.
    lines: Vec<(usize, u64)>,
}

impl Table {
    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of lines, without that of the names.
    pub fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, name: &str) -> Result<&Fields> {
        let found = self.names.iter().position(|n| n == name).and_then(|at| self.columns.get(at));
        found.ok_or_else(|| {
            let help = format!("its columns are {}", self.names.join(", "));
            Error::file(&*self.path, "", format!("there is no column '{name}'"), help)
        })
    }

    /// The line of a row.
    fn line(&self, row: usize) -> u64 {
        let after = self.lines.partition_point(|(first, _)| *first <= row);
        match after.checked_sub(1).and_then(|at| self.lines.get(at)) {
            Some((first, line)) => line + (row - first) as u64,
            None => row as u64,
        }
    }

    /// Columns of numbers side by side, as f32 of shape `[rows, columns]`. An empty field is NaN.
    pub fn floats(&self, names: &[&str]) -> Result<Tensor> {
        let columns: Vec<Vec<f64>> = names.iter().map(|name| self.numbers(name)).collect::<Result<_>>()?;
        let elements: Vec<f32> =
            (0..self.rows).flat_map(|row| columns.iter().map(move |c| c[row] as f32)).collect();
        constant(&elements, &[self.rows, names.len()])
    }

    /// One column of numbers, of shape `[rows]`, in any dtype. Of integers, every field must be a whole
    /// number that the dtype can hold; of floats, an empty field is NaN.
    pub fn numbers_as(&self, name: &str, dtype: DType) -> Result<Tensor> {
        if dtype.is_float() || dtype == DType::Bool {
            return constant(&self.numbers(name)?, &[self.rows])?.cast(dtype);
        }
        let numbers =
            self.column(name)?.integers(dtype).map_err(|field_error| self.field_error(name, field_error))?;
        with_element!(dtype, T => {
            let elements: Vec<T> = numbers.into_iter().map(T::from_whole).collect();
            constant(&elements, &[self.rows])
        })
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        self.column(name)?.floats().map_err(|field_error| self.field_error(name, field_error))
    }

    #[cold]
    fn field_error(&self, column: &str, FieldError { row, field, wanted }: FieldError) -> Error {
        Error::file(
            &*self.path,
            format!("line {}", self.line(row)),
            format!("the field {field:?} of column '{column}' is no {wanted}"),
            "mend the line, or read the column with categories",
        )
    }

    /// One column as i32 labels of shape `[rows]`, and the words that they stand for, numbered as they first
    /// come. Words are what is written, also where it looks like a number: `02134` and `2134` are two.
    pub fn categories(&self, name: &str) -> Result<(Tensor, Vec<String>)> {
        let (codes, names) = self.column(name)?.words()?;
        Ok((constant(&codes, &[self.rows])?, names))
    }

    #[cold]
    fn broken(&self, error: &csv::Error, bytes: &[u8]) -> Error {
        let place = error.position().map_or(String::new(), |at| format!("line {}", line_of(at, bytes)));
        let why = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("{len} fields, and the first line has {expected_len}")
            }
            csv::ErrorKind::Utf8 { .. } => "is no UTF-8 text".to_string(),
            _ => error.to_string(),
        };
        Error::file(&*self.path, place, why, "mend the line, or set the delimiter")
    }
}
