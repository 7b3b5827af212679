//! CSV files: columns of numbers, and columns of words, which become numbers too.

use crate::files::system;
use situ_core::{DType, Error, Result};
use situ_tensor::{Tensor, constant};
use std::collections::HashMap;
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

    /// Reads a file. Lines with another number of fields than the first are errors; an empty field is NaN, or the empty word.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Table> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| system(path, &e))?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .delimiter(self.delimiter)
            .trim(csv::Trim::All)
            .from_reader(&bytes[..]);
        let mut table =
            Table { path: path.display().to_string(), names: Vec::new(), columns: Vec::new(), rows: 0 };
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|e| table.broken(&e, &bytes))? {
            let line = record.position().map_or(0, |at| line_of(at, &bytes));
            if table.names.is_empty() {
                table.columns = vec![Column::Numbers(Vec::new()); record.len()];
                if self.header {
                    table.names = record.iter().map(str::to_string).collect();
                    continue;
                }
                table.names = (0..record.len()).map(|n| n.to_string()).collect();
            }
            for (column, field) in table.columns.iter_mut().zip(&record) {
                column.push(field, line);
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
        Ok(table)
    }
}

#[derive(Clone, Debug)]
enum Column {
    Numbers(Vec<f64>),
    /// At least one field is no number: every field as a word.
    Words {
        codes: Vec<i32>,
        names: Vec<String>,
        numbers: HashMap<String, i32>,
        /// The line of the first field that is no number.
        line: u64,
    },
}

impl Column {
    fn push(&mut self, field: &str, line: u64) {
        if let Column::Numbers(numbers) = self {
            match if field.is_empty() { Ok(f64::NAN) } else { field.parse() } {
                Ok(number) => return numbers.push(number),
                Err(_) => *self = Column::words(numbers, line),
            }
        }
        if let Column::Words { codes, names, numbers, .. } = self {
            let code = *numbers.entry(field.to_string()).or_insert_with(|| {
                names.push(field.to_string());
                names.len() as i32 - 1
            });
            codes.push(code);
        }
    }

    /// What were numbers so far, as words.
    fn words(so_far: &[f64], line: u64) -> Column {
        let mut words = Column::Words { codes: Vec::new(), names: Vec::new(), numbers: HashMap::new(), line };
        for number in so_far {
            words.push(&if number.is_nan() { String::new() } else { number.to_string() }, line);
        }
        words
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
    columns: Vec<Column>,
    rows: usize,
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

    fn column(&self, name: &str) -> Result<&Column> {
        let found = self.names.iter().position(|n| n == name).and_then(|at| self.columns.get(at));
        found.ok_or_else(|| {
            let help = format!("its columns are {}", self.names.join(", "));
            Error::file(&*self.path, "", format!("there is no column '{name}'"), help)
        })
    }

    /// Columns of numbers side by side, as f32 of shape `[rows, columns]`.
    pub fn floats(&self, names: &[&str]) -> Result<Tensor> {
        let columns: Vec<&[f64]> = names.iter().map(|name| self.numbers(name)).collect::<Result<_>>()?;
        let elements: Vec<f32> =
            (0..self.rows).flat_map(|row| columns.iter().map(move |c| c[row] as f32)).collect();
        constant(&elements, &[self.rows, names.len()])
    }

    /// One column of numbers, of shape `[rows]`, in any dtype.
    pub fn numbers_as(&self, name: &str, dtype: DType) -> Result<Tensor> {
        constant(self.numbers(name)?, &[self.rows])?.cast(dtype)
    }

    fn numbers(&self, name: &str) -> Result<&[f64]> {
        match self.column(name)? {
            Column::Numbers(numbers) => Ok(numbers),
            Column::Words { line, .. } => Err(Error::file(
                &*self.path,
                format!("line {line}"),
                format!("the field of column '{name}' is no number"),
                "mend the line, or read the column with categories",
            )),
        }
    }

    /// One column as i32 labels of shape `[rows]`, and the words that they stand for, numbered as they first come.
    pub fn categories(&self, name: &str) -> Result<(Tensor, Vec<String>)> {
        let made;
        let words = match self.column(name)? {
            Column::Numbers(numbers) => {
                made = Column::words(numbers, 0);
                &made
            }
            words => words,
        };
        match words {
            Column::Words { codes, names, .. } => Ok((constant(codes, &[self.rows])?, names.clone())),
            Column::Numbers(_) => Ok((constant::<i32>(&[], &[0])?, Vec::new())),
        }
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
