//! Aligned columns of text.

use std::fmt;

/// Rows of text under headings.
pub(crate) struct Table {
    headings: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Rows that are not shown.
    pub(crate) more: usize,
}

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Table {
        Table { headings: headings.to_vec(), rows: Vec::new(), more: 0 }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.headings[column].len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        let line = |f: &mut fmt::Formatter<'_>, cells: &mut dyn Iterator<Item = &str>| {
            let padded: Vec<String> =
                cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            writeln!(f, "  {}", padded.join("  ").trim_end())
        };
        line(f, &mut self.headings.iter().copied())?;
        for row in &self.rows {
            line(f, &mut row.iter().map(String::as_str))?;
        }
        if self.more > 0 {
            writeln!(f, "  and {} more", self.more)?;
        }
        Ok(())
    }
}
