//! The definition in the module's page, written again as plain loops, and whether the numbers look as random
//! as they claim.

use super::philox::{Draw, run_from};
use super::*;
use crate::exec::Exec;
use crate::level::Level;
use crate::threads::Threads;

/// Calls `f` with every level and several thread counts.
fn everywhere(mut f: impl FnMut(&Exec<'_>)) {
    for threads in [1, 2, 3, 5] {
        let pool = Threads::new(threads, None).unwrap();
        for level in Level::available() {
            f(&Exec { level, threads: &pool, streaming_bytes: usize::MAX });
        }
    }
}

fn here<T>(f: impl FnOnce(&Exec<'_>) -> T) -> T {
    let pool = Threads::new(2, None).unwrap();
    f(&Exec::new(&pool))
}

/// `count` elements written by `f`.
fn drawn<T: Copy + Default>(count: usize, f: impl FnOnce(*mut T)) -> Vec<T> {
    let mut data = vec![T::default(); count];
    f(data.as_mut_ptr());
    data
}

fn word(stream: Stream, i: usize) -> u32 {
    stream.block((i / 4) as u32, 0)[i % 4]
}

const COUNTS: [usize; 7] = [0, 1, 2, 5, 63, 1000, 50_003];

#[test]
fn the_generator_gives_the_published_test_vectors() {
    let vectors = [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];
    for (counter, key, want) in vectors {
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let stream = Stream::new(wide(key[0], key[1]), wide(counter[2], counter[3]));
        assert_eq!(stream.block(counter[0], counter[1]), want);
    }
}

#[test]
fn the_block_number_carries_into_its_high_half() {
    #[derive(Clone, Copy)]
    struct Raw;
    impl Draw for Raw {
        type Out = u32;
        type Block = [u32; 4];
        fn draw(self, words: [u32; 4]) -> [u32; 4] {
            words
        }
    }
    let stream = Stream::new(7, 9);
    // SAFETY: there is room for the elements.
    let got = drawn(26, |to| here(|exec| unsafe { run_from(exec, Raw, stream, (5 << 32) - 3, to, 26) }));
    let blocks = [(u32::MAX - 2, 4), (u32::MAX - 1, 4), (u32::MAX, 4), (0, 5), (1, 5), (2, 5), (3, 5)];
    let want: Vec<u32> = blocks.iter().flat_map(|(low, high)| stream.block(*low, *high)).take(26).collect();
    assert_eq!(got, want);
}

#[test]
fn uniform_floats_are_bit_for_bit_what_the_definition_says_on_every_level_and_thread_count() {
    let stream = Stream::new(0x1234_5678_9abc_def0, 3);
    let (low, high) = (-0.7, 2.9);
    for count in COUNTS {
        let narrow: Vec<u32> = (0..count)
            .map(|i| {
                let u = (word(stream, i) >> 8) as f32 / 16_777_216.0;
                let product = std::hint::black_box(u * (high - low) as f32);
                (low as f32 + product).min((high as f32).next_down()).to_bits()
            })
            .collect();
        let wide: Vec<u64> = (0..count)
            .map(|i| {
                let (a, b) = (word(stream, 2 * i), word(stream, 2 * i + 1));
                let u = (u64::from(a >> 5) << 26 | u64::from(b >> 6)) as f64 / 2f64.powi(53);
                let product = std::hint::black_box(u * (high - low));
                (low + product).min(high.next_down()).to_bits()
            })
            .collect();
        everywhere(|exec| {
            // SAFETY: there is room for `count` elements.
            let got = drawn(count, |to| unsafe { uniform_f32(exec, stream, low, high, to, count) });
            assert!(got.iter().map(|x| x.to_bits()).eq(narrow.iter().copied()), "{count} at {}", exec.level);
            // SAFETY: as above.
            let got = drawn(count, |to| unsafe { uniform_f64(exec, stream, low, high, to, count) });
            assert!(got.iter().map(|x| x.to_bits()).eq(wide.iter().copied()), "{count} at {}", exec.level);
        });
    }
}

#[test]
fn integers_and_coins_are_what_the_definition_says_on_every_level_and_thread_count() {
    let stream = Stream::new(11, u64::MAX);
    for count in COUNTS {
        let words: Vec<u32> = (0..count).map(|i| word(stream, i)).collect();
        everywhere(|exec| {
            // SAFETY: here and below, there is room for `count` elements.
            let got = drawn(count, |to| unsafe { uniform_whole::<i32>(exec, stream, -5, 12, to, count) });
            assert!(got.iter().zip(&words).all(|(x, w)| *x == -5 + ((u64::from(*w) * 12) >> 32) as i32));
            // SAFETY: see above.
            let got = drawn(count, |to| unsafe {
                uniform_whole::<i32>(exec, stream, i32::MIN, 1 << 32, to, count)
            });
            assert!(got.iter().zip(&words).all(|(x, w)| *x == i32::MIN.wrapping_add(*w as i32)));
            // SAFETY: see above.
            let got =
                drawn(count, |to| unsafe { uniform_whole::<i64>(exec, stream, 1 << 40, 1 << 32, to, count) });
            assert!(got.iter().zip(&words).all(|(x, w)| *x == (1 << 40) + i64::from(*w)));
            // SAFETY: see above.
            let got = drawn(count, |to| unsafe { bernoulli(exec, stream, 0.3, [0u8, 1], to, count) });
            assert!(got.iter().zip(&words).all(|(x, w)| (*x == 1) == (*w < 1_288_490_188)));
            // SAFETY: see above.
            let got = drawn(count, |to| unsafe { bernoulli(exec, stream, 0.3, [0f64, 1.0], to, count) });
            assert!(got.iter().zip(&words).all(|(x, w)| (*x == 1.0) == (*w < 1_288_490_188)));
        });
    }
}

#[test]
fn a_coin_of_probability_zero_or_less_than_a_word_never_falls_and_of_one_always() {
    let stream = Stream::new(0, 0);
    for (p, want) in [(0.0, 0u8), (2f64.powi(-33), 0), (1.0, 1), (1.0 - 2f64.powi(-53), 1)] {
        // SAFETY: there is room for the elements.
        let got = drawn(10_000, |to| here(|exec| unsafe { bernoulli(exec, stream, p, [0, 1], to, 10_000) }));
        assert!(got.iter().all(|x| *x == want), "{p}");
    }
}

#[test]
fn normal_numbers_are_the_same_bits_on_every_level_and_thread_count() {
    let stream = Stream::new(99, 1);
    for count in COUNTS {
        let mut first: Option<(Vec<u32>, Vec<u64>)> = None;
        everywhere(|exec| {
            // SAFETY: there is room for `count` elements.
            let (narrow, wide) = unsafe {
                (
                    drawn(count, |to| normal_f32(exec, stream, 0.5, 2.0, to, count)),
                    drawn(count, |to| normal_f64(exec, stream, 0.5, 2.0, to, count)),
                )
            };
            let bits: (Vec<u32>, Vec<u64>) =
                (narrow.iter().map(|x| x.to_bits()).collect(), wide.iter().map(|x| x.to_bits()).collect());
            assert!(*first.get_or_insert_with(|| bits.clone()) == bits, "{count} at {}", exec.level);
        });
    }
}

#[test]
fn seeds_and_streams_differ_in_every_bit_of_their_number() {
    let base = Stream::new(0, 0).block(0, 0);
    for bit in 0..64 {
        assert_ne!(Stream::new(1 << bit, 0).block(0, 0), base);
        assert_ne!(Stream::new(0, 1 << bit).block(0, 0), base);
    }
}

/// Pearson's statistic of counts against equal expectations.
fn chi_square(counts: &[usize]) -> f64 {
    let expected = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    counts.iter().map(|c| (*c as f64 - expected).powi(2) / expected).sum()
}

/// Whether a statistic of `bins` equal bins is within what chance gives all but once in a million.
fn plausible(statistic: f64, bins: usize) -> bool {
    let freedom = (bins - 1) as f64;
    (statistic - freedom).abs() < 5.0 * (2.0 * freedom).sqrt() + 12.0
}

fn moments(x: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64, f64) {
    let n = x.clone().count() as f64;
    let mean = x.clone().sum::<f64>() / n;
    let central = |k| x.clone().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
    let variance = central(2);
    (mean, variance, central(3) / variance.powf(1.5), central(4) / variance.powi(2))
}

const MANY: usize = 1 << 20;

#[test]
fn uniform_numbers_have_the_mean_variance_and_evenness_of_uniform_numbers() {
    for seed in [0, 42] {
        let stream = Stream::new(seed, 5);
        let check = |x: Vec<f64>| {
            let (mean, variance, ..) = moments(x.iter().copied());
            // Five standard errors.
            assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0f64 / MANY as f64).sqrt(), "{mean}");
            assert!((variance - 1.0 / 12.0).abs() < 4e-4, "{variance}");
            let mut bins = vec![0; 1000];
            x.iter().for_each(|x| bins[(x * 1000.0) as usize] += 1);
            assert!(plausible(chi_square(&bins), 1000), "{}", chi_square(&bins));
            // Neighbours are independent: pairs fill a square evenly.
            let mut square = vec![0; 32 * 32];
            x.windows(2).for_each(|w| square[(w[0] * 32.0) as usize * 32 + (w[1] * 32.0) as usize] += 1);
            assert!(plausible(chi_square(&square), 1024), "{}", chi_square(&square));
        };
        here(|exec| {
            // SAFETY: there is room for the elements.
            unsafe {
                let narrow: Vec<f32> = drawn(MANY, |to| uniform_f32(exec, stream, 0.0, 1.0, to, MANY));
                check(narrow.into_iter().map(f64::from).collect());
                check(drawn(MANY, |to| uniform_f64(exec, stream, 0.0, 1.0, to, MANY)));
            }
        });
    }
}

