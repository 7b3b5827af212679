//! What a task of a correlation does: it copies the part of an image under its windows with the zeros around,
//! and multiplies pixels with panels of filters straight from there. A table says where the elements of a
//! window are.

use super::blocks::{self, Block};
use super::correlate::Correlation;
use super::few::{self, Line};
use super::filters::Panels;
use super::on_image::{OnImage, STEPS};
use super::region::Region;
use super::store_rows::StoreRows;
use super::tile::{MOST_COLUMN_BYTES, MOST_ROWS, Number, Tile};
use super::windows::Windows;
use crate::level::Level;
use crate::scratch::with_scratch;
use std::ops::Range;

/// Bytes of panels that are read again for every tile of pixels, at most: they stay in the second-level
/// cache.
const PANEL_BYTES: usize = 512 << 10;

/// Some rows of an image of results, and a group's channels of it.
pub(super) struct Task<'a, T> {
    pub(super) of: &'a Correlation<'a, T>,
    pub(super) level: Level,
    pub(super) image: usize,
    pub(super) group: usize,
    pub(super) places: [Range<usize>; 2],
    /// Whether all filters are finite, so that zeros around the image add nothing.
    pub(super) finite: bool,
}

impl<T: Number> Task<'_, T> {
    /// Multiplies a block's channels and elements of the windows, and puts the results in place or adds them
    /// to those before.
    ///
    /// # Safety
    /// As [`correlate`](super::correlate()); the region covers what the windows read.
    pub(super) unsafe fn multiply(
        &self,
        windows: &[Windows],
        block: &Block,
        region: &Region,
        panels: impl Fn(usize) -> Panels,
        add: bool,
    ) {
        let of = self.of;
        let [by_image, strides @ ..] = of.image_strides;
        let first = self.group * of.taken + block.channels.start;
        let in_place = !of.is_few(self.level)
            && (of.elements() == 1 && region.is_within(of.size) || self.passes_over_all(windows, block));
        let region = &if in_place { region.in_place(strides) } else { *region };
        let depth = windows.iter().map(|w| block.depth(w)).max().unwrap_or(0);
        let table_len =
            (depth * size_of::<isize>()).div_ceil(size_of::<T>()).next_multiple_of(64 / size_of::<T>());
        let tile_len = MOST_ROWS * MOST_COLUMN_BYTES / size_of::<T>();
        with_scratch::<T, _>(table_len + tile_len + region.len, |memory| {
            let table = memory.as_mut_ptr().cast::<isize>();
            // SAFETY: the three parts are within the scratch memory; the image's channels are those of the
            // group.
            unsafe {
                let tile = memory.as_mut_ptr().cast::<T>().add(table_len);
                let copied = tile.add(tile_len);
                let image = of.images.add(self.image * by_image + first * strides[0]);
                let copied = if in_place {
                    image
                } else {
                    region.fill(self.level, image, of.size, strides, copied);
                    copied.cast_const()
                };
                for (kind, windows) in windows.iter().enumerate() {
                    let (panels, mut k) = (panels(kind), 0);
                    block.each(windows, |channel, element| {
                        let [y, x] = [0, 1].map(|n| element[n] as isize * windows.axes[n].dilation);
                        let at = channel as isize * region.strides[0] as isize + region.distance([y, x]);
                        let at = at * size_of::<T>() as isize;
                        table.add(k).write(at);
                        k += 1;
                    });
                    debug_assert_eq!(panels.depth, k);
                    if of.is_few(self.level) {
                        self.lines(windows, region, copied, table, panels, add);
                    } else {
                        self.tiles(windows, block, region, [copied, tile], table, panels, add);
                    }
                }
            }
        });
    }

    /// Whether nothing beside the image is ever read and pixels lie as they are needed, so that no copy is.
    fn passes_over_all(&self, windows: &[Windows], block: &Block) -> bool {
        let short = |w: &Windows| 2 * self.places_of(w)[1].len() <= T::tiles(self.level).rows();
        self.finite && self.of.is_last() && block.channels.len() >= STEPS && !windows.iter().any(short)
    }

    /// All lines of one kind of windows, for few filters.
    ///
    /// # Safety
    /// As [`Task::multiply`]; the table has the panels' depth.
    unsafe fn lines(
        &self,
        windows: &Windows,
        region: &Region,
        copied: *const T,
        table: *const isize,
        panels: Panels,
        add: bool,
    ) {
        let of = self.of;
        let [rows, columns] = self.places_of(windows);
        let [down, across] = windows.axes;
        let (start, [by_row, by_column]) = windows.target;
        let [by_image, by_channel] = of.out_strides;
        let out = of.out.wrapping_add(self.image * by_image + self.group * of.made * by_channel + start);
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        let (y, x) = (rows.start, columns.start);
        let position = [y as isize * down.step + down.offset, x as isize * across.step + across.offset];
        let at_once = few::at_once(self.level);
        for filter in (0..of.made).step_by(at_once) {
            let line = Line {
                from: copied.wrapping_offset(region.at(position)),
                table,
                depth: panels.depth,
                // SAFETY: the panel was packed.
                weights: unsafe { of.memory.cast_const().add(panels.start + panels.depth * filter) },
                filters: at_once.min(of.made - filter),
                out: out.wrapping_add(filter * by_channel + y * by_row + x * by_column),
                count: columns.len(),
                along: by_column,
                by_filter: by_channel,
                add,
                lines: rows.len(),
                by_line: [down.step as usize * region.strides[1], by_row],
            };
            // SAFETY: the region covers every element of the windows at these places, and has slack behind
            // it.
            unsafe { T::line(self.level, &line) };
        }
    }

    /// The task's places that windows of a kind have.
    fn places_of(&self, windows: &Windows) -> [Range<usize>; 2] {
        [0, 1].map(|n| {
            let Range { start, end } = self.places[n];
            start..end.min(windows.axes[n].places)
        })
    }

    /// All tiles of one kind of windows.
    ///
    /// # Safety
    /// As [`Task::multiply`]; the table has the panels' depth, column by column of the windows.
    unsafe fn tiles(
        &self,
        windows: &Windows,
        block: &Block,
        region: &Region,
        [copied, buffer]: [*const T; 2],
        table: *const isize,
        panels: Panels,
        add: bool,
    ) {
        let (of, tiles) = (self.of, T::tiles(self.level));
        let [rows, columns] = self.places_of(windows);
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        let (bytes, wide) = (size_of::<T>(), tiles.columns());
        let [down, across] = windows.axes;
        let distance = across.step * region.strides[2] as isize;
        let at = |y: usize, x: usize| {
            let position = [y as isize * down.step + down.offset, x as isize * across.step + across.offset];
            copied.wrapping_offset(region.at(position))
        };
        let (start, [by_row, by_column]) = windows.target;
        let [by_image, by_channel] = of.out_strides;
        let out = of.out.wrapping_add(self.image * by_image + self.group * of.made * by_channel + start);
        let elements = [0, 1].map(|n| block.within(windows, n));
        let over = OnImage { axes: windows.axes, size: of.size, elements, channels: block.channels.len() };
        // Two short rows make one tile.
        let pairs = 2 * columns.len() <= tiles.rows();
        let at_once = (PANEL_BYTES / (panels.depth * wide * bytes).max(1)).max(1) * wide;
        for from in (0..of.made).step_by(at_once) {
            let filters = from..of.made.min(from + at_once);
            for y in rows.clone().step_by(if pairs { 2 } else { 1 }) {
                let pair = pairs && y + 1 < rows.end;
                let lines = over.down(y);
                blocks::cut(columns.len(), tiles.rows(), |x, count| {
                    let x = columns.start + x;
                    let first = at(y, x);
                    for filter in filters.clone().step_by(wide) {
                        let made = wide.min(of.made - filter);
                        let registers = made.div_ceil(tiles.lanes);
                        let to = out.wrapping_add(filter * by_channel + y * by_row + x * by_column);
                        // Whole registers of channels that lie beside each other need no detour.
                        let direct = by_channel == 1 && !add && !pair && made == registers * tiles.lanes;
                        let (tile_out, step) = if direct {
                            (to, by_column)
                        } else {
                            (buffer.cast_mut(), registers * tiles.lanes)
                        };
                        // SAFETY: the panel is one of those that were packed.
                        let panel =
                            unsafe { of.memory.cast_const().add(panels.start + panels.depth * filter) };
                        let mut more = false;
                        let mut multiply = |pixels: Range<usize>, steps: Range<usize>| {
                            let first = first.wrapping_offset(pixels.start as isize * distance);
                            let middle = if pair {
                                at(y + 1, x)
                            } else {
                                first.wrapping_offset(pixels.len().div_ceil(2) as isize * distance)
                            };
                            let height = if pair { 2 * count } else { pixels.len() };
                            let tile = |rows: &Range<usize>, steps: Range<usize>, more: bool| Tile {
                                rows: [first, middle],
                                distance: distance * bytes as isize,
                                table: table.wrapping_add(steps.start),
                                depth: steps.len(),
                                panel: panel.wrapping_add(steps.start * registers * tiles.lanes),
                                out: tile_out.wrapping_add(rows.start * step),
                                out_distance: step * bytes,
                                more: usize::from(more),
                            };
                            // SAFETY: the region covers every element of the windows at these places; the
                            // buffer has room for a tile, and the result for its part of it.
                            unsafe {
                                if !more && height < count {
                                    // Sums of no steps: where others begin.
                                    tiles.by_size[count - 1][registers - 1](&tile(&(0..count), 0..0, false));
                                    more = true;
                                }
                                tiles.by_size[height - 1][registers - 1](&tile(&pixels, steps, more));
                            }
                            more = true;
                        };
                        if pair {
                            multiply(0..count, 0..panels.depth);
                        } else {
                            over.each(self.finite, &lines, [x, count], multiply);
                        }
                        if direct {
                            continue;
                        }
                        let store = |line: usize| StoreRows {
                            from: buffer.wrapping_add(line * count * step),
                            distance: step,
                            rows: count,
                            columns: made,
                            to: to.wrapping_add(line * by_row),
                            row_step: by_column,
                            column_step: by_channel,
                            add,
                        };
                        // SAFETY: the tile's results are in the buffer, and the result has room for its part
                        // of them.
                        unsafe {
                            store(0).run(self.level);
                            if pair {
                                store(1).run(self.level);
                            }
                        }
                    }
                });
            }
        }
    }
}
