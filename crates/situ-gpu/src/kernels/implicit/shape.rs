//! How a workgroup makes its part of a product.

use super::{Counters, Product};
use crate::borders::Borders;

/// Rows and columns of a workgroup: so many invocations along each, and so many of each for an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Invocations along rows and along columns.
    pub(super) lanes: [usize; 2],
    /// Rows and columns of one invocation.
    pub(super) block: [usize; 2],
    /// Whether both sides go through workgroup memory.
    pub(super) shared: bool,
    pub(super) order: Order,
}

/// Which way neighbouring invocations go, so that they read and write neighbouring words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Order {
    /// Along steps rather than rows, where images are read.
    pub(super) gather_steps: bool,
    /// Along steps rather than columns, where the other side is read.
    pub(super) other_steps: bool,
    /// Along columns rather than rows, where results are written.
    pub(super) result_columns: bool,
}

/// Invocations of a workgroup whose tiles are shared; every adapter allows as many.
pub(super) const TEAM: usize = 256;
/// Steps of a tile. The largest tiles and what is known of their rows then fit the 16 KiB of workgroup memory
/// that every adapter has.
pub(super) const DEPTH: usize = 16;

/// Shared tiles as lanes and block; all of [`TEAM`] invocations.
const TILES: [([usize; 2], [usize; 2]); 6] = [
    ([16, 16], [4, 4]),
    ([32, 8], [4, 4]),
    ([8, 32], [4, 4]),
    ([32, 8], [4, 1]),
    ([16, 16], [2, 2]),
    ([16, 16], [1, 1]),
];
/// With fewer columns, a shared tile would mostly be empty.
const FEW_COLUMNS: usize = 4;
/// Tiles that are worked on at once, at least, by a device that is worth the name.
const AT_ONCE: usize = 16;
/// Invocations of a workgroup that shares nothing.
const ALONE: usize = 64;

/// How many words side by side the fastest counter leads through.
fn dense(counters: &Counters) -> usize {
    counters.sizes[2] / (counters.adds[2][0].unsigned_abs() as usize).max(1)
}

impl Shape {
    pub(super) fn choose(product: &Product, borders: &Borders) -> Shape {
        let order = Order {
            gather_steps: dense(&product.inner) > dense(&product.rows),
            other_steps: product.inner.adds[2][3] == 1,
            result_columns: product.column_strides[1] == 1,
        };
        let shared = !borders.software && product.columns >= FEW_COLUMNS;
        if !shared {
            return Shape::direct(product, order, borders);
        }
        let of = |(lanes, block)| Shape { lanes, block, shared, order };
        let best = TILES.iter().copied().map(of).min_by_key(|shape| shape.cost(product));
        best.unwrap_or(of(TILES[0]))
    }

    fn direct(product: &Product, order: Order, borders: &Borders) -> Shape {
        let (rows, columns) = (product.rows.count(), product.columns);
        // Software loads one element at a time, whichever way they lie: the more products a load is for, the
        // better.
        let most = if borders.software { 8 } else { 4 };
        // As few loads as possible: a block loads its rows and its columns, of which there are about as many
        // as can be; invocations without rows take as long as others.
        let wide = (1..=most)
            .min_by_key(|wide| (columns.max(1).div_ceil(*wide) * (wide + most), most - wide))
            .unwrap_or(1);
        let across = columns.div_ceil(wide).next_power_of_two().min(8);
        let lanes = |high: usize| rows.max(1).div_ceil(high).next_power_of_two().clamp(1, ALONE / across);
        let high = (1..=most)
            .min_by_key(|high| {
                let all = rows.max(1).div_ceil(*high).next_multiple_of(lanes(*high));
                (all * (high + wide), most - high)
            })
            .unwrap_or(1);
        Shape { lanes: [lanes(high), across], block: [high, wide], shared: false, order }
    }

    /// What one step of the whole product takes, for comparison: the products, loads from workgroup memory
    /// for them, and loads of tiles.
    fn cost(&self, product: &Product) -> usize {
        let [rows, columns] = self.size();
        let [down, across] = self.block;
        let loads = TEAM * (down + across);
        let tile = rows * columns + loads + 8 * (rows + columns);
        self.groups(product).div_ceil(AT_ONCE) * tile
    }

    /// Rows and columns of a workgroup.
    pub(super) fn size(&self) -> [usize; 2] {
        [self.lanes[0] * self.block[0], self.lanes[1] * self.block[1]]
    }

    pub(super) fn invocations(&self) -> usize {
        self.lanes[0] * self.lanes[1]
    }

    /// Workgroups of one part.
    pub(super) fn groups(&self, product: &Product) -> usize {
        let [rows, columns] = self.size();
        product.rows.count().div_ceil(rows) * product.columns.div_ceil(columns) * product.groups
    }
}
