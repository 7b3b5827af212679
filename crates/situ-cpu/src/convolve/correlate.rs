//! Filters slide over images: a convolution, and its gradient by the images.
//!
//! A task has some rows of an image of results, and some channels at a time.

use super::blocks::{Block, Blocks, bounds};
use super::correlate_part::Task;
use super::depthwise;
use super::few;
use super::filters::{self, each_block};
use super::finish::{Finish, Part};
use super::region::Region;
use super::tile::Number;
use super::windows::Windows;
use crate::exec::Exec;
use crate::level::Level;
use std::ops::Range;

/// Images, filters, and where the results go. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub struct Correlation<'a, T> {
    /// How many images there are.
    pub batch: usize,
    /// Groups of channels.
    pub groups: usize,
    /// Channels of a group that are taken, and that are made.
    pub taken: usize,
    /// Channels of a group that are made.
    pub made: usize,
    /// Images, their height and width, and their strides by image, channel, row and column.
    pub images: *const T,
    /// Height and width of an image.
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
    /// What follows, where there is one kind of windows.
    pub finish: Option<Finish<T>>,
}

// SAFETY: it only describes a correlation; whoever follows its addresses says why tasks do not collide.
unsafe impl<T: Sync> Sync for Correlation<'_, T> {}

impl<T> Correlation<'_, T> {
    /// Whether channels are beside each other.
    pub(super) fn is_last(&self) -> bool {
        self.image_strides[1] == 1
    }

    /// Elements of the largest window.
    pub(super) fn elements(&self) -> usize {
        self.windows.iter().map(Windows::elements).max().unwrap_or(0)
    }
}

impl<T: Number> Correlation<'_, T> {
    /// Does what follows to some places of an image, all of whose sums are there.
    ///
    /// # Safety
    /// As [`correlate`]; the places and channels are the caller's own.
    pub(super) unsafe fn finish(
        &self,
        level: Level,
        image: usize,
        channels: Range<usize>,
        places: &[Range<usize>; 2],
    ) {
        let (Some(finish), [windows]) = (self.finish, self.windows) else { return };
        let (start, [by_row, by_column]) = windows.target;
        let [by_image, by_channel] = self.out_strides;
        let [rows, columns] = places;
        let at = image * by_image + channels.start * by_channel + start;
        let part = Part {
            out: self.out.wrapping_add(at + rows.start * by_row + columns.start * by_column),
            size: [rows.len(), columns.len()],
            channels,
            strides: [by_channel, by_row, by_column],
        };
        // SAFETY: the places are among the results.
        unsafe { finish.run(level, &part) };
    }

    /// Whether there are so few filters that pixels are what fills a register.
    pub(super) fn is_few(&self, level: Level) -> bool {
        if self.is_last() {
            // Lines of one channel are gathered: that must be worth it.
            return self.made <= few::FEW / 2 && self.elements() >= 9;
        }
        // Full registers of pixels outdo one register of filters.
        let width = self.windows.iter().map(|w| w.axes[1].places).max().unwrap_or(0);
        let full = width >= 32 && 8 * width >= 7 * width.next_multiple_of(16);
        self.made <= few::FEW || self.made <= T::tiles(level).lanes && full
    }

    /// What panels of filters are filled up to, and how many they have.
    fn panels(&self, level: Level) -> [usize; 2] {
        let tiles = T::tiles(level);
        if self.is_few(level) { [1, few::at_once(level)] } else { [tiles.lanes, tiles.columns()] }
    }

    /// The region that windows of all kinds read at these places.
    fn region(&self, level: Level, windows: &[Windows], places: &[Range<usize>; 2], block: &Block) -> Region {
        let (bounds, channels) = (bounds(windows, places, &block.elements), block.channels.len());
        if self.is_few(level) {
            let residues = windows[0].axes[1].step as usize;
            Region::sorted(bounds, channels, residues, few::SLACK, size_of::<T>())
        } else {
            Region::new(bounds, channels, self.is_last(), size_of::<T>())
        }
    }
}

/// Computes it: every result is the sum over channels and elements of its window, in an order that depends on
/// the shapes alone.
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
    let finite = unsafe { filters::pack(exec, of, windows, blocks, of.panels(exec.level)) };
    let mut panels = Vec::new();
    each_block::<T>(windows, blocks, [of.groups, of.taken, of.made], |_, _, _, at| panels.push(at));
    let each: Vec<Vec<Block>> = windows.iter().map(|w| blocks.list(of.taken, w).collect()).collect();
    let cuts = [0, 1].map(|n| all[n].div_ceil(blocks.places[n]));
    exec.threads.run(of.batch * of.groups * cuts[0] * cuts[1], &|task| {
        let (number, cut) = (task / (cuts[0] * cuts[1]), task % (cuts[0] * cuts[1]));
        let cut = [cut / cuts[1], cut % cuts[1]];
        let places = [0, 1].map(|n| cut[n] * blocks.places[n]..all[n].min((cut[n] + 1) * blocks.places[n]));
        let (image, group) = (number / of.groups, number % of.groups);
        let task = Task { of, level: exec.level, image, group, places, finite };
        // Where there are several kinds a window is whole, so that they have as many blocks, for the same
        // channels each.
        for n in 0..each[0].len() {
            let whole = Block { channels: each[0][n].channels.clone(), elements: wide(&each, n) };
            let region = of.region(exec.level, windows, &task.places, &whole);
            let of_kind = |kind: usize| {
                let before: usize = each[..kind].iter().map(|list| list.len() * of.groups).sum();
                panels[before + task.group * each[kind].len() + n]
            };
            // SAFETY: the caller's promise.
            unsafe { task.multiply(windows, &whole, &region, of_kind, n > 0) };
        }
        let channels = task.group * of.made..(task.group + 1) * of.made;
        // SAFETY: the caller's promise.
        unsafe { of.finish(exec.level, task.image, channels, &task.places) };
    });
}

/// The elements that block number `n` of any kind has.
fn wide(each: &[Vec<Block>], n: usize) -> [Range<usize>; 2] {
    [0, 1].map(|axis| {
        let ranges = each.iter().map(|list| list[n].elements[axis].clone());
        ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    })
}
