//! Packing: copying a strip of an operand into the order in which the micro-kernel reads it.
//!
//! A panel of A holds, for each k, one number per row of a tile; a panel of B holds, for each k, one number
//! per column. Both are read straight through, whatever strides the operand had.

use super::vector::Transpose;

/// A strip of rows of A to be packed.
pub(super) struct PackA<T> {
    /// A at the first row and first k.
    pub(super) a: *const T,
    /// From one row to the next.
    pub(super) row_stride: isize,
    /// From one k to the next.
    pub(super) col_stride: isize,
    /// Rows that exist, at most `height`.
    pub(super) rows: usize,
    /// Steps of k.
    pub(super) k: usize,
    /// The panel: `k * height` numbers and [`PANEL_SLACK`] more, which may be overwritten with anything.
    pub(super) panel: *mut T,
    /// Numbers per k in the panel, at most [`MAX_HEIGHT`].
    pub(super) height: usize,
}

/// Columns of B to be packed.
pub(super) struct PackB<T> {
    /// B at the first k and first column.
    pub(super) b: *const T,
    /// From one k to the next.
    pub(super) row_stride: isize,
    /// From one column to the next.
    pub(super) col_stride: isize,
    /// Columns; what is missing in the last panel is written as zero.
    pub(super) cols: usize,
    /// Steps of k.
    pub(super) k: usize,
    /// The panels, one behind the other, each of `k * width` numbers.
    pub(super) panels: *mut T,
    /// Numbers per k in a panel, a multiple of the register's lanes.
    pub(super) width: usize,
}

/// What may be written behind a panel of A: whole registers are stored where only part of one counts.
pub(super) const PANEL_SLACK: usize = 16;

/// The largest height of a panel of A.
pub(super) const MAX_HEIGHT: usize = 14;

/// Squares of the narrowest register that cover [`MAX_HEIGHT`] rows.
const MAX_SQUARES: usize = MAX_HEIGHT.div_ceil(4);

