//! How a product is cut up: blocks of k, tiles of the output, and who packs what.
//!
//! A plan is a pure function of shapes, strides and kernel sizes; the number of threads is not an input. Of
//! its choices only the block of k touches the values of the result (see [`super::tile`]), which is why that
//! depends on k alone.
//!
//! The sizes below were measured on a Zen 3 (32 KiB, 512 KiB and 32 MiB of cache); they are about halves of
//! what most x86 and ARM cores of the last ten years have. Kernels that read B under masks go by the
//! machine's second-level cache instead ([`GemmPlan::blocks_of_b`]): they are quick enough to wait for a
//! cache that is further away.

/// Where the micro-kernel finds an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// In place, where the operand lies.
    Direct,
    /// In panels that the task packs for itself.
    InTask,
    /// In panels packed once for all tasks, in a step of its own.
    Shared,
    /// In panels packed before the call.
    Before,
}

/// How the elements of an operand lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatrixOrder {
    /// Along a row they are contiguous.
    RowMajor,
    /// Along a column they are contiguous.
    ColumnMajor,
    /// Neither rows nor columns are.
    Strided,
}

impl MatrixOrder {
    pub(super) fn of(row_stride: isize, col_stride: isize) -> MatrixOrder {
        match (row_stride, col_stride) {
            (_, 1) => MatrixOrder::RowMajor,
            (1, _) => MatrixOrder::ColumnMajor,
            _ => MatrixOrder::Strided,
        }
    }
}

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) n: usize,
    pub(super) batch: usize,
    pub(super) a: MatrixOrder,
    pub(super) b: MatrixOrder,
    /// From one row to the next in A.
    pub(super) a_row_stride: isize,
    /// From one k to the next in A.
    pub(super) a_col_stride: isize,
    /// From one k to the next in B.
    pub(super) b_row_stride: isize,
    /// Whether B comes packed.
    pub(super) b_packed: bool,
    pub(super) element_bytes: usize,
    /// Whether the micro-kernel reads B in place whatever its width.
    pub(super) masked: bool,
    /// Bytes of a core's second-level cache.
    pub(super) second_level: usize,
    /// The micro-kernel's rows.
    pub(super) rows: usize,
    /// The micro-kernel's columns.
    pub(super) cols: usize,
    /// Steps of k in an element.
    pub(super) group: usize,
}

impl Inputs {
    /// The block of k, in elements.
    fn k_block(&self) -> usize {
        grouped_k_block(self.k, self.group)
    }
}

/// How a product is cut into tiles and tasks, and where its operands are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GemmPlan {
    /// Steps of k summed in registers before the output is touched.
    pub(super) k_block: usize,
    /// Rows of the output per tile; a multiple of the kernel's rows unless it is all of them.
    pub(super) tile_rows: usize,
    /// Columns of the output per tile; a multiple of the kernel's columns.
    pub(super) tile_cols: usize,
    pub(super) a: Packing,
    pub(super) b: Packing,
    /// Where panels are shared: rows packed at a time.
    pub(super) chunk_rows: usize,
    /// Where panels are shared: columns packed at a time.
    pub(super) chunk_cols: usize,
    /// Where panels are shared: blocks of k packed at a time.
    pub(super) chunk_blocks: usize,
    /// Whether a strip of rows meets all panels of a tile before the next strip's turn, or a panel all
    /// strips.
    pub(super) strips_first: bool,
    /// Where B is read in place: how many steps ahead it is asked for; zero for not at all.
    pub(super) rows_ahead: usize,
}

/// Steps of k in a block. Longer ones touch the output less often; at this length a panel of B (32 KiB of
/// `f32`) still streams well from the second-level cache.
const K_BLOCK_LIMIT: usize = 512;

/// Up to this size a block of all of A's rows stays in the second-level cache: then B is gone through once,
/// and never packed as a step of its own. It bounds what a task packs for itself, too.
const ONE_TILE_BYTES: usize = 320 << 10;

