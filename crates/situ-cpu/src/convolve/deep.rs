//! Convolutions whose columns are too long to be laid out as a whole: thousands of channels under a large window. Columns are cut into
//! panels, one after the other.
//!
//! Promises: panels are added up in their order, whatever the number of threads; no memory but the threads' scratch.

use super::correlate::STRIP;
use super::{Sliding, block_pixels, filled_up};
use crate::exec::{Exec, Shared};
use crate::matmul::{Element, FloatElement, Matrix, Product, matmul};
use crate::scratch::with_scratch;
use std::ops::Add;

/// Bytes of a column that are laid out at a time, about.
const PANEL_BYTES: usize = 4 << 10;

/// Rows of a panel, of columns of `depth` elements of `size` bytes: all panels have as many, but for the last.
fn panel_rows(depth: usize, size: usize) -> usize {
    let panels = depth.div_ceil((PANEL_BYTES / size).max(1)).max(1);
    depth.div_ceil(panels)
}

/// [`correlate`](super::correlate), panel by panel.
///
/// # Safety
/// As there.
pub(super) unsafe fn correlate<T: Element + Default + Add<Output = T>>(
    exec: &Exec<'_>,
    sliding: &Sliding,
    [batch, groups]: [usize; 2],
    [taken, made]: [usize; 2],
    images: *const T,
    filters: *const T,
    out: *mut T,
) {
    let (pixels, area) = (sliding.pixels(), sliding.area());
    let depth = taken * sliding.window();
    let panel = panel_rows(depth, size_of::<T>());
    let block = block_pixels(panel, pixels, size_of::<T>());
    let blocks = pixels.div_ceil(block);
    let (images, filters, out) = (Shared(images), Shared(filters), Shared(out));
    exec.threads.run(batch * groups * blocks, &|task| {
        let (number, first) = (task / blocks, task % blocks * block);
        let count = block.min(pixels - first);
        let (group, wide) = (number % groups, filled_up(count));
        with_scratch::<T, _>((panel + made.min(STRIP)) * wide, |memory| {
            let columns = memory.as_mut_ptr().cast::<T>();
            // SAFETY: the image, the group and the pixels are within what the caller promises; tasks have pixels of their own; the
            // scratch memory has room for a panel and a strip of results.
            unsafe {
                let strip = columns.add(panel * wide);
                let image = images.get().add(number * taken * area);
                let filters = filters.get().add(group * made * depth);
                let out = out.get().add(number * made * pixels + first);
                for from in (0..depth).step_by(panel) {
                    let to = depth.min(from + panel);
                    sliding.lay_out_rows(exec.level, image, [from, to], [first, count, wide], columns);
                    let right = Matrix::dense(columns.cast_const(), wide);
                    for top in (0..made).step_by(STRIP) {
                        let rows = STRIP.min(made - top);
                        let left = Matrix::dense(filters.add(top * depth + from), depth);
                        let product = Product::new(rows, to - from, wide, left, right, strip);
                        matmul(exec.level, exec.threads, &product);
                        for row in 0..rows {
                            add_run(strip.add(row * wide), out.add((top + row) * pixels), count, from == 0);
                        }
                    }
                }
            }
        });
    });
}

/// [`by_filter`](super::by_filter()), panel by panel: each panel of the columns gives columns of the result of its own.
///
/// # Safety
/// As there.
pub(super) unsafe fn by_filter<T: FloatElement + Default + Add<Output = T>>(
    exec: &Exec<'_>,
    sliding: &Sliding,
    [batch, groups]: [usize; 2],
    [taken, made]: [usize; 2],
    images: *const T,
    upstream: *const T,
    out: *mut T,
) {
    let (pixels, area) = (sliding.pixels(), sliding.area());
    let depth = taken * sliding.window();
    let panel = panel_rows(depth, size_of::<T>());
    let block = block_pixels(panel, pixels.max(1), size_of::<T>());
    let panels = depth.div_ceil(panel);
    let (images, upstream, out) = (Shared(images), Shared(upstream), Shared(out));
    exec.threads.run(groups * panels, &|task| {
        let (group, from) = (task / panels, task % panels * panel);
        let rows = panel.min(depth - from);
        // SAFETY: tasks have columns of the result of their own; images and pixels are within what the caller promises; scratch
        // memory has room for a panel of a block's columns, and for a strip of the result.
        unsafe {
            let out = out.get().add(group * made * depth + from);
            for filter in 0..made {
                (0..rows).for_each(|row| *out.add(filter * depth + row) = T::default());
            }
            for image in 0..batch {
                let source = images.get().add((image * groups + group) * taken * area);
                for first in (0..pixels).step_by(block) {
                    let count = block.min(pixels - first);
                    let strip_rows = (block_strip::<T>(rows)).min(made.max(1));
                    with_scratch::<T, _>(rows * (count + strip_rows), |memory| {
                        let columns = memory.as_mut_ptr().cast::<T>();
                        let strip = columns.add(rows * count);
                        let range = [from, from + rows];
                        sliding.lay_out_rows(exec.level, source, range, [first, count, count], columns);
                        let right = Matrix::dense(columns.cast_const(), count).transposed();
                        for top in (0..made).step_by(strip_rows) {
                            let filters = strip_rows.min(made - top);
                            let at = ((image * groups + group) * made + top) * pixels + first;
                            let left = Matrix::dense(upstream.get().add(at), pixels);
                            let product = Product::new(filters, count, rows, left, right, strip);
                            matmul(exec.level, exec.threads, &product);
                            for filter in 0..filters {
                                add_run(
                                    strip.add(filter * rows),
                                    out.add((top + filter) * depth),
                                    rows,
                                    false,
                                );
                            }
                        }
                    });
                }
            }
        }
    });
}

/// Filters whose results for a panel of so many rows lie beside its columns.
fn block_strip<T>(rows: usize) -> usize {
    // The columns take at most 320 KiB of the scratch memory's 512.
    ((128 << 10) / (rows.max(1) * size_of::<T>())).clamp(1, STRIP)
}

/// Adds a run of numbers to another, or puts it there.
///
/// # Safety
/// Both can be read, and `to` written, for `count` elements; they do not overlap.
unsafe fn add_run<T: Copy + Add<Output = T>>(from: *const T, to: *mut T, count: usize, is_first: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_first {
            std::ptr::copy_nonoverlapping(from, to, count);
        } else {
            (0..count).for_each(|i| *to.add(i) = *to.add(i) + *from.add(i));
        }
    }
}