/// Packs a strip of A.
///
/// # Safety
/// The fields hold what they promise, and the processor has `P`'s instructions.
#[inline(always)]
pub(super) unsafe fn pack_a<P: Transpose>(p: &PackA<P::Elem>) {
    // SAFETY: rows below `rows` and steps below `k` are the caller's promise for reads, the panel's size for
    // writes.
    unsafe {
        if p.col_stride == 1 {
            pack_a_by_rows::<P>(p);
        } else if p.row_stride == 1 {
            for step in 0..p.k {
                let from = p.a.offset(step as isize * p.col_stride);
                let to = p.panel.add(step * p.height);
                let mut i = 0;
                while i < p.rows {
                    let count = (p.rows - i).min(P::LANES);
                    // What is stored beyond the rows is overwritten by the next step.
                    P::load_first(from.add(i), count).store(to.add(i));
                    i += P::LANES;
                }
            }
        } else {
            for step in 0..p.k {
                for i in 0..p.rows {
                    *p.panel.add(step * p.height + i) =
                        *p.a.offset(i as isize * p.row_stride + step as isize * p.col_stride);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn pack_a_by_rows<P: Transpose>(p: &PackA<P::Elem>) {
    // SAFETY: as in `pack_a`; a whole register of k is read only where that many steps are left.
    unsafe {
        let squares_used = p.rows.div_ceil(P::LANES);
        let mut squares: [P::Square; MAX_SQUARES] = std::array::from_fn(|_| P::zero_square());
        let whole = p.k - p.k % P::LANES;
        let mut step = 0;
        while step < whole {
            for (s, square) in squares.iter_mut().enumerate().take(squares_used) {
                let first = s * P::LANES;
                for (i, register) in square.as_mut().iter_mut().enumerate() {
                    if first + i < p.rows {
                        *register = P::load(p.a.offset((first + i) as isize * p.row_stride).add(step));
                    }
                }
                P::transpose(square);
            }
            // In the order of k: the lanes beyond the rows spill into the next step's place, which is written
            // later.
            for i in 0..P::LANES {
                let to = p.panel.add((step + i) * p.height);
                for (s, square) in squares.iter().enumerate().take(squares_used) {
                    square.as_ref()[i].store(to.add(s * P::LANES));
                }
            }
            step += P::LANES;
        }
        for i in 0..p.rows {
            let row = p.a.offset(i as isize * p.row_stride);
            for step in whole..p.k {
                *p.panel.add(step * p.height + i) = *row.add(step);
            }
        }
    }
}

/// Packs columns of B.
///
/// # Safety
/// The fields hold what they promise, and the processor has `P`'s instructions.
#[inline(always)]
pub(super) unsafe fn pack_b<P: Transpose>(p: &PackB<P::Elem>) {
    // SAFETY: columns below `cols` and steps below `k` are the caller's promise for reads, the panels' size
    // for writes.
    unsafe {
        let mut first = 0;
        if p.col_stride == 1 {
            // The widths that exist, so that a row of a panel is a fixed number of registers.
            first = match p.width / P::LANES {
                2 => pack_b_abreast::<P, 2>(p),
                4 => pack_b_abreast::<P, 4>(p),
                _ => 0,
            };
        }
        while first < p.cols {
            let cols = p.width.min(p.cols - first);
            pack_b_panel::<P>(p, first, cols, p.panels.add(first * p.k));
            first += p.width;
        }
    }
}

/// Packs full panels of `W` registers, several side by side: each row of B is then read in runs of several
/// cache lines. Returns the columns packed.
#[inline(always)]
unsafe fn pack_b_abreast<P: Transpose, const W: usize>(p: &PackB<P::Elem>) -> usize {
    const ABREAST: usize = 4;
    let panel_len = p.k * p.width;
    let group = ABREAST * W * P::LANES;
    let mut first = 0;
    while first + group <= p.cols {
        let mut from = p.b.wrapping_add(first);
        let mut to = p.panels.wrapping_add(first * p.k);
        for _ in 0..p.k {
            for panel in 0..ABREAST {
                for j in 0..W {
                    // SAFETY: as in `pack_b`.
                    unsafe {
                        P::load(from.add((panel * W + j) * P::LANES))
                            .store(to.add(panel * panel_len + j * P::LANES));
                    }
                }
            }
            from = from.wrapping_offset(p.row_stride);
            to = to.wrapping_add(W * P::LANES);
        }
        first += group;
    }
    first
}

/// Packs one panel, of `cols` columns from `first` on.
#[inline(always)]
unsafe fn pack_b_panel<P: Transpose>(p: &PackB<P::Elem>, first: usize, cols: usize, panel: *mut P::Elem) {
    // SAFETY: as in `pack_b`.
    unsafe {
        let b = p.b.offset(first as isize * p.col_stride);
        if p.col_stride == 1 {
            for step in 0..p.k {
                let from = b.offset(step as isize * p.row_stride);
                let to = panel.add(step * p.width);
                let mut j = 0;
                while j < p.width {
                    let count = cols.saturating_sub(j).min(P::LANES);
                    let register = if count == P::LANES {
                        P::load(from.add(j))
                    } else {
                        P::load_first(from.wrapping_add(j), count)
                    };
                    register.store(to.add(j));
                    j += P::LANES;
                }
            }
            return;
        }
        let mut whole = 0;
        if p.row_stride == 1 {
            whole = p.k - p.k % P::LANES;
            let mut group = 0;
            while group < p.width {
                let in_group = cols.saturating_sub(group).min(P::LANES);
                let from = b.wrapping_offset(group as isize * p.col_stride);
                let mut step = 0;
                while step < whole {
                    let mut square = P::zero_square();
                    for (j, register) in square.as_mut().iter_mut().enumerate() {
                        if j < in_group {
                            *register = P::load(from.offset(j as isize * p.col_stride).add(step));
                        }
                    }
                    P::transpose(&mut square);
                    for (i, register) in square.as_ref().iter().enumerate() {
                        register.store(panel.add((step + i) * p.width + group));
                    }
                    step += P::LANES;
                }
                group += P::LANES;
            }
        }
        for step in whole..p.k {
            let to = panel.add(step * p.width);
            for j in 0..p.width {
                *to.add(j) = if j < cols {
                    *b.offset(step as isize * p.row_stride + j as isize * p.col_stride)
                } else {
                    P::Elem::default()
                };
            }
        }
    }
}
