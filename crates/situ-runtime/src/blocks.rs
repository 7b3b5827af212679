//! The blocks that a pool holds, and the free pieces in them.
//!
//! Blocks are of three classes, so that what lives long and is small does not keep what is large from going
//! back: blocks for small requests, blocks for larger ones, and blocks that hold one large request each. The
//! first two are cut into pieces and joined again; a block of the third goes as a whole to any request of at
//! least half its size.

use crate::pieces::{Piece, Pieces};
use situ_core::Reservation;
use situ_device::Block;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Blocks that are shared start at this size and grow with what their class holds, so that a small program
/// holds little.
pub(crate) const SMALLEST_BLOCK: usize = 1 << 20;
/// Requests up to this share blocks with their like.
const SMALL: usize = 128 << 10;
/// Requests above this get a block of their own, which can go back to the system whole.
const LARGE: usize = 16 << 20;
/// The largest block that small requests share: one of them that stays keeps no more than this.
const LARGEST_OF_SMALL: usize = 4 << 20;
/// The largest block that others share.
const LARGEST_SHARED: usize = 32 << 20;
/// A block of one request is taken again by one of at least this part of its size.
const REUSE: usize = 2;

/// What a block is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Many small requests.
    Small,
    /// Several requests of a middling size.
    Shared,
    /// One large request.
    Own,
}

impl Class {
    /// The class for a request of so many bytes.
    pub(crate) fn of(bytes: usize) -> Class {
        match bytes {
            ..=SMALL => Class::Small,
            _ if bytes <= LARGE => Class::Shared,
            _ => Class::Own,
        }
    }
}

/// One block, and how much of it is in use.
#[derive(Debug)]
struct HeldBlock {
    block: Arc<Block>,
    /// Given back with the block.
    _reservation: Reservation,
    class: Class,
    used: usize,
    idle_since: Instant,
}

/// The blocks of a pool.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    list: Vec<Option<HeldBlock>>,
    pieces: [Pieces; 3],
    held: [usize; 3],
    #[cfg(test)]
    added: usize,
}

impl Blocks {
    /// Bytes of all blocks.
    pub(crate) fn bytes(&self) -> usize {
        self.held.iter().sum()
    }

    /// The size of the next block for a request: what its class holds already, within bounds, so that blocks
    /// are few and the last of them is no more than what was there before. A block for one request has a
    /// little more than was asked for, so that a request that is a little larger finds it again.
    pub(crate) fn next_size(&self, class: Class, bytes: usize, most: usize) -> usize {
        let held = self.held[class as usize];
        let largest = match class {
            Class::Small => LARGEST_OF_SMALL,
            Class::Shared => LARGEST_SHARED,
            Class::Own => {
                let step = (bytes.checked_next_power_of_two().unwrap_or(bytes) >> 4).max(1);
                return bytes.checked_next_multiple_of(step).unwrap_or(bytes);
            }
        };
        let size = held.checked_next_power_of_two().unwrap_or(largest);
        bytes.max(size.clamp(SMALLEST_BLOCK, largest).min(most))
    }

    /// How many blocks were added so far.
    #[cfg(test)]
    pub(crate) fn added(&self) -> usize {
        self.added
    }

    /// Adds a block with nothing in it.
    pub(crate) fn add(&mut self, block: Block, class: Class, reservation: Reservation) {
        #[cfg(test)]
        {
            self.added += 1;
        }
        let bytes = block.bytes();
        let index = self.list.iter().position(Option::is_none).unwrap_or_else(|| {
            self.list.push(None);
            self.list.len() - 1
        });
        let (block, idle_since) = (Arc::new(block), Instant::now());
        self.list[index] = Some(HeldBlock { block, _reservation: reservation, class, used: 0, idle_since });
        self.held[class as usize] += bytes;
        self.pieces[class as usize].insert(Piece { block: index as u32, offset: 0, bytes });
    }

