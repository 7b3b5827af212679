//! The numbers from 0 to n − 1 in random order, each computed from its position alone: a keyed Feistel
//! network with cycle walking.
//!
//! P permutes the numbers below 2^(2h), where h is the least from 4 on with n ≤ 2^(2h). Its [`ROUNDS`] keys
//! are the words of blocks 0 and 1 of the stream, in order. With `left` and `right` the high and the low h
//! bits, a round with key k is
//! ```text
//! t = (right ^ k) · 0xD2511F53;  t = (t ^ (t >> 15)) · 0xCD9E8D57        wrapping, in 32 bits
//! (left, right) ← (right, left ^ (t >> (32 − h)))
//! ```
//! Since P is a permutation, walking on from a number below n until the next one below n is a permutation of
//! those.

use super::philox::Stream;
use crate::exec::{Exec, Shared};
use crate::multiversion;

/// Rounds of the network.
pub const ROUNDS: usize = 8;

/// Elements of a task. They are walked together, so that a round is vector code.
const TASK: usize = 1024;

/// A dtype that a permutation comes in.
pub trait Position: Copy + Send + Sync + 'static {
    /// The number, which is below 2^31.
    fn of(number: u32) -> Self;
}
impl Position for i32 {
    fn of(number: u32) -> i32 {
        number as i32
    }
}
impl Position for i64 {
    fn of(number: u32) -> i64 {
        i64::from(number)
    }
}

/// P, for one n.
#[derive(Clone, Copy, Debug)]
struct Network {
    half_bits: u32,
    keys: [u32; ROUNDS],
}

impl Network {
    fn new(stream: Stream, n: usize) -> Network {
        let mut half_bits = 4;
        while n > 1 << (2 * half_bits) {
            half_bits += 1;
        }
        let mut keys = [0; ROUNDS];
        for (block, keys) in keys.chunks_mut(4).enumerate() {
            keys.copy_from_slice(&stream.block(block as u32, 0)[..keys.len()]);
        }
        Network { half_bits, keys }
    }

    #[inline(always)]
    fn next(&self, number: u32) -> u32 {
        let mask = (1u32 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            let t = (right ^ key).wrapping_mul(0xd251_1f53);
            let t = (t ^ (t >> 15)).wrapping_mul(0xcd9e_8d57);
            (left, right) = (right, left ^ (t >> (32 - self.half_bits)));
        }
        left << self.half_bits | right
    }
}

multiversion! {
    fn step[I](network: Network, numbers: &mut [u32]) {
        for number in numbers {
            *number = network.next(*number);
        }
    }
}

/// Writes the numbers from 0 to `n` − 1 in the order of the stream. `n` is at most 2^31.
///
/// # Safety
/// `to` is writable for `n` elements, aligned.
pub unsafe fn permutation<T: Position>(exec: &Exec<'_>, stream: Stream, to: *mut T, n: usize) {
    let network = Network::new(stream, n);
    let to = Shared(to);
    exec.for_ranges(n, TASK, |first, last| {
        // The numbers still walking, and the elements they walk for.
        let mut numbers = [0u32; TASK];
        let mut elements = [0u32; TASK];
        let mut walking = last - first;
        for i in 0..walking {
            numbers[i] = (first + i) as u32;
            elements[i] = numbers[i];
        }
        while walking > 0 {
            step(exec.level, network, &mut numbers[..walking]);
            // Without a branch, which would be guessed wrong too often: a number that walks on is written all
            // the same, and again later.
            let mut still = 0;
            for i in 0..walking {
                let (number, element) = (numbers[i], elements[i]);
                // SAFETY: the element is one of this task's, which is below `n`.
                unsafe { to.get().add(element as usize).write(T::of(number)) };
                (numbers[still], elements[still]) = (number, element);
                still += usize::from(number as usize >= n);
            }
            walking = still;
        }
    });
}
