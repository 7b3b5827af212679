//! The tiles of AVX2 and AVX-512, as text: fourteen rows of two registers (six with AVX2) leave the compiler
//! no register to spare, and it would put sums on the stack in the innermost loop.
//!
//! A row is a broadcast and one or two multiply-adds. Rows are addressed from two pointers by multiples of
//! one distance, which needs five registers for all of them.

use super::tile::{Tile, TileFn, Tiles};
use std::arch::asm;
use std::mem::offset_of;

/// The address of a row, by its number from the pointer on.
macro_rules! address {
    ($p:literal, 0) => {
        $p
    };
    ($p:literal, 1) => {
        concat!($p, "+{d}")
    };
    ($p:literal, 2) => {
        concat!($p, "+2*{d}")
    };
    ($p:literal, 3) => {
        concat!($p, "+{d3}")
    };
    ($p:literal, 4) => {
        concat!($p, "+4*{d}")
    };
    ($p:literal, 5) => {
        concat!($p, "+{d5}")
    };
    ($p:literal, 6) => {
        concat!($p, "+2*{d3}")
    };
}

/// One tile as a function, of one or two registers a row.
macro_rules! tile {
    (
        $function:ident, $t:ty, $feature:literal, [$splat:literal $fma:literal $zero:literal] $v:literal $bytes:literal
        [$hold:literal $one:literal $two:literal] [$($clobber:tt)*]
        ($($i:tt: $a:literal $b:literal),*) ($($j:tt: $c:literal $e:literal),*)
    ) => {
        #[target_feature(enable = $feature)]
        unsafe fn $function<const TWO: bool>(tile: &Tile<$t>) {
            // SAFETY: the caller keeps the promises of `TileFn`: what is read and written is what the tile
            // says. All registers that change are named.
            unsafe {
                if TWO {
                    asm!(
                        "cmp qword ptr [{tile}+{more}], 0", "jnz 4f",
                        concat!(
                            $($zero, " ", $v, $a, ", ", $v, $a, ", ", $v, $a, "\n", $zero, " ", $v, $b, ", ", $v, $b, ", ", $v, $b, "\n",)*
                            $($zero, " ", $v, $c, ", ", $v, $c, ", ", $v, $c, "\n", $zero, " ", $v, $e, ", ", $v, $e, ", ", $v, $e, "\n",)*
                        ),
                        "jmp 5f", "4:", "mov {p}, [{tile}+{out}]", "mov {q}, [{tile}+{out_distance}]",
                        concat!(
                            $("vmovups ", $v, $a, ", [{p}]\nvmovups ", $v, $b, ", [{p}+", $bytes, "]\nadd {p}, {q}\n",)*
                            $("vmovups ", $v, $c, ", [{p}]\nvmovups ", $v, $e, ", [{p}+", $bytes, "]\nadd {p}, {q}\n",)*
                        ),
                        "5:", "# {d} {d3} {d5}, which not every height needs",
                        "test {k}, {k}", "jz 3f", "2:",
                        "mov {p}, [{t}]", "lea {q}, [{a2}+{p}]", "add {p}, {a}",
                        concat!("vmovups ", $v, $one, ", [{b}]"),
                        concat!("vmovups ", $v, $two, ", [{b}+", $bytes, "]"),
                        concat!(
                            $($splat, " ", $v, $hold, ", [", address!("{p}", $i), "]\n",
                              $fma, " ", $v, $a, ", ", $v, $hold, ", ", $v, $one, "\n",
                              $fma, " ", $v, $b, ", ", $v, $hold, ", ", $v, $two, "\n",)*
                            $($splat, " ", $v, $hold, ", [", address!("{q}", $j), "]\n",
                              $fma, " ", $v, $c, ", ", $v, $hold, ", ", $v, $one, "\n",
                              $fma, " ", $v, $e, ", ", $v, $hold, ", ", $v, $two, "\n",)*
                        ),
                        "add {t}, 8", concat!("add {b}, 2*", $bytes), "dec {k}", "jnz 2b", "3:",
                        "mov {p}, [{tile}+{out}]", "mov {q}, [{tile}+{out_distance}]",
                        concat!(
                            $("vmovups [{p}], ", $v, $a, "\nvmovups [{p}+", $bytes, "], ", $v, $b, "\nadd {p}, {q}\n",)*
                            $("vmovups [{p}], ", $v, $c, "\nvmovups [{p}+", $bytes, "], ", $v, $e, "\nadd {p}, {q}\n",)*
                        ),
                        tile = in(reg) tile, out = const offset_of!(Tile<$t>, out),
                        out_distance = const offset_of!(Tile<$t>, out_distance), more = const offset_of!(Tile<$t>, more),
                        a = in(reg) tile.rows[0], a2 = in(reg) tile.rows[1],
                        d = in(reg) tile.distance, d3 = in(reg) 3 * tile.distance, d5 = in(reg) 5 * tile.distance,
                        t = inout(reg) tile.table => _, b = inout(reg) tile.panel => _, k = inout(reg) tile.depth => _,
                        p = out(reg) _, q = out(reg) _, $($clobber)*
                        options(nostack)
                    );
                } else {
                    asm!(
                        "cmp qword ptr [{tile}+{more}], 0", "jnz 4f",
                        concat!(
                            $($zero, " ", $v, $a, ", ", $v, $a, ", ", $v, $a, "\n",)*
                            $($zero, " ", $v, $c, ", ", $v, $c, ", ", $v, $c, "\n",)*
                        ),
                        "jmp 5f", "4:", "mov {p}, [{tile}+{out}]", "mov {q}, [{tile}+{out_distance}]",
                        concat!(
                            $("vmovups ", $v, $a, ", [{p}]\nadd {p}, {q}\n",)*
                            $("vmovups ", $v, $c, ", [{p}]\nadd {p}, {q}\n",)*
                        ),
                        "5:", "# {d} {d3} {d5}, which not every height needs",
                        "test {k}, {k}", "jz 3f", "2:",
                        "mov {p}, [{t}]", "lea {q}, [{a2}+{p}]", "add {p}, {a}",
                        concat!("vmovups ", $v, $one, ", [{b}]"),
                        concat!(
                            $($splat, " ", $v, $hold, ", [", address!("{p}", $i), "]\n",
                              $fma, " ", $v, $a, ", ", $v, $hold, ", ", $v, $one, "\n",)*
                            $($splat, " ", $v, $hold, ", [", address!("{q}", $j), "]\n",
                              $fma, " ", $v, $c, ", ", $v, $hold, ", ", $v, $one, "\n",)*
                        ),
                        "add {t}, 8", concat!("add {b}, ", $bytes), "dec {k}", "jnz 2b", "3:",
                        "mov {p}, [{tile}+{out}]", "mov {q}, [{tile}+{out_distance}]",
                        concat!(
                            $("vmovups [{p}], ", $v, $a, "\nadd {p}, {q}\n",)*
                            $("vmovups [{p}], ", $v, $c, "\nadd {p}, {q}\n",)*
                        ),
                        tile = in(reg) tile, out = const offset_of!(Tile<$t>, out),
                        out_distance = const offset_of!(Tile<$t>, out_distance), more = const offset_of!(Tile<$t>, more),
                        a = in(reg) tile.rows[0], a2 = in(reg) tile.rows[1],
                        d = in(reg) tile.distance, d3 = in(reg) 3 * tile.distance, d5 = in(reg) 5 * tile.distance,
                        t = inout(reg) tile.table => _, b = inout(reg) tile.panel => _, k = inout(reg) tile.depth => _,
                        p = out(reg) _, q = out(reg) _, $($clobber)*
                        options(nostack)
                    );
                }
            }
        }
    };
}