    /// A free piece of a class's blocks for a request of that class.
    pub(crate) fn find(&mut self, class: Class, bytes: usize) -> Option<Piece> {
        let pieces = &mut self.pieces[class as usize];
        match class {
            Class::Small | Class::Shared => pieces.best_fit(bytes),
            Class::Own => {
                let whole = pieces.whole_fit(bytes, bytes.saturating_mul(REUSE))?;
                Some(Piece { bytes, ..whole })
            }
        }
    }

    /// A free piece of any block that can be cut.
    pub(crate) fn find_anywhere(&mut self, bytes: usize) -> Option<Piece> {
        [Class::Small, Class::Shared]
            .into_iter()
            .find_map(|class| self.pieces[class as usize].best_fit(bytes))
    }

    /// Books a piece as in use; gives its block.
    pub(crate) fn take(&mut self, piece: Piece) -> Arc<Block> {
        let held = self.list[piece.block as usize].as_mut().expect("a free piece lies in a held block");
        held.used += piece.bytes;
        held.block.clone()
    }

    /// Books a piece as no longer in use: true if its block holds nothing any more. The piece is not free to
    /// be found yet.
    pub(crate) fn release(&mut self, block: u32, bytes: usize) -> bool {
        let Some(held) = &mut self.list[block as usize] else { return false };
        held.used -= bytes;
        // The clock is read only when a block has just become empty: most frees do not pay for it.
        if held.used == 0 {
            held.idle_since = Instant::now();
        }
        held.used == 0
    }

    /// A piece that was released can be found again.
    pub(crate) fn insert(&mut self, piece: Piece) {
        let Some(held) = &self.list[piece.block as usize] else { return };
        let piece = match held.class {
            Class::Own => Piece { bytes: held.block.bytes(), ..piece },
            Class::Small | Class::Shared => piece,
        };
        self.pieces[held.class as usize].insert(piece);
    }

    /// Whether a block has held nothing for so long.
    pub(crate) fn has_idle(&self, long: Duration) -> bool {
        self.list.iter().flatten().any(|b| b.used == 0 && b.idle_since.elapsed() >= long)
    }

    /// Gives back blocks that have held nothing for so long. No piece of them may be kept elsewhere.
    pub(crate) fn give_back_idle(&mut self, long: Duration) {
        for index in 0..self.list.len() {
            if self.list[index].as_ref().is_some_and(|b| b.used == 0 && b.idle_since.elapsed() >= long) {
                self.remove(index);
            }
        }
    }

    /// Gives back blocks that hold nothing, those first that have held nothing for longest, until `bytes`
    /// have gone back or there is none left. No piece of them may be kept elsewhere.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        let mut empty: Vec<(Instant, usize)> = Vec::new();
        for (index, held) in self.list.iter().enumerate() {
            empty.extend(held.as_ref().filter(|b| b.used == 0).map(|b| (b.idle_since, index)));
        }
        empty.sort_unstable();
        let mut gone = 0;
        for (_, index) in empty {
            if gone >= bytes {
                break;
            }
            gone += self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) -> usize {
        let Some(held) = self.list[index].take() else { return 0 };
        let bytes = held.block.bytes();
        self.pieces[held.class as usize].remove_block(index as u32);
        self.held[held.class as usize] -= bytes;
        bytes
    }

    /// Bytes of blocks that hold nothing.
    pub(crate) fn empty_bytes(&self) -> usize {
        self.list.iter().flatten().filter(|b| b.used == 0).map(|b| b.block.bytes()).sum()
    }

    /// The sizes of the free pieces; `in_empty`: those of blocks that hold nothing too.
    pub(crate) fn free_pieces(&self, in_empty: bool) -> impl Iterator<Item = usize> + '_ {
        let counts = move |p: &Piece| {
            in_empty || self.list[p.block as usize].as_ref().is_some_and(|block| block.used > 0)
        };
        self.pieces.iter().flat_map(Pieces::iter).filter(counts).map(|p| p.bytes)
    }

    /// The largest free piece.
    pub(crate) fn largest_free(&self) -> usize {
        self.pieces.iter().map(Pieces::largest).max().unwrap_or(0)
    }
}
