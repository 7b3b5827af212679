//! Rows of tensors: the source that needs no tensor per element.

use crate::cell::{Cell, Part};
use crate::column::Column;
use crate::element::Row;
use crate::fingerprint::Fingerprint;
use crate::stream::{Context, Item, Length, Stage, Stream};
use situ_core::{Error, Result};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Tensors of as many rows each.
#[derive(Clone)]
pub(crate) struct Tensors {
    columns: Arc<[Arc<Column>]>,
    rows: usize,
}

impl Tensors {
    pub(crate) fn new(tensors: &Row) -> Result<Tensors> {
        let columns: Vec<Arc<Column>> =
            tensors.iter().map(|t| Column::new(t).map(Arc::new)).collect::<Result<_>>()?;
        let Some(rows) = columns.first().map(|c| c.rows()) else {
            return Err(Error::argument("from_tensors", "was given no tensor", "give at least one"));
        };
        if columns.iter().any(|c| c.rows() != rows) {
            let types: Vec<_> = tensors.iter().map(|t| t.tensor_type()).collect();
            return Err(Error::operands(
                "from_tensors",
                &types,
                "the tensors have different numbers of rows",
                "give tensors whose first axes are equal",
            ));
        }
        Ok(Tensors { columns: columns.into(), rows })
    }

    pub(crate) fn count(&self) -> usize {
        self.rows
    }

    /// The batch of these rows.
    pub(crate) fn gather(&self, rows: &[usize]) -> Result<SmallVec<[Part; 2]>> {
        self.columns.iter().map(|column| column.gather(rows).map(Part::Made)).collect()
    }

    pub(crate) fn cell(&self, row: usize) -> Cell {
        Cell { parts: self.columns.iter().map(|c| Part::Row(c.clone(), row)).collect(), origin: row }
    }
}

impl Stage for Tensors {
    fn open(&self, _: &Context) -> Box<dyn Stream> {
        Box::new(Rows { tensors: self.clone(), next: 0..self.rows })
    }

    fn length(&self) -> Length {
        Length::Known(self.rows)
    }

    fn rows(&self) -> Option<&Tensors> {
        Some(self)
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        fingerprint.text("tensors");
        fingerprint.size(self.rows);
        for column in self.columns.iter() {
            fingerprint.text(&column.row_type().to_string());
            for row in Fingerprint::rows(self.rows) {
                fingerprint.bytes(column.bytes(row).unwrap_or_default());
            }
        }
    }
}

struct Rows {
    tensors: Tensors,
    next: Range<usize>,
}

impl Stream for Rows {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        out.extend(self.next.by_ref().take(max).map(|row| Ok(self.tensors.cell(row))));
    }

    fn fill_rows(&mut self, max: usize, out: &mut Vec<usize>) -> Option<&Tensors> {
        out.extend(self.next.by_ref().take(max));
        Some(&self.tensors)
    }
}
