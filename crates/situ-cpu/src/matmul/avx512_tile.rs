//! The tiles of AVX-512, with their loop in assembly.
//!
//! A tile of 14 rows by 2 registers keeps 28 sums, 2 registers of B and one number of A, 31 of 32 registers.
//! The compiler, given the same loop, forms the addresses of 14 rows ahead, loads the numbers of several
//! steps with them, and parks these on the stack, at half the speed. Written out, the loop is the same
//! whatever the compiler and its settings; `tests/spills.rs` looks at what was built.
//!
//! Rows are addressed from three places, of rows 0, 5 and 10: with the distance of one row and of three at
//! hand, one instruction reaches 0, 1, 2, 3 or 4 rows further. So the same code reads A by rows, by columns
//! and packed: only the distances differ.
//!
//! B is loaded under masks of the columns that exist, so its last columns are read in place like any others:
//! what is masked out is zero in the register and not touched in memory.
//!
//! The order of sums is [`super::tile::accumulate`]'s: each starts at zero and takes its products in the
//! order of k, fused.
//!
//! Tiles of [`super::groups`] are the same with another instruction between A and B: four products of bytes
//! in a lane, or two of bf16.

use super::avx512::{F32x16, F64x8, first_16};
use super::bytes_x86::Quads16;
use super::tile::{self, Tile};
use super::vector::TileFn;
use std::arch::asm;
use std::arch::x86_64::{__m512, __m512d, __m512i};

/// Rows of the largest tile.
pub(super) const ROWS: usize = 14;

/// One number of A in every lane, and its products with this step's registers of B.
macro_rules! row {
    (2, $broadcast:literal, $fma:literal, $left:literal, $right:literal, $at:literal) => {
        concat!(row!(1, $broadcast, $fma, $left, $right, $at), $fma, " zmm", $right, ", zmm30, zmm29\n")
    };
    (1, $broadcast:literal, $fma:literal, $left:literal, $right:literal, $at:literal) => {
        concat!($broadcast, " zmm30, ", $at, "\n", $fma, " zmm", $left, ", zmm30, zmm28\n")
    };
}

/// The rows of one step, up to a height: row `i` sums in registers `2i` and `2i + 1`.
macro_rules! rows {
    (1, $($kind:tt)*) => { row!($($kind)*, "0", "1", "[{a0}]") };
    (2, $($kind:tt)*) => { concat!(rows!(1, $($kind)*), row!($($kind)*, "2", "3", "[{a0} + {row}]")) };
    (3, $($kind:tt)*) => { concat!(rows!(2, $($kind)*), row!($($kind)*, "4", "5", "[{a0} + 2 * {row}]")) };
    (4, $($kind:tt)*) => { concat!(rows!(3, $($kind)*), row!($($kind)*, "6", "7", "[{a0} + {row3}]")) };
    (5, $($kind:tt)*) => { concat!(rows!(4, $($kind)*), row!($($kind)*, "8", "9", "[{a0} + 4 * {row}]")) };
    (6, $($kind:tt)*) => { concat!(rows!(5, $($kind)*), row!($($kind)*, "10", "11", "[{a5}]")) };
    (7, $($kind:tt)*) => { concat!(rows!(6, $($kind)*), row!($($kind)*, "12", "13", "[{a5} + {row}]")) };
    (8, $($kind:tt)*) => { concat!(rows!(7, $($kind)*), row!($($kind)*, "14", "15", "[{a5} + 2 * {row}]")) };
    (9, $($kind:tt)*) => { concat!(rows!(8, $($kind)*), row!($($kind)*, "16", "17", "[{a5} + {row3}]")) };
    (10, $($kind:tt)*) => { concat!(rows!(9, $($kind)*), row!($($kind)*, "18", "19", "[{a5} + 4 * {row}]")) };
    (11, $($kind:tt)*) => { concat!(rows!(10, $($kind)*), row!($($kind)*, "20", "21", "[{a10}]")) };
    (12, $($kind:tt)*) => { concat!(rows!(11, $($kind)*), row!($($kind)*, "22", "23", "[{a10} + {row}]")) };
    (13, $($kind:tt)*) => { concat!(rows!(12, $($kind)*), row!($($kind)*, "24", "25", "[{a10} + 2 * {row}]")) };
    (14, $($kind:tt)*) => { concat!(rows!(13, $($kind)*), row!($($kind)*, "26", "27", "[{a10} + {row3}]")) };
}

/// B's registers of one step, and what is done with its lines besides: those further on are asked for, and a
/// packing kernel writes the registers down.
macro_rules! columns {
    (1, plain, $load:literal) => {
        concat!($load, " zmm28{{k1}}{{z}}, [{b}]\nprefetcht0 [{prefetch}]\nadd {prefetch}, {prefetch_step}\n")
    };
    (2, plain, $load:literal) => {
        concat!(
            $load,
            " zmm29{{k2}}{{z}}, [{b} + 64]\n",
            "prefetcht0 [{prefetch} + 64]\n",
            columns!(1, plain, $load),
        )
    };
    (2, packing, $load:literal) => {
        concat!(
            columns!(2, plain, $load),
            "vmovaps [{packed}], zmm28\nvmovaps [{packed} + 64], zmm29\nadd {packed}, 128\n"
        )
    };
}

