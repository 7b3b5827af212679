//! Random tensors against the definition in `situ-cpu`'s `random` module, written out again here.

use super::harness::*;
use situ_core::{DType, Real};
use situ_ir::ops::{Distribution, Random};

/// Block `block` of a seed's stream.
fn philox(seed: u64, stream: u64, block: u64) -> [u32; 4] {
    let mut key = [seed as u32, (seed >> 32) as u32];
    let mut c = [block as u32, (block >> 32) as u32, stream as u32, (stream >> 32) as u32];
    for _ in 0..10 {
        let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
        let (p0, p2) = (product(0xd251_1f53, c[0]), product(0xcd9e_8d57, c[2]));
        c = [(p2 >> 32) as u32 ^ c[1] ^ key[0], p2 as u32, (p0 >> 32) as u32 ^ c[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    c
}

#[test]
fn the_reference_gives_the_known_answer_of_philox() {
    assert_eq!(philox(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
}

const SEED: u64 = 0x1234_5678_9abc_def0;
const STREAM: u64 = 0xffff_0000_0000_0007;

fn words(count: usize) -> Vec<u32> {
    (0..count.div_ceil(4)).flat_map(|block| philox(SEED, STREAM, block as u64)).take(count).collect()
}

fn draw(distribution: Distribution, dtype: DType, count: usize) -> Tensor {
    run(Random { distribution, seed: SEED, stream: STREAM, shape: shape(&[count]), dtype }, &[])
}

#[test]
fn uniform_numbers_are_equal_to_the_bit() {
    if device().is_none() {
        return;
    }
    for (low, high) in [(0.0, 1.0), (-3.0, 7.5), (1.0, 2.0), (1e7, 1e7 + 1.0), (5.0, 5.0)] {
        for count in [1, 3, 4, 5, 5000] {
            let drawn: Vec<f32> =
                draw(Distribution::Uniform { low: Real(low), high: Real(high) }, DType::F32, count).read();
            let top = (high as f32).next_down().max(low as f32);
            let want: Vec<f32> = words(count)
                .iter()
                .map(|x| (low as f32 + (x >> 8) as f32 / 16_777_216.0 * (high - low) as f32).min(top))
                .collect();
            assert!(drawn.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()), "{low} to {high}");
        }
    }
    for (low, high) in [(0.0, 6.0), (-5.0, 1e9), (-2_147_483_648.0, 2_147_483_648.0)] {
        let drawn: Vec<i32> =
            draw(Distribution::Uniform { low: Real(low), high: Real(high) }, DType::I32, 3001).read();
        let range = (high - low) as u64;
        let want: Vec<i32> = words(3001)
            .iter()
            .map(|x| (low as i32).wrapping_add(((u64::from(*x) * range) >> 32) as i32))
            .collect();
        assert_eq!(drawn, want);
    }
}

#[test]
fn coins_of_every_dtype_are_equal_to_the_bit() {
    if device().is_none() {
        return;
    }
    for p in [0.0, 1e-12, 0.3, 0.5, 1.0] {
        let coin = Distribution::Bernoulli { p: Real(p) };
        let want: Vec<bool> =
            words(1003).iter().map(|x| f64::from(*x) < (p * 4_294_967_296.0).floor()).collect();
        assert_eq!(draw(coin, DType::Bool, 1003).read::<bool>(), want);
        let floats: Vec<f32> = want.iter().map(|w| f32::from(u8::from(*w))).collect();
        assert_eq!(draw(coin, DType::F32, 1003).read::<f32>(), floats);
        let integers: Vec<i32> = want.iter().map(|w| i32::from(*w)).collect();
        assert_eq!(draw(coin, DType::I32, 1003).read::<i32>(), integers);
    }
}

#[test]
fn normal_numbers_are_the_transform_of_their_words() {
    if device().is_none() {
        return;
    }
    let drawn: Vec<f32> =
        draw(Distribution::Normal { mean: Real(0.5), deviation: Real(2.0) }, DType::F32, 10_001).read();
    let words = words(10_004);
    for (i, got) in drawn.iter().enumerate() {
        let pair = i / 2 * 2;
        let n = words[pair].max(1);
        let kept = if n >= 1 << 24 { n >> (8 - n.leading_zeros()) << (8 - n.leading_zeros()) } else { n };
        let r = (-2.0 * (f64::from(kept) / 4_294_967_296.0).ln()).sqrt();
        let y = words[pair + 1];
        let t = (f64::from((y >> 6) & 0xff_ffff) - 8_388_608.0 + 0.5) / 16_777_216.0;
        let angle = (f64::from(y >> 30) + t) * std::f64::consts::FRAC_PI_2;
        let want = 0.5 + 2.0 * r * if i % 2 == 0 { angle.cos() } else { angle.sin() };
        assert!((f64::from(*got) - want).abs() < 2e-6, "{i}: {got} {want}");
    }
}

#[test]
fn permutations_are_equal_to_the_number() {
    if device().is_none() {
        return;
    }
    for n in [1usize, 2, 7, 256, 257, 5000, 70_000] {
        let half = (4..16).find(|half| n <= 1 << (2 * half)).unwrap();
        let keys = [philox(SEED, STREAM, 0), philox(SEED, STREAM, 1)].concat();
        let step = |number: u32| {
            let (mut left, mut right) = (number >> half, number & ((1 << half) - 1));
            for key in &keys {
                let t = (right ^ key).wrapping_mul(0xd251_1f53);
                let t = (t ^ (t >> 15)).wrapping_mul(0xcd9e_8d57);
                (left, right) = (right, left ^ (t >> (32 - half)));
            }
            left << half | right
        };
        let want: Vec<i32> = (0..n as u32)
            .map(|i| {
                let mut number = step(i);
                while number as usize >= n {
                    number = step(number);
                }
                number as i32
            })
            .collect();
        assert_eq!(draw(Distribution::Permutation, DType::I32, n).read::<i32>(), want, "{n}");
    }
}