/// A's rows per tile otherwise.
const A_TILE_BYTES: usize = 128 << 10;

/// Panels shared by all tasks should stay in the last-level cache: this much for each of A and B, and of
/// several blocks of k at a time for both together.
const SHARED_BYTES: usize = 8 << 20;

/// Panels of B per tile: few enough for many tasks, enough that the rows of A are used again while they are
/// near.
const TILE_PANELS: usize = 32;

/// As [`TILE_PANELS`], for a tile of all rows, which is taller.
const ONE_TILE_PANELS: usize = 4;

/// Rows this many bytes apart fall into the same few places of the first-level cache and push each other out:
/// those of B while a panel is packed on the way, those of A while a high tile reads them side by side.
const BAD_STRIDE: usize = 4096;

/// How far ahead of its use a row of B is asked for, while the first strip of rows reads it in place.
const ROWS_AHEAD: usize = 16;

/// Up to this many strips of rows B is as quick in place as packed by the first of them.
const STRIPS_IN_PLACE: usize = 3;

/// Strips of rows in a tile that goes through a block of B: at least, so that bringing the block near is
/// worth it, and at most, so that there are tasks enough.
const BLOCK_STRIPS: std::ops::RangeInclusive<usize> = 8..=40;

/// Up to this size all of B is near while strips of rows go past: most of a first-level cache.
const NEAR_B_BYTES: usize = 32 << 10;

/// Strips of rows from which on that is worth cutting rows instead of columns.
const NEAR_B_STRIPS: usize = 8;

/// Tasks that a large product should have: several for each thread of a small machine.
const TASKS: usize = 16;

/// A task should be worth handing over to another thread: a product of 64×64×64.
pub(super) const TASK_WORK: usize = 64 * 64 * 64;

/// The block of k for a product over `k` steps: equal blocks, none longer than the limit.
pub(super) fn k_block(k: usize) -> usize {
    let blocks = k.div_ceil(K_BLOCK_LIMIT).max(1);
    k.div_ceil(blocks).next_multiple_of(8).min(k).max(1)
}

/// The block of k for a product over `groups` elements of `group` steps each: the blocks end where those of
/// single steps would, so that sums come out alike.
pub(super) fn grouped_k_block(groups: usize, group: usize) -> usize {
    k_block(groups * group).div_ceil(group)
}

/// Whether rows this far apart push each other out of the first-level cache.
fn is_bad(stride: isize, element_bytes: usize) -> bool {
    (stride.unsigned_abs() * element_bytes).is_multiple_of(BAD_STRIDE)
}

impl GemmPlan {
    pub(super) fn new(p: &Inputs) -> GemmPlan {
        let k_block = p.k_block();
        let near = if p.masked { ONE_TILE_BYTES.min(p.second_level / 2) } else { ONE_TILE_BYTES };
        if GemmPlan::has_near_b(p) {
            GemmPlan::strips_past_b(p, k_block)
        } else if p.m * k_block * p.element_bytes <= near || p.m <= 2 * p.rows {
            GemmPlan::one_tile_of_rows(p, k_block)
        } else if p.masked {
            GemmPlan::blocks_of_b(p, k_block)
        } else {
            GemmPlan::many_tiles(p, k_block)
        }
    }

    /// Whether all of B stays in the first-level cache, and can be read where it is, while many strips of
    /// rows go past it: as in the gradient of a layer's weights, which sums over a batch.
    fn has_near_b(p: &Inputs) -> bool {
        let near = p.k * p.n * p.element_bytes <= NEAR_B_BYTES;
        let in_place = p.masked && p.b == MatrixOrder::RowMajor && !p.b_packed && p.batch == 1;
        near && in_place && p.m >= NEAR_B_STRIPS * p.rows && GemmPlan::reads_a_in_place(p, p.k_block(), p.m)
    }

