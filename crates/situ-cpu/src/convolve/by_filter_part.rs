//! What a task of the gradient by the filters does: elements of windows, broadcast from a copy of the images
//! with the zeros around, are the rows of its tiles; filters, side by side for each pixel, are the columns.

use super::blocks;
use super::by_filter::{ByFilter, filled_up};
use super::by_filter_cuts::Piece;
use super::region::Region;
use super::store_rows::StoreRows;
use super::tile::{MOST_COLUMN_BYTES, MOST_ROWS, Number, Tile};
use super::transpose_block::TransposeBlock;
use super::windows::Windows;
use crate::level::Level;
use crate::scratch::with_scratch;
use std::ops::Range;

/// Some elements of the windows and some filters, over the pixels of a part.
pub(super) struct Task<'a, T> {
    pub(super) of: &'a ByFilter<T>,
    pub(super) level: Level,
    pub(super) elements: [Range<usize>; 2],
    pub(super) channels: Range<usize>,
    pub(super) filters: Range<usize>,
    pub(super) group: usize,
    pub(super) part: usize,
}

impl<T: Number> Task<'_, T> {
    /// Adds the products of a piece's pixels to the task's sums, or puts them there.
    ///
    /// # Safety
    /// As [`by_filter`](super::by_filter()).
    pub(super) unsafe fn add_piece(&self, piece: &Piece, add: bool) {
        let (of, tiles) = (self.of, T::tiles(self.level));
        let nowhere = Windows { axes: of.axes, filter: (0, [0; 2]), target: (0, [0; 2]) };
        let bounds = blocks::bounds(&[nowhere], &piece.places, &self.elements);
        let region = Region::new(bounds, self.channels.len(), of.last, size_of::<T>());
        let [by_image, strides @ ..] = of.image_strides;
        // Channels side by side are read where they are, if no zeros are around them.
        let in_place = of.last && region.is_within(of.size);
        let (start, region) = match in_place {
            true => (region.origin, region.in_place(strides)),
            false => ([0; 2], region),
        };
        let apart = if in_place { by_image } else { region.len };
        let count = piece.images.len() * piece.places[0].len() * piece.places[1].len();
        let line = 64 / size_of::<T>();
        let table_len = (count * size_of::<isize>()).div_ceil(size_of::<T>()).next_multiple_of(line);
        let tile_len = MOST_ROWS * MOST_COLUMN_BYTES / size_of::<T>();
        let panel_len = count * filled_up::<T>(self.filters.len());
        let room = table_len + tile_len + panel_len + piece.images.len() * region.len;
        with_scratch::<T, _>(room, |memory| {
            let table = memory.as_mut_ptr().cast::<isize>();
            // SAFETY: the four parts are within the scratch memory; images, channels and pixels are among
            // those the caller promises.
            unsafe {
                let tile = memory.as_mut_ptr().cast::<T>().add(table_len);
                let panels = tile.add(tile_len);
                let copied = panels.add(panel_len);
                let first = self.group * of.taken + self.channels.start;
                let mut k = 0;
                let images = of.images.add(piece.images.start * by_image + first * strides[0]);
                for n in 0..piece.images.len() {
                    if !in_place {
                        let image = images.add(n * by_image);
                        region.fill(self.level, image, of.size, strides, copied.add(n * region.len));
                    }
                    for y in 0..piece.places[0].len() {
                        for x in 0..piece.places[1].len() {
                            let [y, x] = [(y, 0), (x, 1)].map(|(at, axis)| at as isize * of.axes[axis].step);
                            let at = (n * apart) as isize
                                + y * region.strides[1] as isize
                                + x * region.strides[2] as isize;
                            table.add(k).write(at * size_of::<T>() as isize);
                            k += 1;
                        }
                    }
                }
                let from = if in_place { images.offset(region.at(start)) } else { copied.cast_const() };
                let wide = tiles.columns();
                for filter in self.filters.clone().step_by(wide) {
                    let made = wide.min(self.filters.end - filter);
                    let columns = made.next_multiple_of(tiles.lanes);
                    let panel = panels.add(count * (filter - self.filters.start));
                    self.lay_panel(piece, filter, [made, columns], panel);
                    let tile = Tile {
                        rows: [std::ptr::null(); 2],
                        distance: 0,
                        table,
                        depth: count,
                        panel,
                        out: tile,
                        out_distance: columns * size_of::<T>(),
                        more: 0,
                    };
                    self.tiles(tile, &region, from, [filter, columns], add);
                }
            }
        });
    }

    /// Lays the gradients of a piece's pixels by some filters side by side: `columns` for each pixel, zeros
    /// behind `made`.
    ///
    /// # Safety
    /// As [`Task::add_piece`]; `to` can be written.
    unsafe fn lay_panel(&self, piece: &Piece, filter: usize, [made, columns]: [usize; 2], to: *mut T) {
        let of = self.of;
        let [by_image, by_channel, by_row, by_column] = of.upstream_strides;
        let [rows, across] = &piece.places;
        // Lines that follow each other in memory are one.
        let whole = across.len() * by_column == by_row;
        let lines = if whole { 1 } else { rows.len() };
        let width = if whole { rows.len() * across.len() } else { across.len() };
        let mut to = to;
        for image in piece.images.clone() {
            for line in 0..lines {
                let at = image * by_image
                    + (self.group * of.made + filter) * by_channel
                    + (rows.start + line) * by_row
                    + across.start * by_column;
                // SAFETY: the pixels and filters are among the gradient's; the panel has room for all of
                // them.
                unsafe {
                    let from = of.upstream.add(at);
                    if columns > made {
                        for pixel in 0..width {
                            (made..columns).for_each(|i| *to.add(pixel * columns + i) = T::default());
                        }
                    }
                    if by_channel == 1 {
                        let store = StoreRows {
                            from,
                            distance: by_column,
                            rows: width,
                            columns: made,
                            to,
                            row_step: columns,
                            column_step: 1,
                            add: false,
                        };
                        store.run(self.level);
                    } else {
                        let transpose = TransposeBlock {
                            from,
                            distance: by_channel,
                            rows: made,
                            columns: width,
                            to,
                            along: 1,
                            across: columns,
                            add: false,
                        };
                        transpose.run(self.level);
                    }
                    to = to.add(width * columns);
                }
            }
        }
    }

    /// All tiles of a panel.
    ///
    /// # Safety
    /// As [`Task::add_piece`]; all of the tile but its rows is as it should be.
    unsafe fn tiles(
        &self,
        tile: Tile<T>,
        region: &Region,
        from: *const T,
        [filter, columns]: [usize; 2],
        add: bool,
    ) {
        let (of, tiles) = (self.of, T::tiles(self.level));
        let (depth, window) = (of.taken * of.window(), of.window());
        let [down, across] = &self.elements;
        let [by_channel, by_row, by_column] = region.strides.map(|s| s as isize);
        let steps = [by_row * of.axes[0].dilation, by_column * of.axes[1].dilation];
        // Rows of a tile are channels, or else elements of a window that are beside each other, whichever are
        // more.
        let along = self.channels.len() >= tiles.rows() / 2 || self.channels.len() >= across.len();
        let (run, distance, apart) =
            if along { (self.channels.len(), by_channel, window) } else { (across.len(), steps[1], 1) };
        let lines = down.len() * if along { across.len() } else { self.channels.len() };
        // Where the first element of a line is read, and its number among all elements.
        let line = |n: usize| {
            let (y, rest) = (n % down.len(), n / down.len());
            let (channel, x) = if along { (0, rest) } else { (rest, 0) };
            let at = channel as isize * by_channel + y as isize * steps[0] + x as isize * steps[1];
            let element = (down.start + y) * of.axes[1].window + across.start + x;
            (from.wrapping_offset(at), (self.channels.start + channel) * window + element)
        };
        let part = self.part * of.sums() + self.group * depth * filled_up::<T>(of.made) + depth * filter;
        let pairs = 2 * run <= tiles.rows();
        for n in (0..lines).step_by(if pairs { 2 } else { 1 }) {
            let pair = pairs && n + 1 < lines;
            let (start, row) = line(n);
            blocks::cut(run, tiles.rows(), |first, count| {
                let from = start.wrapping_offset(first as isize * distance);
                let middle = if pair {
                    line(n + 1).0
                } else {
                    from.wrapping_offset(count.div_ceil(2) as isize * distance)
                };
                let tile =
                    Tile { rows: [from, middle], distance: distance * size_of::<T>() as isize, ..tile };
                let height = if pair { 2 * count } else { count };
                // SAFETY: the region covers the elements of the windows at all pixels; the sums are the
                // task's own.
                unsafe {
                    tiles.by_size[height - 1][columns / tiles.lanes - 1](&tile);
                    let store = |line: usize, row: usize| StoreRows {
                        from: tile.out.cast_const().add(line * count * columns),
                        distance: columns,
                        rows: count,
                        columns,
                        to: of.memory.add(part + (row + first * apart) * columns),
                        row_step: apart * columns,
                        column_step: 1,
                        add,
                    };
                    store(0, row).run(self.level);
                    if pair {
                        store(1, line(n + 1).1).run(self.level);
                    }
                }
            });
        }
    }
}
