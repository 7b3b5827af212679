//! One register of numbers, as the kernels see it: the seam between what a kernel computes and the
//! instructions it uses.
//!
//! A kernel is written once over [`Vector`] and compiled once per implementation, inside a
//! `#[target_feature]` function of that level (see [`compile_level!`]). Every method is `#[inline(always)]`:
//! called from anywhere else it would be compiled without the level's instructions.

use super::blocks::AddBlocks;
use super::gemv::MatVec;
use super::pack::{PackA, PackB};
use super::tile::{self, Tile};

/// A register of `LANES` numbers of one type.
///
/// Every method is unsafe for the same reason: the processor must have the level's instructions. Those that
/// take a pointer need it valid for as many elements as they say; no alignment is asked for.
pub(super) trait Vector: Copy + 'static {
    /// The number type.
    type Elem: Float;
    /// Numbers in a register.
    const LANES: usize;
    /// All zero.
    unsafe fn zero() -> Self;
    /// The number at `p` in every lane.
    unsafe fn splat(p: *const Self::Elem) -> Self;
    /// `LANES` numbers from `p`.
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// `count` numbers from `p`, at most `LANES`; the other lanes are zero and their memory is not touched.
    unsafe fn load_first(p: *const Self::Elem, count: usize) -> Self;
    /// `LANES` numbers to `p`.
    unsafe fn store(self, p: *mut Self::Elem);
    /// The first `count` lanes to `p`, at most `LANES`; the memory behind them is not touched.
    unsafe fn store_first(self, p: *mut Self::Elem, count: usize);
    /// `a * b + c`, rounded once where the level has a fused multiply-add.
    unsafe fn mul_add(a: Self, b: Self, c: Self) -> Self;
    /// The sum, lane by lane.
    unsafe fn add(a: Self, b: Self) -> Self;
    /// The larger of each lane and zero; NaN stays NaN.
    unsafe fn relu(self) -> Self;
    /// The sums of a tile: [`tile::accumulate`], or a loop of the level's own that does the same.
    #[inline(always)]
    unsafe fn accumulate<const M: usize, const N: usize, const BY_ROWS: bool, const PACK: bool>(
        t: &Tile<Self::Elem>,
    ) -> [[Self; N]; M] {
        // SAFETY: the caller keeps `Tile`'s promises.
        unsafe { tile::accumulate::<Self, M, N, BY_ROWS, PACK>(t) }
    }
    /// The sum of all lanes, in an order that depends on the type alone.
    unsafe fn sum(self) -> Self::Elem;
}

/// A [`Vector`] that packing can use.
pub(super) trait Transpose: Vector {
    /// `LANES` registers.
    type Square: AsRef<[Self]> + AsMut<[Self]>;
    /// A square of zeros.
    unsafe fn zero_square() -> Self::Square;
    /// Lane `j` of register `i` becomes lane `i` of register `j`.
    unsafe fn transpose(square: &mut Self::Square);
}

/// The types that have a tiled kernel: floats, and i32 for groups of integers.
pub(super) trait Float: Copy + Send + Sync + Default + 'static {
    /// One, as a number of this type.
    const ONE: Self;
}

impl Float for f32 {
    const ONE: f32 = 1.0;
}

impl Float for f64 {
    const ONE: f64 = 1.0;
}

impl Float for i32 {
    const ONE: i32 = 1;
}

/// A compiled micro-kernel.
pub(super) type TileFn<T> = unsafe fn(&Tile<T>);

/// The compiled kernels of one level for one number type, with the sizes they were compiled for.
pub(super) struct Kernels<T: 'static> {
    /// Rows of the largest micro-tile.
    pub(super) rows: usize,
    /// Columns of the micro-tile, and of a packed panel of B: two registers.
    pub(super) cols: usize,
    /// Columns of one register.
    pub(super) lanes: usize,
    /// Steps of k in an element, where that matters to the order of sums: two of bf16, else one.
    pub(super) group: usize,
    /// Whether tiles read B as far as its columns go and no further.
    pub(super) masked: bool,
    /// `[height - 1]`, then `[0]` where a step of k is one element of A further and `[1]` where a row of A
    /// is, then `[registers - 1]`.
    pub(super) tiles: &'static [[[TileFn<T>; 2]; 2]],
    /// The micro-kernel of full height that also writes B as a packed panel; indexed as the second level of
    /// `tiles`.
    pub(super) packing_tiles: [TileFn<T>; 2],
    /// Writes a panel of A.
    pub(super) pack_a: unsafe fn(&PackA<T>),
    /// Writes a panel of B.
    pub(super) pack_b: unsafe fn(&PackB<T>),
    /// A vector times a matrix whose rows (one per k) are contiguous.
    pub(super) mat_vec_by_rows: unsafe fn(&MatVec<T>),
    /// A vector times a matrix whose columns (all k of one output) are contiguous.
    pub(super) mat_vec_by_columns: unsafe fn(&MatVec<T>),
    /// Adds the sums over blocks of k.
    pub(super) add_blocks: unsafe fn(&AddBlocks<T>),
}

