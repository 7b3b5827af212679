//! Filters slide over images: a convolution, and its gradient by the images.
//!
//! A task has some rows of an image of results. It copies the part of the image under their windows with the zeros around, some channels
//! at a time, and multiplies pixels with panels of filters straight from there: a table says where the elements of a window are.

use super::blocks::{self, Block, Blocks, bounds};
use super::depthwise;
use super::few::{self, Line};
use super::filters::{self, Panels, each_block};
use super::put::Put;
use super::region::Region;
use super::tile::{MOST_COLUMN_BYTES, MOST_ROWS, Number, Tile};
use super::windows::Windows;
use crate::exec::Exec;
use crate::level::Level;
use crate::scratch::with_scratch;
use std::ops::Range;

/// Bytes of panels that are read again for every tile of pixels, at most: they stay in the second-level cache.
const PANEL_BYTES: usize = 512 << 10;

/// Images, filters, and where the results go. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub struct Correlation<'a, T> {
    /// Images.
    pub batch: usize,
    /// Groups of channels.
    pub groups: usize,
    /// Channels of a group that are taken, and that are made.
    pub taken: usize,
    /// See `taken`.
    pub made: usize,
    /// Images, their height and width, and their strides by image, channel, row and column.
    pub images: *const T,
    /// See `images`.
    pub size: [usize; 2],
    /// See `images`.
    pub image_strides: [usize; 4],
    /// Filters, and their strides by group, made and taken channel.
    pub filters: *const T,
    /// See `filters`.
    pub filter_strides: [usize; 3],
    /// The kinds of windows: each result belongs to one of them.
    pub windows: &'a [Windows],
    /// The result, and its strides by image and channel.
    pub out: *mut T,
    /// See `out`.
    pub out_strides: [usize; 2],
    /// Memory for [`packed_len`](super::packed_len) numbers.
    pub memory: *mut T,
}

// SAFETY: it only describes a correlation; whoever follows its addresses says why tasks do not collide.
unsafe impl<T: Sync> Sync for Correlation<'_, T> {}

impl<T> Correlation<'_, T> {
    /// Whether channels are beside each other.
    pub(super) fn is_last(&self) -> bool {
        self.image_strides[1] == 1
    }

    /// Elements of the largest window.
    fn elements(&self) -> usize {
        self.windows.iter().map(Windows::elements).max().unwrap_or(0)
    }

    /// Whether there are so few filters that pixels are what fills a register.
    fn is_few(&self) -> bool {
        // With channels last, lines of one channel are gathered: that must be worth it.
        let gathered = self.made <= few::FEW / 2 && self.elements() >= 9;
        // Full registers of pixels outdo one register of filters.
        let width = self.windows.iter().map(|w| w.axes[1].places).max().unwrap_or(0);
        let full = width >= 32 && 8 * width >= 7 * width.next_multiple_of(16);
        if self.is_last() { gathered } else { self.made <= few::FEW || self.made <= 2 * few::FEW && full }
    }
}

impl<T: Number> Correlation<'_, T> {
    /// What panels of filters are filled up to, and how many they have.
    fn panels(&self, level: Level) -> [usize; 2] {
        let tiles = T::tiles(level);
        if self.is_few() { [1, few::FEW] } else { [tiles.lanes, tiles.columns()] }
    }

    /// The region that windows of all kinds read at these places.
    fn region(&self, windows: &[Windows], places: &[Range<usize>; 2], block: &Block) -> Region {
        let (bounds, channels) = (bounds(windows, places, &block.elements), block.channels.len());
        if self.is_few() {
            let residues = windows[0].axes[1].step as usize;
            Region::sorted(bounds, channels, residues, few::SLACK, size_of::<T>())
        } else {
            Region::new(bounds, channels, self.is_last(), size_of::<T>())
        }
    }
}

