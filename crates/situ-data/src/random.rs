//! Seeded random numbers for the order of elements and for augmentation.
//!
//! Counter-based: a number depends on the seed, the stream and how many were drawn before it, so an element's
//! numbers are its own, whichever thread works on it.

/// A source of random numbers.
///
/// ```
/// let mut rng = situ_data::Rng::new(7, 0);
/// let die = 1 + rng.below(6);
/// assert!((1..=6).contains(&die));
/// assert_eq!(situ_data::Rng::new(7, 0).below(6) + 1, die);
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    key: u64,
    drawn: u64,
}

pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits in which every input bit reaches every output bit (the finaliser of SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The epoch of a later pass within an epoch.
pub(crate) fn pass(epoch: u64, pass: u64) -> u64 {
    if pass == 0 { epoch } else { mix(epoch ^ mix(pass.wrapping_mul(STEP))) }
}

impl Rng {
    /// Stream number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Rng {
        Rng { key: mix(mix(seed.wrapping_add(STEP)) ^ stream.wrapping_mul(STEP)), drawn: 0 }
    }

    /// A number of 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.key.wrapping_add(self.drawn.wrapping_mul(STEP)))
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next_u64()) * limit as u128) >> 64) as usize
    }

    /// A number from 0 to below 1.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}