/// Compiles every kernel for one [`Vector`] with the given target features, as a `static` of type
/// [`Kernels`].
///
/// `$packer` is the vector that packing uses: its transpose may be of a narrower register than the kernel's.
/// Tiles are compiled from [`tile::compute`] where heights are listed; a level with tiles of its own gives
/// them in parentheses.
macro_rules! compile_level {
    ($name:ident, $vector:ty, $packer:ty, $rows:literal, [$($height:literal)*] $(, $feature:literal)?) => {
        $crate::matmul::vector::compile_level!($name, $vector, $packer, $rows, ({
            use $crate::matmul::tile;
            type Elem = <$vector as $crate::matmul::vector::Vector>::Elem;

            $(#[target_feature(enable = $feature)])?
            unsafe fn tile<const M: usize, const N: usize, const BY_ROWS: bool, const PACK: bool>(t: &tile::Tile<Elem>) {
                // SAFETY: the caller keeps `Tile`'s promises; this function has the vector's instructions.
                unsafe { tile::compute::<$vector, M, N, BY_ROWS, PACK>(t) }
            }
            (&[$([
                [tile::<$height, 1, true, false>, tile::<$height, 2, true, false>],
                [tile::<$height, 1, false, false>, tile::<$height, 2, false, false>],
            ]),*], [tile::<$rows, 2, true, true>, tile::<$rows, 2, false, true>])
        }), false $(, $feature)?);
    };
    ($name:ident, $vector:ty, $packer:ty, $rows:expr, $tiles:expr, $masked:literal $(, $feature:literal)?) => {
        pub(in crate::matmul) static $name: $crate::matmul::vector::Kernels<
            <$vector as $crate::matmul::vector::Vector>::Elem,
        > = {
            use $crate::matmul::vector::{TileFn, Vector};
            use $crate::matmul::{blocks, gemv, pack};
            type Elem = <$vector as Vector>::Elem;

            $(#[target_feature(enable = $feature)])?
            unsafe fn pack_a(p: &pack::PackA<Elem>) {
                // SAFETY: the caller keeps `PackA`'s promises; this function has the vector's instructions.
                unsafe { pack::pack_a::<$packer>(p) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn pack_b(p: &pack::PackB<Elem>) {
                // SAFETY: the caller keeps `PackB`'s promises; this function has the vector's instructions.
                unsafe { pack::pack_b::<$packer>(p) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn mat_vec_by_rows(p: &gemv::MatVec<Elem>) {
                // SAFETY: the caller keeps `MatVec`'s promises; this function has the vector's instructions.
                unsafe { gemv::by_rows::<$vector>(p) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn mat_vec_by_columns(p: &gemv::MatVec<Elem>) {
                // SAFETY: the caller keeps `MatVec`'s promises; this function has the vector's instructions.
                unsafe { gemv::by_columns::<$vector>(p) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn add_blocks(p: &blocks::AddBlocks<Elem>) {
                // SAFETY: the caller keeps `AddBlocks`' promises; this function has the vector's
                // instructions.
                unsafe { blocks::add_blocks::<$vector>(p) }
            }
            const TILES: (&[[[TileFn<Elem>; 2]; 2]], [TileFn<Elem>; 2]) = $tiles;
            $crate::matmul::vector::Kernels {
                rows: $rows,
                cols: 2 * <$vector as Vector>::LANES,
                lanes: <$vector as Vector>::LANES,
                group: 1,
                masked: $masked,
                tiles: TILES.0,
                packing_tiles: TILES.1,
                pack_a,
                pack_b,
                mat_vec_by_rows,
                mat_vec_by_columns,
                add_blocks,
            }
        };
    };
}
pub(super) use compile_level;
