//! What a dataset can be told by: so that training which was stopped within an epoch does not go on in the
//! middle of another's.
//!
//! A number of the stages, their arguments and the tensors at their start, of which some rows are looked at.
//! What closures and generators make is not looked at, and where the work is done (threads, devices, what is
//! made ahead or kept) does not count. It is the same in every process and on every machine.

use crate::random::{STEP, mix};

/// How many rows of a tensor are looked at, and how many words of each.
const ROWS: usize = 64;
const WORDS: usize = 512;

/// A number that grows from what is added to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn number(&mut self, number: u64) {
        self.0 = mix(self.0.wrapping_add(STEP) ^ mix(number));
    }

    pub(crate) fn size(&mut self, size: usize) {
        self.number(size as u64);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// The length of some bytes, and those at places spread over them.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.size(bytes.len());
        let words = bytes.len().div_ceil(8);
        for word in spread(words, WORDS) {
            let word = &bytes[word * 8..bytes.len().min(word * 8 + 8)];
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            self.number(u64::from_le_bytes(whole));
        }
    }

    /// The rows of a tensor that are looked at, of so many.
    pub(crate) fn rows(count: usize) -> impl Iterator<Item = usize> {
        spread(count, ROWS)
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// Up to `most` of the numbers below `count`: all, or the first, the last and some between.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |n| match taken {
        0 | 1 => 0,
        _ => (n as u128 * (count - 1) as u128 / (taken - 1) as u128) as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_at_has_both_ends_and_no_place_twice() {
        for (count, most) in [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 64), (usize::MAX, 64)] {
            let places: Vec<usize> = spread(count, most).collect();
            assert_eq!(places.len(), count.min(most));
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(count == 0 || (places[0] == 0 && places[places.len() - 1] == count - 1));
        }
    }
}