/// Computes it: every result is the sum over channels and elements of its window, in an order that depends on the shapes alone.
///
/// # Safety
/// All can be read or written for these sizes; what is written overlaps nothing.
pub unsafe fn correlate<T: Number>(exec: &Exec<'_>, of: &Correlation<'_, T>) {
    let channels = [of.taken, of.made];
    if of.batch * of.groups * of.made == 0 {
        return;
    }
    let all = Blocks::new(of.windows, channels, of.is_last(), size_of::<T>());
    // SAFETY: the caller's promise.
    unsafe {
        if depthwise::correlate(exec, of) {
            return;
        }
        if all.is_whole(of.windows) {
            run(exec, of, of.windows, &all);
            return;
        }
        // Windows of different kinds that are cut have no elements in common.
        for windows in of.windows.chunks(1) {
            let blocks = Blocks::new(windows, channels, of.is_last(), size_of::<T>());
            run(exec, of, windows, &blocks);
        }
    }
}

/// # Safety
/// As [`correlate`]; the blocks are of these windows.
unsafe fn run<T: Number>(exec: &Exec<'_>, of: &Correlation<'_, T>, windows: &[Windows], blocks: &Blocks) {
    let all = [0, 1].map(|n| windows.iter().map(|w| w.axes[n].places).max().unwrap_or(0));
    if all.contains(&0) {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { filters::pack(exec, of, windows, blocks, of.panels(exec.level)) };
    let mut panels = Vec::new();
    each_block::<T>(windows, blocks, [of.groups, of.taken, of.made], |_, _, _, at| panels.push(at));
    let each: Vec<Vec<Block>> = windows.iter().map(|w| blocks.list(of.taken, w).collect()).collect();
    let cuts = [0, 1].map(|n| all[n].div_ceil(blocks.places[n]));
    exec.threads.run(of.batch * of.groups * cuts[0] * cuts[1], &|task| {
        let (number, cut) = (task / (cuts[0] * cuts[1]), task % (cuts[0] * cuts[1]));
        let cut = [cut / cuts[1], cut % cuts[1]];
        let places = [0, 1].map(|n| cut[n] * blocks.places[n]..all[n].min((cut[n] + 1) * blocks.places[n]));
        let task =
            Task { of, level: exec.level, image: number / of.groups, group: number % of.groups, places };
        // Where there are several kinds a window is whole, so that they have as many blocks, for the same channels each.
        for n in 0..each[0].len() {
            let whole = Block { channels: each[0][n].channels.clone(), elements: wide(&each, n) };
            let region = of.region(windows, &task.places, &whole);
            let of_kind = |kind: usize| {
                let before: usize = each[..kind].iter().map(|list| list.len() * of.groups).sum();
                panels[before + task.group * each[kind].len() + n]
            };
            // SAFETY: the caller's promise.
            unsafe { task.multiply(windows, &whole, &region, of_kind, n > 0) };
        }
    });
}

/// The elements that block number `n` of any kind has.
fn wide(each: &[Vec<Block>], n: usize) -> [Range<usize>; 2] {
    [0, 1].map(|axis| {
        let ranges = each.iter().map(|list| list[n].elements[axis].clone());
        ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    })
}

/// Some rows of an image of results, and a group's channels of it.
struct Task<'a, T> {
    of: &'a Correlation<'a, T>,
    level: Level,
    image: usize,
    group: usize,
    places: [Range<usize>; 2],
}

