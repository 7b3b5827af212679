//! The free pieces of a pool's blocks: best fit, splitting, and joining of neighbours.

use std::collections::{BTreeMap, BTreeSet};

/// A stretch of one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) block: u32,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// Free pieces, by place (to join neighbours) and by size (to find the best fit).
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    by_place: BTreeMap<(u32, usize), usize>,
    by_size: BTreeSet<(usize, u32, usize)>,
}

impl Pieces {
    /// Adds a piece, joined with free neighbours.
    pub(crate) fn insert(&mut self, piece: Piece) {
        let Piece { block, mut offset, mut bytes } = piece;
        if let Some((&(b, before), &size)) = self.by_place.range(..(block, offset)).next_back()
            && b == block
            && before + size == offset
        {
            self.remove(block, before, size);
            offset = before;
            bytes += size;
        }
        if let Some(&size) = self.by_place.get(&(block, piece.offset + piece.bytes)) {
            self.remove(block, piece.offset + piece.bytes, size);
            bytes += size;
        }
        self.by_place.insert((block, offset), bytes);
        self.by_size.insert((bytes, block, offset));
    }

    /// Takes `bytes` from the smallest piece that holds them; the rest stays free.
    pub(crate) fn best_fit(&mut self, bytes: usize) -> Option<Piece> {
        let &(size, block, offset) = self.by_size.range((bytes, 0, 0)..).next()?;
        self.remove(block, offset, size);
        if size > bytes {
            self.by_place.insert((block, offset + bytes), size - bytes);
            self.by_size.insert((size - bytes, block, offset + bytes));
        }
        Some(Piece { block, offset, bytes })
    }

    /// Takes the smallest piece that holds `bytes` and is no larger than `most`, whole.
    pub(crate) fn whole_fit(&mut self, bytes: usize, most: usize) -> Option<Piece> {
        let &(size, block, offset) = self.by_size.range((bytes, 0, 0)..).next()?;
        if size > most {
            return None;
        }
        self.remove(block, offset, size);
        Some(Piece { block, offset, bytes: size })
    }

    /// Forgets every piece of a block that is going away.
    pub(crate) fn remove_block(&mut self, block: u32) {
        let held: Vec<_> =
            self.by_place.range((block, 0)..=(block, usize::MAX)).map(|(k, v)| (*k, *v)).collect();
        for ((block, offset), size) in held {
            self.remove(block, offset, size);
        }
    }

    /// Every piece, by place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Piece> + '_ {
        self.by_place.iter().map(|(&(block, offset), &bytes)| Piece { block, offset, bytes })
    }

    /// The size of the largest piece.
    pub(crate) fn largest(&self) -> usize {
        self.by_size.last().map_or(0, |p| p.0)
    }

    fn remove(&mut self, block: u32, offset: usize, bytes: usize) {
        self.by_place.remove(&(block, offset));
        self.by_size.remove(&(bytes, block, offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join_in_any_order_and_blocks_stay_apart() {
        let mut pieces = Pieces::default();
        for (block, offset) in [(0, 0), (0, 128), (1, 64), (0, 64)] {
            pieces.insert(Piece { block, offset, bytes: 64 });
        }
        assert_eq!(pieces.largest(), 192);
        assert_eq!(pieces.best_fit(64), Some(Piece { block: 1, offset: 64, bytes: 64 }));
        assert_eq!(pieces.best_fit(128), Some(Piece { block: 0, offset: 0, bytes: 128 }));
        assert_eq!(pieces.best_fit(128), None);
        pieces.remove_block(0);
        assert_eq!(pieces.largest(), 0);
    }
}