    /// Tasks of rows: each writes whole rows of the output, one behind the other, which is how whatever comes
    /// next goes through it.
    fn strips_past_b(p: &Inputs, k_block: usize) -> GemmPlan {
        let strips = p.m.div_ceil(p.rows);
        let strip_work = (p.rows * p.k * p.n).max(1);
        let most = (strips / TASK_WORK.div_ceil(strip_work)).clamp(1, TASKS);
        // Halves should be halves: an even number of tasks, with little less to do for the last.
        let spare = |tasks: usize| strips.div_ceil(tasks) * p.rows * tasks - p.m;
        let tasks =
            (2..=most).rev().find(|tasks| tasks % 2 == 0 && spare(*tasks) <= p.m / 16).unwrap_or(most);
        let (tile_rows, tile_cols) = (strips.div_ceil(tasks) * p.rows, p.n.next_multiple_of(p.cols));
        GemmPlan::with_chunks(p, k_block, tile_rows, tile_cols, Packing::Direct, Packing::Direct)
    }

    /// All rows in one tile.
    fn one_tile_of_rows(p: &Inputs, k_block: usize) -> GemmPlan {
        let panels = p.n.div_ceil(p.cols);
        let panel_work = (p.m * p.k * p.cols).max(1);
        let tile_panels =
            TASK_WORK.div_ceil(panel_work).max((panels / 6).clamp(1, ONE_TILE_PANELS)).min(panels);
        let a = if GemmPlan::reads_a_in_place(p, k_block, p.m) {
            Packing::Direct
        } else if p.batch == 1 && panels > tile_panels {
            Packing::Shared
        } else {
            Packing::InTask
        };
        let bad_stride = is_bad(p.b_row_stride, p.element_bytes) && p.k > 64;
        let in_place = p.m < 2 * p.rows || (p.masked && p.m <= STRIPS_IN_PLACE * p.rows && !bad_stride);
        let b = match p.b {
            _ if p.b_packed => Packing::Before,
            MatrixOrder::RowMajor if in_place => Packing::Direct,
            MatrixOrder::RowMajor if bad_stride && p.batch == 1 => Packing::Shared,
            MatrixOrder::RowMajor | MatrixOrder::ColumnMajor | MatrixOrder::Strided => Packing::InTask,
        };
        let far = p.k * p.n * p.element_bytes > p.second_level / 2;
        let rows_ahead = if p.masked && far { ROWS_AHEAD } else { 0 };
        GemmPlan { rows_ahead, ..GemmPlan::with_chunks(p, k_block, p.m, tile_panels * p.cols, a, b) }
    }

    /// Rows and columns in tiles, for kernels that are through with a strip of rows before a panel of B has
    /// come from the last-level cache: as many panels as fill a quarter of the second level, and every strip
    /// of rows meets them in turn. The strip stays in the first level meanwhile, and the output is gone
    /// through along its rows.
    fn blocks_of_b(p: &Inputs, k_block: usize) -> GemmPlan {
        let panel_bytes = k_block * p.cols * p.element_bytes;
        let panels = p.n.div_ceil(p.cols);
        let most = (p.second_level / 4 / panel_bytes).max(1);
        let tile_panels = panels.div_ceil(panels.div_ceil(most));
        let across = panels.div_ceil(tile_panels);
        let strips = p.m.div_ceil(p.rows);
        let tile_strips =
            strips.div_ceil(TASKS.div_ceil(across)).clamp(*BLOCK_STRIPS.start(), *BLOCK_STRIPS.end());
        let tile_rows = p.m.div_ceil(p.m.div_ceil(tile_strips * p.rows)).next_multiple_of(p.rows);
        // Rows that meet in the same places of the first-level cache are more than it has room for there.
        let apart = p.a == MatrixOrder::RowMajor && is_bad(p.a_row_stride, p.element_bytes) && panels > 2;
        let in_place = GemmPlan::reads_a_in_place(p, k_block, tile_rows) && !apart;
        let a = if in_place { Packing::Direct } else { Packing::Shared };
        let b = if p.b_packed { Packing::Before } else { Packing::Shared };
        let plan = GemmPlan::with_chunks(p, k_block, tile_rows, tile_panels * p.cols, a, b);
        GemmPlan { strips_first: true, ..plan }
    }

