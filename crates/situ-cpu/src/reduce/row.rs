//! One run of neighbouring elements reduced to one.

use super::kind::Reducer;
use crate::multiversion;

multiversion! {
    /// The reduction of a row.
    pub(super) fn reduce_row[I, T: (Copy + 'static), R: (Reducer<T>)](row: &[T]) -> T {
        R::row::<I>(row)
    }
}