/// All tiles of a level and a type: the first and the second register of every row, and what else the level
/// uses.
macro_rules! level {
    (
        $tiles:ident, $t:ty, $lanes:literal, $feature:literal, $instructions:tt $v:literal $bytes:literal $others:tt $clobbers:tt
        $($function:ident $first:tt $second:tt)*
    ) => {
        $(tile!($function, $t, $feature, $instructions $v $bytes $others $clobbers $first $second);)*
        pub(in crate::convolve) static $tiles: Tiles<$t> =
            Tiles { lanes: $lanes, by_size: &[$([$function::<false> as TileFn<$t>, $function::<true>]),*] };
    };
}

/// Thirty-two registers of 64 bytes.
pub(super) mod avx512 {
    use super::*;

    /// The level's tiles of a type, by its splat and multiply-add: rows and their registers are the same for
    /// both.
    macro_rules! tiles {
        ($tiles:ident, $t:ty, $lanes:literal, $splat:literal $fma:literal) => {
            level! {
                $tiles, $t, $lanes, "avx512f", [$splat $fma "vpxord"] "zmm" "64" ["30" "28" "29"]
                [out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _, out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _, out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,]
            rows_1 (0: "0" "14") ()
            rows_2 (0: "0" "14") (0: "1" "15")
            rows_3 (0: "0" "14", 1: "1" "15") (0: "2" "16")
            rows_4 (0: "0" "14", 1: "1" "15") (0: "2" "16", 1: "3" "17")
            rows_5 (0: "0" "14", 1: "1" "15", 2: "2" "16") (0: "3" "17", 1: "4" "18")
            rows_6 (0: "0" "14", 1: "1" "15", 2: "2" "16") (0: "3" "17", 1: "4" "18", 2: "5" "19")
            rows_7 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17") (0: "4" "18", 1: "5" "19", 2: "6" "20")
            rows_8 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17") (0: "4" "18", 1: "5" "19", 2: "6" "20", 3: "7" "21")
            rows_9 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17", 4: "4" "18") (0: "5" "19", 1: "6" "20", 2: "7" "21", 3: "8" "22")
            rows_10 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17", 4: "4" "18") (0: "5" "19", 1: "6" "20", 2: "7" "21", 3: "8" "22", 4: "9" "23")
            rows_11 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17", 4: "4" "18", 5: "5" "19") (0: "6" "20", 1: "7" "21", 2: "8" "22", 3: "9" "23", 4: "10" "24")
            rows_12 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17", 4: "4" "18", 5: "5" "19") (0: "6" "20", 1: "7" "21", 2: "8" "22", 3: "9" "23", 4: "10" "24", 5: "11" "25")
            rows_13 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17", 4: "4" "18", 5: "5" "19", 6: "6" "20") (0: "7" "21", 1: "8" "22", 2: "9" "23", 3: "10" "24", 4: "11" "25", 5: "12" "26")
            rows_14 (0: "0" "14", 1: "1" "15", 2: "2" "16", 3: "3" "17", 4: "4" "18", 5: "5" "19", 6: "6" "20") (0: "7" "21", 1: "8" "22", 2: "9" "23", 3: "10" "24", 4: "11" "25", 5: "12" "26", 6: "13" "27")
            }
        };
    }
    /// `f32`.
    mod single {
        use super::*;
        tiles!(F32, f32, 16, "vbroadcastss" "vfmadd231ps");
    }
    /// `f64`.
    mod double {
        use super::*;
        tiles!(F64, f64, 8, "vbroadcastsd" "vfmadd231pd");
    }
    pub(in crate::convolve) use double::F64;
    pub(in crate::convolve) use single::F32;
}

