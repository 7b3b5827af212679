//! Results of a tile, from where it left them to where they belong.

use super::transpose_block::TransposeBlock;
use crate::level::Level;
use crate::multiversion;
use std::ops::Add;

/// Rows of a tile that are next to each other in the result.
#[derive(Debug)]
pub(super) struct StoreRows<T> {
    /// The rows, and from one to the next.
    pub(super) from: *const T,
    pub(super) distance: usize,
    /// How many there are, and how many columns of them are wanted.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Where the first element goes; from one row to the next, and from one column to the next.
    pub(super) to: *mut T,
    pub(super) row_step: usize,
    pub(super) column_step: usize,
    /// Whether they are added to what is there.
    pub(super) add: bool,
}

impl<T: Copy + Add<Output = T> + 'static> StoreRows<T> {
    /// Puts them there.
    ///
    /// # Safety
    /// What is read can be read and what is written can be written; they do not overlap.
    #[inline]
    pub(super) unsafe fn run(&self, level: Level) {
        if self.column_step == 1 {
            store_rows(level, self);
            return;
        }
        let StoreRows { from, distance, rows, columns, to, row_step, column_step, add } = *self;
        let transpose =
            TransposeBlock { from, distance, rows, columns, to, along: row_step, across: column_step, add };
        // SAFETY: the caller's promise.
        unsafe { transpose.run(level) };
    }
}

multiversion! {
    /// The promise of [`StoreRows::run`]'s caller holds: it is called from there alone.
    fn store_rows[I, T: (Copy + Add<Output = T>)](store: &StoreRows<T>) {
        for row in 0..store.rows {
            // SAFETY: as promised; the two do not overlap.
            unsafe {
                let from = std::slice::from_raw_parts(store.from.add(row * store.distance), store.columns);
                let to = std::slice::from_raw_parts_mut(store.to.add(row * store.row_step), store.columns);
                if store.add {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *to + *from);
                } else {
                    to.copy_from_slice(from);
                }
            }
        }
    }
}
