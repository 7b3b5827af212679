//! Rows of a table, named by indices: which of a list are the same one, and putting new ones in their places.

use super::TASK_BYTES;
use super::gather::Index;
use crate::exec::{Exec, Shared};

/// The most tasks that go through the same indices, each for rows of its own.
const MOST_RANGES: usize = 16;
/// A place of the hash table that nobody has.
const EMPTY: u32 = u32::MAX;

/// How many places the hash table of [`distinct`] has: at least twice as many as there are indices.
pub fn places(count: usize) -> usize {
    (2 * count).next_power_of_two().max(2)
}

/// For each index the position at which an equal one stands first, into `first`, and the index itself or −1
/// where it has stood before, into `own`. Indices that are no row count as equal.
///
/// `table` has [`places`] entries, of any content. Positions are looked at in order, so that the result is
/// that of the list alone.
pub fn distinct<X: Index + From<i8>>(
    indices: &[X],
    rows: usize,
    table: &mut [u32],
    first: &mut [i32],
    own: &mut [X],
) {
    let key = |index: X| (index.value() as u64).min(rows as u64);
    let shift = 64 - table.len().trailing_zeros();
    table.fill(EMPTY);
    for (position, &index) in indices.iter().enumerate() {
        let mine = key(index);
        // The high bits of a product with an odd number depend on every bit of the key.
        let mut at = (mine.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize;
        // It ends: there are more places than indices.
        let found = loop {
            match table[at] {
                EMPTY => {
                    table[at] = position as u32;
                    break position;
                }
                there if key(indices[there as usize]) == mine => break there as usize,
                _ => at = (at + 1) & (table.len() - 1),
            }
        };
        first[position] = found as i32;
        own[position] = if found == position { index } else { X::from(-1) };
    }
}

/// Puts rows of `bytes` bytes, one for each index, into a table of so many rows; an index that is no row is
/// passed over, and of equal ones the last stands.
///
/// Every task has a range of the table's rows, and goes through all indices for those that point there: no
/// two write to one row.
///
/// # Safety
/// `to` is writable for all rows of the table, and `from` readable for a row for each index; they do not
/// overlap.
pub unsafe fn put_rows<X: Index>(
    exec: &Exec<'_>,
    to: *mut u8,
    rows: usize,
    bytes: usize,
    indices: &[X],
    from: *const u8,
) {
    if rows * bytes == 0 {
        return;
    }
    let worth = (indices.len() * bytes / TASK_BYTES).min(bytes / 16).clamp(1, MOST_RANGES);
    let range = rows.div_ceil(worth);
    let shared = Shared((to, from));
    exec.for_ranges(rows.div_ceil(range), 1, |task, _| {
        let (to, from) = shared.get();
        let (low, high) = ((task * range) as u64, ((task + 1) * range).min(rows) as u64);
        for (position, index) in indices.iter().enumerate() {
            // A negative index is a huge one without its sign.
            let row = index.value() as u64;
            if row >= low && row < high {
                // SAFETY: the row is one of the table, and of this task's range alone.
                unsafe {
                    let to = to.add(row as usize * bytes);
                    std::ptr::copy_nonoverlapping(from.add(position * bytes), to, bytes);
                }
            }
        }
    });
}