#[test]
fn integers_and_coins_come_as_often_as_they_should() {
    let stream = Stream::new(2024, 8);
    here(|exec| {
        // SAFETY: there is room for the elements.
        let (dice, coins) = unsafe {
            (
                drawn(MANY, |to| uniform_whole::<i32>(exec, stream, 1, 6, to, MANY)),
                drawn(MANY, |to| bernoulli(exec, stream, 0.1, [0i32, 1], to, MANY)),
            )
        };
        let mut faces = vec![0; 6];
        dice.iter().for_each(|d| faces[*d as usize - 1] += 1);
        assert!(plausible(chi_square(&faces), 6), "{faces:?}");
        let heads = coins.iter().sum::<i32>() as f64 / MANY as f64;
        assert!((heads - 0.1).abs() < 5.0 * (0.09 / MANY as f64).sqrt(), "{heads}");
    });
}

#[test]
fn normal_numbers_have_the_moments_and_the_distribution_of_normal_numbers() {
    let stream = Stream::new(7, 0);
    let check = |x: &[f64]| {
        let (mean, variance, skew, kurtosis) = moments(x.iter().map(|x| (x - 3.0) / 2.0));
        assert!(mean.abs() < 5.0 / (MANY as f64).sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 0.008 && skew.abs() < 0.015 && (kurtosis - 3.0).abs() < 0.03);
        // Through its own distribution function a normal number is uniform.
        let uniform =
            |x: f64| 0.5 * (1.0 + crate::math::Float::erf::<crate::level::PortableIsa>(x / 2f64.sqrt()));
        let mut bins = vec![0; 500];
        x.iter().for_each(|x| bins[((uniform((x - 3.0) / 2.0) * 500.0) as usize).min(499)] += 1);
        assert!(plausible(chi_square(&bins), 500), "{}", chi_square(&bins));
        // The two of a pair are independent.
        let together: f64 = x.chunks_exact(2).map(|p| (p[0] - 3.0) * (p[1] - 3.0) / 4.0).sum();
        assert!((together / (MANY / 2) as f64).abs() < 5.0 / (MANY as f64 / 2.0).sqrt());
        // The tails are there.
        assert!(x.iter().any(|x| (x - 3.0) / 2.0 > 4.2) && x.iter().any(|x| (x - 3.0) / 2.0 < -4.2));
    };
    here(|exec| {
        // SAFETY: there is room for the elements.
        unsafe {
            let narrow: Vec<f32> = drawn(MANY, |to| normal_f32(exec, stream, 3.0, 2.0, to, MANY));
            check(&narrow.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
            check(&drawn(MANY, |to| normal_f64(exec, stream, 3.0, 2.0, to, MANY)));
        }
    });
}

fn permuted(exec: &Exec<'_>, seed: u64, stream: u64, n: usize) -> Vec<i64> {
    // SAFETY: there is room for the elements.
    drawn(n, |to| unsafe { permutation(exec, Stream::new(seed, stream), to, n) })
}

#[test]
fn a_permutation_has_every_number_once_for_any_size() {
    here(|exec| {
        for n in (0..300).chain([1023, 1024, 1025, 65_535, 65_536, 65_537, 100_003, 1 << 18]) {
            let mut sorted = permuted(exec, 5, n as u64, n);
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..n as i64), "{n}");
        }
    });
}

