//! Random tensors from a counter: every element is computed from the seed, the stream and its own position
//! alone, so the same numbers come out on any device, level and number of threads. This page is the
//! definition that other devices follow.
//!
//! # Words
//! Philox 4×32 with 10 rounds. Key `(k0, k1)` = (low, high) half of the seed. Counter `(c0, c1, c2, c3)` =
//! (low half of the block number, high half, low half of the stream, high half). A round, with `hi` and `lo`
//! the halves of the 64-bit product:
//! ```text
//! (c0, c1, c2, c3) ← (hi(0xCD9E8D57·c2) ^ c1 ^ k0, lo(0xCD9E8D57·c2),
//!                     hi(0xD2511F53·c0) ^ c3 ^ k1, lo(0xD2511F53·c0))
//! (k0, k1) ← (k0 + 0x9E3779B9, k1 + 0xBB67AE85)          wrapping; not after the last round
//! ```
//! Block b is the counter after 10 rounds: four words w0 to w3.
//!
//! # Elements
//! Element numbers are row-major. All f32 arithmetic below is single operations in the order written, each
//! rounded to f32, none fused.
//!
//! - **uniform f32**, `low` to below `high`: element i takes word x = w(i mod 4) of block i/4.
//!   `u = f32(x >> 8) · 2^-24`, exact; the result is `min(f32(low) + u · span, top)`, where
//!   `span = f32(high − low)`, the difference in f64, and `top` is the largest f32 below `f32(high)`, but at
//!   least `f32(low)`.
//! - **uniform f64**: element i takes words a = w(2·(i mod 2)) and b = w(2·(i mod 2) + 1) of block i/2.
//!   `u = ((a >> 5) · 2^26 + (b >> 6)) · 2^-53`, exact; then as above in f64.
//! - **uniform i32, i64**: element i takes word x = w(i mod 4) of block i/4: `low + hi(x · range)`, where
//!   `range = high − low`; if that is 2^32, `low + x`. (A value's probability is off by at most 2^-32.)
//! - **bernoulli**, any dtype: element i takes word x = w(i mod 4) of block i/4, and is 1 (true) where
//!   `x < floor(p · 2^32)`; for p = 1 always.
//! - **normal f32**: a pair of elements from a pair of words. Elements 4b and 4b+1 take (x, y) = (w0, w1) of
//!   block b, and elements 4b+2 and 4b+3 take (w2, w3). The even element is `mean + (r · cos θ) · deviation`,
//!   the odd one `mean + (r · sin θ) · deviation`:
//!   - `n = max(x, 1)` with only its highest 24 significant bits kept: `s = n >> 24; s |= s >> 1; s |= s >>
//!     2; s |= s >> 4; n &= ~s`. So `f32(n)` is exact, and u = n · 2^-32 is never 0 nor 1.
//!   - `r = sqrt(−2 · log u)`, with the logarithm as in [`normal`].
//!   - θ = (q + t) quarter turns, q = y >> 30, `t = (f32(i32((y >> 6) & 0xFFFFFF) − 2^23) + 0.5) · 2^-24`,
//!     exact, between −½ and ½; sine and cosine of t quarter turns as in [`normal`], then (cos θ, sin θ) =
//!     (c, s), (−s, c), (−c, −s), (s, −c) for q = 0, 1, 2, 3.
//!
//!   A device without exact square roots and division agrees within 1e-5 of the deviation, not to the bit.
//! - **normal f64**: elements 2b and 2b+1 take all of block b:
//!   `u = ((w0 >> 6) · 2^26 + (w1 >> 6) + ½) · 2^-52`; q = w2 >> 30, `t = (((w2 & 0x3FFFFFFF) >> 4) · 2^26 +
//!   (w3 >> 6) − 2^51 + ½) · 2^-52`; then as above in f64.
//! - **permutation** of n: element i is the first number below n in the walk P(i), P(P(i)), …, with P as in
//!   [`mod@permutation`].
//!
//! Leaves to others: choosing seeds, and counting streams.

pub mod normal;
pub mod permutation;
mod philox;
mod uniform;

pub use normal::{normal_f32, normal_f64};
pub use permutation::permutation;
pub use philox::Stream;
pub use uniform::{bernoulli, uniform_f32, uniform_f64, uniform_up_to, uniform_whole};

#[cfg(test)]
mod tests;
