//! The gradient by the filters: products over pixels, summed over blocks and images in an order that shapes alone decide.

use super::{Sliding, block_pixels, deep, fits};
use crate::exec::{Exec, Shared};
use crate::matmul::{FloatElement, Matrix, Product, matmul};
use crate::scratch::with_scratch;
use std::ops::Add;

/// Parts that are summed apart, at most.
const PARTS: usize = 8;
/// Numbers in all parts together, at most, unless one part alone has more.
const MOST: usize = 8 << 20;

/// How blocks of pixels are dealt to parts.
fn parts(blocks: usize, filters: usize) -> usize {
    blocks.min(PARTS).min((MOST / (2 * filters).max(1)).max(1)).max(1)
}

/// Numbers of memory that [`by_filter`] wants.
pub fn partial_len(
    batch: usize,
    pixels: usize,
    groups: usize,
    taken: usize,
    made: usize,
    window: usize,
    size: usize,
) -> usize {
    let depth = taken * window;
    if !fits(depth, size) {
        return 0;
    }
    let block = block_pixels(depth, pixels.max(1), size);
    let filters = groups * made * depth;
    2 * filters * parts(batch * pixels.div_ceil(block), filters)
}

/// `out[group] = Σ upstream[image, group] · columns(images[image, group])ᵀ`: the shapes are those of [`correlate`](super::correlate), with the
/// upstream gradient in place of the result and `out` in place of the filters.
///
/// # Safety
/// All can be read or written for these sizes; `memory` can be written for [`partial_len`] numbers; nothing that is written overlaps
/// anything.
pub unsafe fn by_filter<T: FloatElement + Default + Add<Output = T>>(
    exec: &Exec<'_>,
    sliding: &Sliding,
    [batch, groups]: [usize; 2],
    [taken, made]: [usize; 2],
    images: *const T,
    upstream: *const T,
    out: *mut T,
    memory: *mut T,
) {
    let (pixels, area) = (sliding.pixels(), sliding.area());
    let depth = taken * sliding.window();
    let filters = groups * made * depth;
    if filters == 0 {
        return;
    }
    if !fits(depth, size_of::<T>()) {
        // SAFETY: the caller's promise.
        unsafe { deep::by_filter(exec, sliding, [batch, groups], [taken, made], images, upstream, out) };
        return;
    }
    let block = block_pixels(depth, pixels.max(1), size_of::<T>());
    let blocks = pixels.div_ceil(block);
    let all = batch * blocks;
    let parts = parts(all, filters);
    let (images, upstream, memory, out) = (Shared(images), Shared(upstream), Shared(memory), Shared(out));
    exec.threads.run(parts, &|part| {
        // SAFETY: the part's memory is its own; images and pixels are within what the caller promises.
        unsafe {
            let sum = memory.get().add(part * 2 * filters);
            let product = sum.add(filters);
            for i in 0..filters {
                *sum.add(i) = T::default();
            }
            for number in all * part / parts..all * (part + 1) / parts {
                let (image, first) = (number / blocks, number % blocks * block);
                let count = block.min(pixels - first);
                for group in 0..groups {
                    let source = images.get().add((image * groups + group) * taken * area);
                    // The gradient is the smaller side: it is the one to be turned round, by taking it as the right one.
                    let right = Matrix {
                        ptr: upstream.get().add((image * groups + group) * made * pixels + first),
                        row_stride: 1,
                        col_stride: pixels as isize,
                    };
                    with_scratch::<T, _>(depth * count, |columns| {
                        let columns = columns.as_mut_ptr().cast::<T>();
                        sliding.lay_out(exec.level, source, taken, [first, count, count], columns);
                        let left = Matrix::dense(columns.cast_const(), count);
                        let to = product.add(group * made * depth);
                        matmul(exec.level, exec.threads, &Product::new(depth, count, made, left, right, to));
                    });
                }
                for i in 0..filters {
                    *sum.add(i) = *sum.add(i) + *product.add(i);
                }
            }
        }
    });
    exec.for_ranges(filters, 16 << 10, |from, to| {
        for i in from..to {
            // Sums are by element of the window, and then by filter; the result is the other way round.
            let (group, within) = (i / (made * depth), i % (made * depth));
            let at = (group * depth + within % depth) * made + within / depth;
            // SAFETY: every part has been summed; ranges do not overlap.
            unsafe {
                let mut sum = *memory.get().add(at);
                for part in 1..parts {
                    sum = sum + *memory.get().add(part * 2 * filters + at);
                }
                *out.get().add(i) = sum;
            }
        }
    });
}
