//! Rows combined element by element: the reduction of an axis that is not the innermost.

use super::kind::Reducer;
use crate::level::{Isa, Level};
use crate::multiversion;

/// Columns that are reduced together, so that their running results stay in the first-level cache.
pub(super) const TILE: usize = 512;
/// Rows combined one after the other; above, blocks of rows are combined in pairs.
const BLOCK: usize = 64;
/// Narrow rows are taken several at a time, as one row about this wide.
const WIDE: usize = 64;

/// Reduces `rows` rows of `columns` elements, `stride` apart, to one.
///
/// # Safety
/// `input` is readable for these rows and `output` writable for `columns` elements.
pub(super) unsafe fn reduce_columns<T: Copy + 'static, R: Reducer<T>>(
    level: Level,
    input: *const T,
    output: *mut T,
    rows: usize,
    columns: usize,
    stride: usize,
) {
    let together = WIDE / columns.max(1);
    if together >= 2 && columns == stride && rows >= 2 * together {
        // SAFETY: as for this function.
        return unsafe { reduce_narrow::<T, R>(level, input, output, rows, columns, together) };
    }
    let mut first = 0;
    while first < columns {
        let count = TILE.min(columns - first);
        // SAFETY: these columns are within the rows and the output.
        unsafe { reduce_tile::<T, R>(level, input.add(first), output.add(first), rows, count, stride) };
        first += count;
    }
}

/// Rows so narrow that `together` of them are taken as one.
///
/// # Safety
/// As for [`reduce_columns`], with rows next to each other.
unsafe fn reduce_narrow<T: Copy + 'static, R: Reducer<T>>(
    level: Level,
    input: *const T,
    output: *mut T,
    rows: usize,
    columns: usize,
    together: usize,
) {
    let mut wide = [R::IDENTITY; WIDE];
    let width = columns * together;
    let whole = rows / together;
    // SAFETY: `whole · together` rows are within the input, `width` is at most WIDE, and the rest are the
    // rows left over.
    unsafe {
        reduce_tile::<T, R>(level, input, wide.as_mut_ptr(), whole, width, width);
        let rest = std::slice::from_raw_parts(input.add(whole * width), (rows - whole * together) * columns);
        let output = std::slice::from_raw_parts_mut(output.cast::<std::mem::MaybeUninit<T>>(), columns);
        fold_narrow::<T, R>(level, &wide[..width], rest, output);
    }
}

multiversion! {
    fn fold_narrow[I, T: (Copy + 'static), R: (Reducer<T>)](wide: &[T], rest: &[T], output: &mut [std::mem::MaybeUninit<T>]) {
        let columns = output.len();
        for (column, output) in output.iter_mut().enumerate() {
            let rows = wide[column..].iter().step_by(columns).chain(rest.iter().skip(column).step_by(columns));
            output.write(rows.copied().reduce(|a, b| R::combine::<I>(a, b)).unwrap_or(R::IDENTITY));
        }
    }
}

multiversion! {
    /// At most [`TILE`] columns.
    ///
    /// The pointers are as for [`reduce_columns`]; this is called from there alone.
    fn reduce_tile_raw[I, T: (Copy + 'static), R: (Reducer<T>)](
        input: Rows<T>, output: &mut [std::mem::MaybeUninit<T>]
    ) {
        // Carrying, as in the reduction of a row: block n is combined with as many partial rows as n + 1 has
        // trailing zeros.
        let columns = output.len();
        let blocks = input.rows.div_ceil(BLOCK);
        let mut sums = [R::IDENTITY; TILE];
        if blocks <= 1 {
            block::<I, T, R>(input, 0, &mut sums[..columns]);
        } else {
            // A depth of 32 covers 2^32 blocks; longer axes are cut into tasks before they come here.
            let mut stack: Vec<[T; TILE]> = Vec::with_capacity(8);
            for n in 0..blocks {
                sums[..columns].fill(R::IDENTITY);
                block::<I, T, R>(input, n * BLOCK, &mut sums[..columns]);
                for _ in 0..(n + 1).trailing_zeros() {
                    if let Some(left) = stack.pop() {
                        combine_rows::<I, T, R>(&left[..columns], &mut sums[..columns]);
                    }
                }
                stack.push(sums);
            }
            if let Some(last) = stack.pop() {
                sums = last;
            }
            while let Some(left) = stack.pop() {
                combine_rows::<I, T, R>(&left[..columns], &mut sums[..columns]);
            }
        }
        for (output, sum) in output.iter_mut().zip(&sums) {
            output.write(*sum);
        }
    }
}

/// [`reduce_tile_raw`] on pointers.
///
/// # Safety
/// As for [`reduce_columns`].
unsafe fn reduce_tile<T: Copy + 'static, R: Reducer<T>>(
    level: Level,
    input: *const T,
    output: *mut T,
    rows: usize,
    columns: usize,
    stride: usize,
) {
    // SAFETY: the caller's promise.
    let output = unsafe { std::slice::from_raw_parts_mut(output.cast(), columns) };
    reduce_tile_raw::<T, R>(level, Rows { start: input, rows, columns, stride }, output);
}

/// Rows in memory. Whoever makes one vouches that they are readable.
struct Rows<T> {
    start: *const T,
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<T> Clone for Rows<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Rows<T> {}

impl<T> Rows<T> {
    #[inline(always)]
    fn row(&self, row: usize) -> &[T] {
        debug_assert!(row < self.rows);
        // SAFETY: the maker of this value vouches for its rows.
        unsafe { std::slice::from_raw_parts(self.start.add(row * self.stride), self.columns) }
    }
}

#[inline(always)]
fn combine_rows<I: Isa, T: Copy, R: Reducer<T>>(left: &[T], sums: &mut [T]) {
    for (sum, left) in sums.iter_mut().zip(left) {
        *sum = R::combine::<I>(*left, *sum);
    }
}

/// Combines at most [`BLOCK`] rows from `first` on into `sums`, four at a time: the running results are then
/// read and written once for four rows.
#[inline(always)]
fn block<I: Isa, T: Copy, R: Reducer<T>>(input: Rows<T>, first: usize, sums: &mut [T]) {
    let last = input.rows.min(first + BLOCK);
    let mut row = first;
    while row + 4 <= last {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| input.row(row + i));
        for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let four = R::combine::<I>(R::combine::<I>(*a, *b), R::combine::<I>(*c, *d));
            *sum = R::combine::<I>(*sum, four);
        }
        row += 4;
    }
    while row < last {
        for (sum, a) in sums.iter_mut().zip(input.row(row)) {
            *sum = R::combine::<I>(*sum, *a);
        }
        row += 1;
    }
}