#[test]
fn a_permutation_is_what_the_definition_says_on_every_level_and_thread_count() {
    for n in [1, 7, 256, 257, 5000] {
        let stream = Stream::new(0xfeed, 12);
        let h = (4..).find(|h| n <= 1 << (2 * h)).unwrap();
        let keys = [stream.block(0, 0), stream.block(1, 0)].concat();
        let step = |number: u32| {
            let (mut left, mut right) = (number >> h, number % (1 << h));
            for key in &keys {
                let t = (right ^ key).wrapping_mul(0xd251_1f53);
                let t = (t ^ (t >> 15)).wrapping_mul(0xcd9e_8d57);
                (left, right) = (right, left ^ (t >> (32 - h)));
            }
            left << h | right
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
        everywhere(|exec| {
            // SAFETY: there is room for the elements.
            let got = drawn(n, |to| unsafe { permutation::<i32>(exec, stream, to, n) });
            assert_eq!(got, want);
        });
    }
}

#[test]
fn every_order_of_a_few_numbers_comes_equally_often() {
    here(|exec| {
        for (n, orders) in [(2usize, 2usize), (3, 6), (4, 24), (5, 120)] {
            let mut counts = std::collections::HashMap::new();
            for stream in 0..60 * orders as u64 {
                *counts.entry(permuted(exec, 77, stream, n)).or_insert(0usize) += 1;
            }
            let counts: Vec<usize> = counts.into_values().collect();
            assert_eq!(counts.len(), orders);
            assert!(plausible(chi_square(&counts), orders), "{n}: {}", chi_square(&counts));
        }
    });
}

#[test]
fn every_number_comes_to_every_place_equally_often() {
    here(|exec| {
        for (n, draws) in [(10usize, 5000u64), (50, 4000), (256, 1500)] {
            let mut counts = vec![0; n * n];
            let mut rising = 0;
            for stream in 0..draws {
                let order = permuted(exec, stream ^ 0xabcd, stream, n);
                order
                    .iter()
                    .enumerate()
                    .for_each(|(place, number)| counts[place * n + *number as usize] += 1);
                rising += order.windows(2).filter(|w| w[0] < w[1]).count();
            }
            assert!(plausible(chi_square(&counts), n * n), "{n}: {}", chi_square(&counts));
            // Neighbours rise as often as they fall; the variance of the ascents of an order is (n + 1) / 12.
            let (want, deviation) =
                ((n - 1) as f64 / 2.0 * draws as f64, ((n + 1) as f64 / 12.0 * draws as f64).sqrt());
            assert!((rising as f64 - want).abs() < 5.0 * deviation, "{n}: {rising}");
        }
    });
}