impl<T: Number> Task<'_, T> {
    /// Multiplies a block's channels and elements of the windows, and puts the results in place or adds them to those before.
    ///
    /// # Safety
    /// As [`correlate`]; the region covers what the windows read.
    unsafe fn multiply(
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
        let in_place = !of.is_few() && of.elements() == 1 && region.is_within(of.size);
        let region = &if in_place { region.in_place(strides) } else { *region };
        let depth = windows.iter().map(|w| block.depth(w)).max().unwrap_or(0);
        let table_len =
            (depth * size_of::<isize>()).div_ceil(size_of::<T>()).next_multiple_of(64 / size_of::<T>());
        let tile_len = MOST_ROWS * MOST_COLUMN_BYTES / size_of::<T>();
        with_scratch::<T, _>(table_len + tile_len + region.len, |memory| {
            let table = memory.as_mut_ptr().cast::<isize>();
            // SAFETY: the three parts are within the scratch memory; the image's channels are those of the group.
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
                    let mut k = 0;
                    block.each(windows, of.is_last(), |channel, element| {
                        let [y, x] = [0, 1].map(|n| element[n] as isize * windows.axes[n].dilation);
                        let at = channel as isize * region.strides[0] as isize + region.distance([y, x]);
                        table.add(k).write(at * size_of::<T>() as isize);
                        k += 1;
                    });
                    let panels = panels(kind);
                    debug_assert_eq!(panels.depth, k);
                    if of.is_few() {
                        self.lines(windows, region, copied, table, panels, add);
                    } else {
                        self.tiles(windows, region, [copied, tile], table, panels, add);
                    }
                }
            }
        });
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
        for y in rows {
            let x = columns.start;
            let position = [y as isize * down.step + down.offset, x as isize * across.step + across.offset];
            for filter in (0..of.made).step_by(few::FEW) {
                let line = Line {
                    from: copied.wrapping_offset(region.at(position)),
                    table,
                    depth: panels.depth,
                    // SAFETY: the panel was packed.
                    weights: unsafe { of.memory.cast_const().add(panels.start + panels.depth * filter) },
                    filters: few::FEW.min(of.made - filter),
                    out: out.wrapping_add(filter * by_channel + y * by_row + x * by_column),
                    count: columns.len(),
                    along: by_column,
                    by_filter: by_channel,
                    add,
                };
                // SAFETY: the region covers every element of the windows at these places, and has slack behind it.
                unsafe { T::line(self.level, &line) };
            }
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
    /// As [`Task::multiply`]; the table has the panels' depth.
    unsafe fn tiles(
        &self,
        windows: &Windows,
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
        // Two short rows make one tile.
        let pairs = 2 * columns.len() <= tiles.rows();
        let at_once = (PANEL_BYTES / (panels.depth * wide * bytes).max(1)).max(1) * wide;
        for from in (0..of.made).step_by(at_once) {
            let filters = from..of.made.min(from + at_once);
            for y in rows.clone().step_by(if pairs { 2 } else { 1 }) {
                let pair = pairs && y + 1 < rows.end;
                blocks::cut(columns.len(), tiles.rows(), |x, count| {
                    let x = columns.start + x;
                    let first = at(y, x);
                    let middle = if pair {
                        at(y + 1, x)
                    } else {
                        first.wrapping_offset(count.div_ceil(2) as isize * distance)
                    };
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
                        let tile = Tile {
                            rows: [first, middle],
                            distance: distance * bytes as isize,
                            table,
                            depth: panels.depth,
                            // SAFETY: the panel is one of those that were packed.
                            panel: unsafe {
                                of.memory.cast_const().add(panels.start + panels.depth * filter)
                            },
                            out: tile_out,
                            out_distance: step * bytes,
                        };
                        let height = if pair { 2 * count } else { count };
                        // SAFETY: the region covers every element of the windows at these places; the buffer has room for a tile, and
                        // the result for its part of it.
                        unsafe {
                            tiles.by_size[height - 1][registers - 1](&tile);
                            if !direct {
                                let put = |line: usize| Put {
                                    from: buffer.add(line * count * step),
                                    distance: step,
                                    rows: count,
                                    columns: made,
                                    to: to.wrapping_add(line * by_row),
                                    row_step: by_column,
                                    column_step: by_channel,
                                    add,
                                };
                                put(0).run(self.level);
                                if pair {
                                    put(1).run(self.level);
                                }
                            }
                        }
                    }
                });
            }
        }
    }
}