/// Sixteen registers of 32 bytes.
pub(super) mod avx2 {
    use super::*;

    /// The level's tiles of a type, by its splat and multiply-add: rows and their registers are the same for
    /// both.
    macro_rules! tiles {
        ($tiles:ident, $t:ty, $lanes:literal, $splat:literal $fma:literal) => {
            level! {
                $tiles, $t, $lanes, "avx2,fma", [$splat $fma "vxorps"] "ymm" "32" ["14" "12" "13"]
                [out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _, out("ymm12") _, out("ymm13") _, out("ymm14") _,]
            rows_1 (0: "0" "6") ()
            rows_2 (0: "0" "6") (0: "1" "7")
            rows_3 (0: "0" "6", 1: "1" "7") (0: "2" "8")
            rows_4 (0: "0" "6", 1: "1" "7") (0: "2" "8", 1: "3" "9")
            rows_5 (0: "0" "6", 1: "1" "7", 2: "2" "8") (0: "3" "9", 1: "4" "10")
            rows_6 (0: "0" "6", 1: "1" "7", 2: "2" "8") (0: "3" "9", 1: "4" "10", 2: "5" "11")
            }
        };
    }
    /// `f32`.
    mod single {
        use super::*;
        tiles!(F32, f32, 8, "vbroadcastss" "vfmadd231ps");
    }
    /// `f64`.
    mod double {
        use super::*;
        tiles!(F64, f64, 4, "vbroadcastsd" "vfmadd231pd");
    }
    pub(in crate::convolve) use double::F64;
    pub(in crate::convolve) use single::F32;
}
