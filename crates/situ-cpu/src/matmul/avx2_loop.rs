//! The inner loop of the AVX2 tiles that matter most, in assembly.
//!
//! A tile of 6 rows by 2 registers uses 15 of the 16 registers. With a prefetch in the loop the compiler runs
//! out of them and spills, at half the speed; written out, the loop is the same whatever the compiler and its
//! settings. It does what [`super::tile::accumulate`] does, in the same order.

use super::tile::Tile;
use std::arch::asm;
use std::arch::x86_64::{__m256, __m256d};

/// A broadcast of one number of A, and its products with B's two registers.
macro_rules! row {
    ($broadcast:literal, $fma:literal, $left:literal, $right:literal, $at:literal) => {
        concat!(
            $broadcast,
            " ymm14, ",
            $at,
            "\n",
            $fma,
            " ",
            $left,
            ", ymm14, ymm12\n",
            $fma,
            " ",
            $right,
            ", ymm14, ymm13\n",
        )
    };
}

/// The rows of one step; `a` and `a3` point at rows 0 and 3.
macro_rules! rows {
    (4, $broadcast:literal, $fma:literal) => {
        concat!(
            row!($broadcast, $fma, "ymm0", "ymm1", "[{a}]"),
            row!($broadcast, $fma, "ymm2", "ymm3", "[{a} + {a_row}]"),
            row!($broadcast, $fma, "ymm4", "ymm5", "[{a} + 2 * {a_row}]"),
            row!($broadcast, $fma, "ymm6", "ymm7", "[{a3}]"),
        )
    };
    (5, $broadcast:literal, $fma:literal) => {
        concat!(rows!(4, $broadcast, $fma), row!($broadcast, $fma, "ymm8", "ymm9", "[{a3} + {a_row}]"),)
    };
    (6, $broadcast:literal, $fma:literal) => {
        concat!(rows!(5, $broadcast, $fma), row!($broadcast, $fma, "ymm10", "ymm11", "[{a3} + 2 * {a_row}]"),)
    };
}

/// What a step does besides: a packing kernel writes B down, the others ask for a cache line.
macro_rules! besides {
    (packing) => {
        "vmovups [{packed}], ymm12\nvmovups [{packed} + 32], ymm13\nadd {packed}, 64\nprefetcht1 [{prefetch}]\nadd {prefetch}, {b_step}\n"
    };
    (plain) => {
        "prefetcht0 [{prefetch}]\nadd {prefetch}, {prefetch_step}\n"
    };
}

/// One step of k.
macro_rules! step {
    ($height:tt, $kind:tt, $broadcast:literal, $fma:literal) => {
        concat!(
            "vmovups ymm12, [{b}]\n",
            "vmovups ymm13, [{b} + 32]\n",
            besides!($kind),
            "add {b}, {b_step}\n",
            rows!($height, $broadcast, $fma),
            "add {a}, {a_step}\n",
            "add {a3}, {a_step}\n",
        )
    };
}

/// A function that runs the loop of one tile and gives its sums, two registers a row.
macro_rules! tile_loop {
    ($name:ident, $elem:ty, $vector:ty, $height:tt, $kind:tt, $broadcast:literal, $fma:literal) => {
        /// # Safety
        /// The promises of [`Tile`] hold, and the processor has AVX2 and FMA.
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $name(t: &Tile<$elem>) -> [$vector; 12] {
            const SIZE: isize = size_of::<$elem>() as isize;
            let (s0, s1, s2, s3, s4, s5): ($vector, $vector, $vector, $vector, $vector, $vector);
            let (s6, s7, s8, s9, s10, s11): ($vector, $vector, $vector, $vector, $vector, $vector);
            // SAFETY: the loop reads A and B and writes `packed` at the `k` steps that `Tile` promises.
            unsafe {
                asm!(
                    "vxorps xmm0, xmm0, xmm0", "vxorps xmm1, xmm1, xmm1", "vxorps xmm2, xmm2, xmm2",
                    "vxorps xmm3, xmm3, xmm3", "vxorps xmm4, xmm4, xmm4", "vxorps xmm5, xmm5, xmm5",
                    "vxorps xmm6, xmm6, xmm6", "vxorps xmm7, xmm7, xmm7", "vxorps xmm8, xmm8, xmm8",
                    "vxorps xmm9, xmm9, xmm9", "vxorps xmm10, xmm10, xmm10", "vxorps xmm11, xmm11, xmm11",
                    "sub {k}, 4",
                    "jb 3f",
                    ".p2align 5",
                    "2:",
                    step!($height, $kind, $broadcast, $fma),
                    step!($height, $kind, $broadcast, $fma),
                    step!($height, $kind, $broadcast, $fma),
                    step!($height, $kind, $broadcast, $fma),
                    "sub {k}, 4",
                    "jae 2b",
                    "3:",
                    "add {k}, 4",
                    "jz 5f",
                    "4:",
                    step!($height, $kind, $broadcast, $fma),
                    "dec {k}",
                    "jnz 4b",
                    "5:",
                    "# {packed} {prefetch} {prefetch_step}: every operand must be named somewhere",
                    k = inout(reg) t.k => _,
                    a = inout(reg) t.a => _,
                    a3 = inout(reg) t.a.wrapping_offset(3 * t.a_row) => _,
                    a_row = in(reg) t.a_row * SIZE,
                    a_step = in(reg) t.a_step * SIZE,
                    b = inout(reg) t.b => _,
                    b_step = in(reg) t.b_stride * SIZE,
                    packed = inout(reg) t.packed => _,
                    prefetch = inout(reg) t.prefetch => _,
                    prefetch_step = in(reg) t.prefetch_stride * SIZE,
                    out("ymm0") s0, out("ymm1") s1, out("ymm2") s2, out("ymm3") s3,
                    out("ymm4") s4, out("ymm5") s5, out("ymm6") s6, out("ymm7") s7,
                    out("ymm8") s8, out("ymm9") s9, out("ymm10") s10, out("ymm11") s11,
                    out("ymm12") _, out("ymm13") _, out("ymm14") _,
                    options(nostack),
                );
            }
            [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11]
        }
    };
}

tile_loop!(f32_4, f32, __m256, 4, plain, "vbroadcastss", "vfmadd231ps");
tile_loop!(f32_5, f32, __m256, 5, plain, "vbroadcastss", "vfmadd231ps");
tile_loop!(f32_6, f32, __m256, 6, plain, "vbroadcastss", "vfmadd231ps");
tile_loop!(f32_6_packing, f32, __m256, 6, packing, "vbroadcastss", "vfmadd231ps");
tile_loop!(f64_4, f64, __m256d, 4, plain, "vbroadcastsd", "vfmadd231pd");
tile_loop!(f64_5, f64, __m256d, 5, plain, "vbroadcastsd", "vfmadd231pd");
tile_loop!(f64_6, f64, __m256d, 6, plain, "vbroadcastsd", "vfmadd231pd");
tile_loop!(f64_6_packing, f64, __m256d, 6, packing, "vbroadcastsd", "vfmadd231pd");