/// One step of k.
macro_rules! step {
    ($height:tt, $width:tt, $kind:tt, $load:literal, $broadcast:literal, $fma:literal) => {
        concat!(
            columns!($width, $kind, $load),
            "add {b}, {b_step}\n",
            rows!($height, $width, $broadcast, $fma),
            "add {a0}, {step}\nadd {a5}, {step}\nadd {a10}, {step}\n",
        )
    };
}

/// A function that computes one tile.
macro_rules! tile {
    ($name:ident, $elem:ty, $vector:ident, $register:ty, $height:tt, $width:tt, $kind:tt, $load:literal, $broadcast:literal, $fma:literal) => {
        /// # Safety
        /// The promises of [`Tile`] hold for this height and width, and the processor has the level's
        /// instructions.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        unsafe fn $name(t: &Tile<$elem>) {
            const SIZE: isize = size_of::<$elem>() as isize;
            const LANES: usize = 64 / size_of::<$elem>();
            let masks = [first_16(t.cols.min(LANES)), first_16(t.cols.saturating_sub(LANES).min(LANES))];
            let sums: [$register; 2 * ROWS];
            let (s0, s1, s2, s3, s4, s5, s6): ($register, $register, $register, $register, $register, $register, $register);
            let (s7, s8, s9, s10, s11, s12, s13): ($register, $register, $register, $register, $register, $register, $register);
            let (s14, s15, s16, s17, s18, s19, s20): ($register, $register, $register, $register, $register, $register, $register);
            let (s21, s22, s23, s24, s25, s26, s27): ($register, $register, $register, $register, $register, $register, $register);
            // SAFETY: the loop reads A and B and writes `packed` at the `k` steps that `Tile` promises, B as
            // far as the masks go.
            unsafe {
                asm!(
                    "vpxor xmm0, xmm0, xmm0", "vpxor xmm1, xmm1, xmm1", "vpxor xmm2, xmm2, xmm2", "vpxor xmm3, xmm3, xmm3",
                    "vpxor xmm4, xmm4, xmm4", "vpxor xmm5, xmm5, xmm5", "vpxor xmm6, xmm6, xmm6", "vpxor xmm7, xmm7, xmm7",
                    "vpxor xmm8, xmm8, xmm8", "vpxor xmm9, xmm9, xmm9", "vpxor xmm10, xmm10, xmm10", "vpxor xmm11, xmm11, xmm11",
                    "vpxor xmm12, xmm12, xmm12", "vpxor xmm13, xmm13, xmm13", "vpxor xmm14, xmm14, xmm14", "vpxor xmm15, xmm15, xmm15",
                    "vpxord xmm16, xmm16, xmm16", "vpxord xmm17, xmm17, xmm17", "vpxord xmm18, xmm18, xmm18", "vpxord xmm19, xmm19, xmm19",
                    "vpxord xmm20, xmm20, xmm20", "vpxord xmm21, xmm21, xmm21", "vpxord xmm22, xmm22, xmm22", "vpxord xmm23, xmm23, xmm23",
                    "vpxord xmm24, xmm24, xmm24", "vpxord xmm25, xmm25, xmm25", "vpxord xmm26, xmm26, xmm26", "vpxord xmm27, xmm27, xmm27",
                    "sub {k}, 4",
                    "jb 3f",
                    ".p2align 5",
                    "2:",
                    step!($height, $width, $kind, $load, $broadcast, $fma),
                    step!($height, $width, $kind, $load, $broadcast, $fma),
                    step!($height, $width, $kind, $load, $broadcast, $fma),
                    step!($height, $width, $kind, $load, $broadcast, $fma),
                    "sub {k}, 4",
                    "jae 2b",
                    "3:",
                    "add {k}, 4",
                    "jz 5f",
                    "4:",
                    step!($height, $width, $kind, $load, $broadcast, $fma),
                    "dec {k}",
                    "jnz 4b",
                    "5:",
                    "# {row} {row3} {packed}: every operand must be named somewhere",
                    k = inout(reg) t.k => _,
                    a0 = inout(reg) t.a => _,
                    a5 = inout(reg) t.a.wrapping_offset(5 * t.a_row) => _,
                    a10 = inout(reg) t.a.wrapping_offset(10 * t.a_row) => _,
                    row = in(reg) t.a_row * SIZE,
                    row3 = in(reg) 3 * t.a_row * SIZE,
                    step = in(reg) t.a_step * SIZE,
                    b = inout(reg) t.b => _,
                    b_step = in(reg) t.b_stride * SIZE,
                    prefetch = inout(reg) t.prefetch => _,
                    prefetch_step = in(reg) t.prefetch_stride * SIZE,
                    packed = inout(reg) t.packed => _,
                    in("k1") masks[0], in("k2") masks[1],
                    out("zmm0") s0, out("zmm1") s1, out("zmm2") s2, out("zmm3") s3, out("zmm4") s4, out("zmm5") s5,
                    out("zmm6") s6, out("zmm7") s7, out("zmm8") s8, out("zmm9") s9, out("zmm10") s10, out("zmm11") s11,
                    out("zmm12") s12, out("zmm13") s13, out("zmm14") s14, out("zmm15") s15, out("zmm16") s16,
                    out("zmm17") s17, out("zmm18") s18, out("zmm19") s19, out("zmm20") s20, out("zmm21") s21,
                    out("zmm22") s22, out("zmm23") s23, out("zmm24") s24, out("zmm25") s25, out("zmm26") s26,
                    out("zmm27") s27, out("zmm28") _, out("zmm29") _, out("zmm30") _,
                    options(nostack),
                );
            }
            sums = [
                s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, s16, s17, s18, s19, s20, s21, s22,
                s23, s24, s25, s26, s27,
            ];
            let sums: [[$vector; $width]; $height] =
                std::array::from_fn(|i| std::array::from_fn(|j| $vector(sums[2 * i + j])));
            // SAFETY: the caller keeps `Tile`'s promises, and this function has the vector's instructions.
            unsafe { tile::finish(t, &sums) }
        }
    };
}

