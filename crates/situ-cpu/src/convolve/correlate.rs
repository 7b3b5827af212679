//! The product of filters with the columns of images.

use super::{Sliding, block_pixels, deep, filled_up, fits};
use crate::exec::{Exec, Shared};
use crate::matmul::{Element, Matrix, Product, matmul};
use crate::scratch::with_scratch;
use std::ops::Add;

/// `out[image, group] = filters[group] · columns(images[image, group])`: filters are `[groups, made, taken · window]`, images
/// `[batch, groups · taken, height, width]`, the result `[batch, groups · made, places down, places across]`, all dense.
///
/// # Safety
/// All can be read or written for these sizes; the output overlaps nothing.
pub unsafe fn correlate<T: Element + Default + Add<Output = T>>(
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
    if batch * groups * made * pixels == 0 {
        return;
    }
    if !fits(depth, size_of::<T>()) {
        // SAFETY: the caller's promise.
        unsafe { deep::correlate(exec, sliding, [batch, groups], [taken, made], images, filters, out) };
        return;
    }
    let block = block_pixels(depth, pixels, size_of::<T>());
    let blocks = pixels.div_ceil(block);
    let (images, filters, out) = (Shared(images), Shared(filters), Shared(out));
    exec.threads.run(batch * groups * blocks, &|task| {
        let (number, first) = (task / blocks, task % blocks * block);
        let count = block.min(pixels - first);
        let group = number % groups;
        // SAFETY: the image, the group and the pixels are within what the caller promises; tasks have pixels of their own.
        unsafe {
            let image = images.get().add(number * taken * area);
            let filters = filters.get().add(group * made * depth);
            let out = out.get().add(number * made * pixels + first);
            // A window of one element that takes every pixel has its columns in the image already.
            let direct = is_identity(sliding) && count == pixels;
            let wide = if direct { count } else { filled_up(count) };
            let in_place = wide == pixels;
            let room = if direct { 0 } else { depth * wide };
            let beside = if in_place { 0 } else { made.min(STRIP) * wide };
            with_scratch::<T, _>(room + beside, |memory| {
                let columns = memory.as_mut_ptr().cast::<T>();
                let strip = columns.add(room);
                let right = if direct { image } else { columns.cast_const() };
                if !direct {
                    sliding.lay_out(exec.level, image, taken, [first, count, wide], columns);
                }
                let right = Matrix::dense(right, wide);
                if in_place {
                    let product = Product::new(made, depth, count, Matrix::dense(filters, depth), right, out);
                    matmul(exec.level, exec.threads, &product);
                    return;
                }
                // The rows of the result are apart: some filters at a time are multiplied, and their rows put in place.
                for top in (0..made).step_by(STRIP) {
                    let rows = STRIP.min(made - top);
                    let left = Matrix::dense(filters.add(top * depth), depth);
                    matmul(exec.level, exec.threads, &Product::new(rows, depth, wide, left, right, strip));
                    for row in 0..rows {
                        let to = out.add((top + row) * pixels);
                        std::ptr::copy_nonoverlapping(strip.add(row * wide), to, count);
                    }
                }
            });
        }
    });
}

/// Filters multiplied at a time where the result is put in place afterwards.
pub(super) const STRIP: usize = 64;

fn is_identity(sliding: &Sliding) -> bool {
    [sliding.down, sliding.across]
        .iter()
        .all(|a| a.window == 1 && a.step == 1 && a.offset == 0 && a.divide == 1 && a.places == a.size)
}
