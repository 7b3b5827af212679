//! Changes to inputs: bits, bytes, numbers, pieces doubled, dropped and taken from elsewhere.

/// Makes inputs out of inputs; the same seed makes the same.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
}

/// Numbers at the edges of what fields hold, and texts that parsers treat apart.
const PIECES: [&[u8]; 20] = [
    b"0",
    b"-1",
    b"1e308",
    b"1e-320",
    b"18446744073709551615",
    b"9223372036854775808",
    b"4294967296",
    b"NaN",
    b"inf",
    b"null",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\"",
    b",",
    b"\n",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\\u001b",
];

impl Mutator {
    /// A mutator by its seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 11) % bound.max(1) as u64) as usize
    }

    /// One of the seeds, changed in one to eight places.
    pub fn change(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..1 + self.below(8) {
            let at = self.below(bytes.len() + 1);
            let end = at + self.below(bytes.len() - at + 1).min(64);
            match self.below(8) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                4 | 5 => {
                    let piece = PIECES[self.below(PIECES.len())];
                    bytes.splice(at..(at + self.below(4)).min(bytes.len()), piece.iter().copied());
                }
                6 => bytes.truncate(at),
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    let to = from + self.below(other.len() - from + 1).min(256);
                    bytes.splice(at..end, other[from..to].iter().copied());
                }
            }
        }
        bytes
    }
}