/// The tiles of one number type: a table by height less one, as [`super::vector::Kernels::tiles`] has it, and
/// the packing ones.
macro_rules! tiles {
    ($module:ident, $elem:ty, $vector:ident, $register:ty, $load:literal, $broadcast:literal, $fma:literal,
        [$($height:tt $one:ident $two:ident)*]) => {
        pub(super) mod $module {
            use super::*;

            $(
                tile!($one, $elem, $vector, $register, $height, 1, plain, $load, $broadcast, $fma);
                tile!($two, $elem, $vector, $register, $height, 2, plain, $load, $broadcast, $fma);
            )*
            tile!(packing, $elem, $vector, $register, 14, 2, packing, $load, $broadcast, $fma);

            // By rows or not makes no difference to the code.
            pub(in crate::matmul) static TILES: [[[TileFn<$elem>; 2]; 2]; ROWS] = [$([[$one, $two], [$one, $two]]),*];
            pub(in crate::matmul) const PACKING: [TileFn<$elem>; 2] = [packing, packing];
        }
    };
}
tiles!(
    f32, f32, F32x16, __m512, "vmovups", "vbroadcastss", "vfmadd231ps",
    [1 h1w1 h1w2 2 h2w1 h2w2 3 h3w1 h3w2 4 h4w1 h4w2 5 h5w1 h5w2 6 h6w1 h6w2 7 h7w1 h7w2 8 h8w1 h8w2 9 h9w1 h9w2
    10 h10w1 h10w2 11 h11w1 h11w2 12 h12w1 h12w2 13 h13w1 h13w2 14 h14w1 h14w2]
);
tiles!(
    f64, f64, F64x8, __m512d, "vmovupd", "vbroadcastsd", "vfmadd231pd",
    [1 h1w1 h1w2 2 h2w1 h2w2 3 h3w1 h3w2 4 h4w1 h4w2 5 h5w1 h5w2 6 h6w1 h6w2 7 h7w1 h7w2 8 h8w1 h8w2 9 h9w1 h9w2
    10 h10w1 h10w2 11 h11w1 h11w2 12 h12w1 h12w2 13 h13w1 h13w2 14 h14w1 h14w2]
);
tiles!(
    bytes, i32, Quads16, __m512i, "vmovdqu32", "vpbroadcastd", "vpdpbusd",
    [1 h1w1 h1w2 2 h2w1 h2w2 3 h3w1 h3w2 4 h4w1 h4w2 5 h5w1 h5w2 6 h6w1 h6w2 7 h7w1 h7w2 8 h8w1 h8w2 9 h9w1 h9w2
    10 h10w1 h10w2 11 h11w1 h11w2 12 h12w1 h12w2 13 h13w1 h13w2 14 h14w1 h14w2]
);
tiles!(
    bf16, f32, F32x16, __m512, "vmovups", "vbroadcastss", "vdpbf16ps",
    [1 h1w1 h1w2 2 h2w1 h2w2 3 h3w1 h3w2 4 h4w1 h4w2 5 h5w1 h5w2 6 h6w1 h6w2 7 h7w1 h7w2 8 h8w1 h8w2 9 h9w1 h9w2
    10 h10w1 h10w2 11 h11w1 h11w2 12 h12w1 h12w2 13 h13w1 h13w2 14 h14w1 h14w2]
);