    /// Rows and columns in tiles. B is used by many of them, so it is packed once for all.
    fn many_tiles(p: &Inputs, k_block: usize) -> GemmPlan {
        let most_rows = (A_TILE_BYTES / (k_block * p.element_bytes)).max(2 * p.rows);
        let tile_rows = p.m.div_ceil(p.m.div_ceil(most_rows)).next_multiple_of(p.rows);
        let panels = p.n.div_ceil(p.cols);
        let tile_panels = panels.div_ceil(panels.div_ceil(TILE_PANELS));
        let a =
            if GemmPlan::reads_a_in_place(p, k_block, tile_rows) { Packing::Direct } else { Packing::Shared };
        let b = if p.b_packed { Packing::Before } else { Packing::Shared };
        GemmPlan::with_chunks(p, k_block, tile_rows, tile_panels * p.cols, a, b)
    }

    /// Whether a tile of A is as good where it is as it would be packed: by rows it is, the processor follows
    /// a few rows by itself. By columns only if all of it, with what lies between, is near.
    fn reads_a_in_place(p: &Inputs, k_block: usize, tile_rows: usize) -> bool {
        match p.a {
            MatrixOrder::RowMajor => true,
            MatrixOrder::ColumnMajor => {
                let apart = p.a_col_stride.unsigned_abs().max(tile_rows);
                apart * k_block * p.element_bytes <= ONE_TILE_BYTES
            }
            MatrixOrder::Strided => false,
        }
    }

    /// Completes a plan with how much is packed at a time.
    fn with_chunks(
        p: &Inputs,
        k_block: usize,
        tile_rows: usize,
        tile_cols: usize,
        a: Packing,
        b: Packing,
    ) -> GemmPlan {
        let lines = (SHARED_BYTES / (k_block * p.element_bytes)).max(1);
        let chunk = |size: usize, tile: usize, shared: bool| {
            if shared { ((lines / tile).max(1) * tile).min(size) } else { size }
        };
        let chunk_rows = chunk(p.m, tile_rows, a == Packing::Shared);
        let chunk_cols = chunk(p.n, tile_cols, b == Packing::Shared);
        let rows_held = if a == Packing::Shared { chunk_rows } else { 0 };
        let cols_held = if b == Packing::Shared { chunk_cols } else { 0 };
        let chunk_blocks = (lines / (rows_held + cols_held).max(1)).clamp(1, p.k.div_ceil(k_block).max(1));
        GemmPlan {
            k_block,
            tile_rows,
            tile_cols,
            a,
            b,
            chunk_rows,
            chunk_cols,
            chunk_blocks,
            strips_first: false,
            rows_ahead: 0,
        }
    }

    /// Whether any panels are packed for all tasks.
    pub(super) fn shares(&self) -> bool {
        self.a == Packing::Shared || self.b == Packing::Shared
    }
}

/// Cuts rows into strips of at most a micro-kernel's height, as equal as can be (a low strip leaves the
/// arithmetic units waiting), except that the first is full where there are two full ones or more (the
/// packing kernel has that height).
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips {
    /// How many there are.
    pub(super) count: usize,
    first: usize,
    low: usize,
    higher: usize,
}

impl Strips {
    pub(super) fn new(rows: usize, most: usize) -> Strips {
        let count = rows.div_ceil(most).max(1);
        if rows < 2 * most {
            return Strips { count, first: rows.div_ceil(count), low: rows / count, higher: rows % count };
        }
        let (rest, others) = (rows - most, count - 1);
        Strips { count, first: most, low: rest / others, higher: rest % others + 1 }
    }

    /// The height of strip `i`.
    #[inline(always)]
    pub(super) fn height(&self, i: usize) -> usize {
        if i == 0 { self.first } else { self.low + usize::from(i < self.higher) }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
