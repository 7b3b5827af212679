//! The kernels of AVX512_BF16, and whether the processor's instruction adds as they need it.

use super::vector::Kernels;
use super::{avx512, avx512_tile};
use std::arch::asm;
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;
use std::sync::OnceLock;

/// Tiles whose elements are pairs. Packing moves elements whatever they are; products with vectors are never
/// asked for.
pub(super) static PAIRS: Kernels<f32> = Kernels {
    group: 2,
    tiles: &avx512_tile::bf16::TILES,
    packing_tiles: avx512_tile::bf16::PACKING,
    ..avx512::F32
};

/// Whether the processor has the instruction, and it adds the product of the upper numbers first, then that
/// of the lower, each rounded once.
pub(super) fn adds_in_turn() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        // SAFETY: the processor has AVX512_BF16 and AVX-512 F.
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16") && unsafe { try_out() }
    })
}

/// Compares the instruction with two multiply-adds of f32, on numbers of which every order of additions, and
/// every number of roundings, gives another sum for some.
///
/// # Safety
/// The processor has AVX512_BF16.
#[target_feature(enable = "avx512f")]
unsafe fn try_out() -> bool {
    const TRIALS: usize = 64;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // Signs and fractions at random, exponents within twelve of that of one.
    let mut number = || (next() & 0x807f | (115 + next() % 24) << 7) as u16;
    for _ in 0..TRIALS {
        let pairs: [[[u16; 2]; 16]; 2] =
            std::array::from_fn(|_| std::array::from_fn(|_| [number(), number()]));
        let sums: [f32; 16] =
            std::array::from_fn(|_| f32::from_bits(u32::from(number()) << 16 | u32::from(number())));
        let elements = pairs.map(|side| side.map(|[upper, lower]| u32::from(upper) << 16 | u32::from(lower)));
        let mut found = [0.0f32; 16];
        // SAFETY: arrays of sixteen are read and written; the caller has the instruction.
        unsafe {
            let mut register = _mm512_loadu_ps(sums.as_ptr());
            let a = _mm512_loadu_si512(elements[0].as_ptr().cast());
            let b = _mm512_loadu_si512(elements[1].as_ptr().cast());
            asm!("vdpbf16ps {0}, {1}, {2}", inout(zmm_reg) register, in(zmm_reg) a, in(zmm_reg) b,
                options(pure, nomem, nostack, preserves_flags));
            _mm512_storeu_ps(found.as_mut_ptr(), register);
        }
        let wide = |bits: u16| f32::from_bits(u32::from(bits) << 16);
        let expected = |lane: usize| {
            let [a, b] = [pairs[0][lane], pairs[1][lane]];
            wide(a[1]).mul_add(wide(b[1]), wide(a[0]).mul_add(wide(b[0]), sums[lane]))
        };
        if (0..16).any(|lane| found[lane].to_bits() != expected(lane).to_bits()) {
            return false;
        }
    }
    true
}
