//! Operands that end where memory ends, and begin anywhere: a kernel that reads or writes an element too many
//! does not survive it.

use super::cases::numbers;
use crate::level::Level;
use crate::matmul::{Activation, Element, Epilogue, Matrix, Product, matmul};
use crate::threads::Threads;

/// Pages of which the last can't be touched.
struct Mapped {
    start: *mut u8,
    bytes: usize,
}

const PAGE: usize = 4096;

impl Mapped {
    fn new(bytes: usize) -> Mapped {
        let bytes = bytes.next_multiple_of(PAGE);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new pages, at an address of the system's choice; the last becomes untouchable, and nobody
        // uses it.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), bytes + PAGE, access, kind, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.cast::<u8>().add(bytes).cast(), PAGE, libc::PROT_NONE), 0);
            Mapped { start: start.cast(), bytes }
        }
    }

    /// `count` elements that end with the memory.
    fn last<T>(&mut self, count: usize) -> &mut [T] {
        assert!(count * size_of::<T>() <= self.bytes);
        // SAFETY: the elements are within the pages, aligned because pages are, and any bits are a number; a
        // test uses one at a time.
        unsafe {
            let end = self.start.add(self.bytes).cast::<T>();
            std::slice::from_raw_parts_mut(end.sub(count), count)
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`.
        unsafe { libc::munmap(self.start.cast(), self.bytes + PAGE) };
    }
}

/// Products of these sizes at the end of memory, where odd sizes begin at any alignment, against products of
/// the same numbers elsewhere.
fn check<T: Element + PartialEq + std::fmt::Debug + Default>(
    heights: &[usize],
    widths: &[usize],
    steps: &[usize],
    number: impl Fn(f64) -> T,
) {
    let threads = Threads::new(1, None).unwrap();
    let most = |of: &[usize]| of.iter().copied().max().unwrap_or(0) + 1;
    let bytes = |rows: usize, cols: usize| rows * cols * size_of::<T>();
    let mut a = Mapped::new(bytes(most(heights), most(steps)));
    let mut b = Mapped::new(bytes(most(steps), most(widths)));
    let (mut out, mut bias) =
        (Mapped::new(bytes(most(heights), most(widths))), Mapped::new(bytes(1, most(widths))));
    let mut next = numbers(3);
    for &m in heights {
        for &k in steps {
            for &n in widths {
                for by_columns in [false, true] {
                    let (a, b, bias, out) =
                        (a.last(m * k), b.last(k * n), bias.last(n), out.last::<T>(m * n));
                    for x in a.iter_mut().chain(b.iter_mut()).chain(bias.iter_mut()) {
                        *x = number(next());
                    }
                    let lay = |from: &[T], rows: usize, cols: usize| match by_columns {
                        false => Matrix::dense(from.as_ptr(), cols),
                        true => Matrix::dense(from.as_ptr(), rows).transposed(),
                    };
                    // Room around the copies, at another alignment.
                    let apart = |from: &[T]| {
                        let mut copy = vec![T::default(); 64 + from.len() + 64];
                        copy[64..64 + from.len()].copy_from_slice(from);
                        copy
                    };
                    let (a2, b2, bias2) = (apart(a), apart(b), apart(bias));
                    for level in Level::available() {
                        let run = |a: &[T], b: &[T], bias: &[T], out: &mut [T]| {
                            let mut product =
                                Product::new(m, k, n, lay(a, m, k), lay(b, k, n), out.as_mut_ptr());
                            product.epilogue =
                                Epilogue { bias: Some(bias.as_ptr()), activation: Activation::Relu };
                            // SAFETY: the operands and the output are of these sizes.
                            unsafe { matmul(level, &threads, &product) };
                        };
                        let mut want = vec![T::default(); m * n + 1];
                        run(&a2[64..], &b2[64..], &bias2[64..], &mut want[1..]);
                        out.fill(T::default());
                        run(a, b, bias, out);
                        assert_eq!(out[..], want[1..], "{m}x{k}x{n} at {level}, by columns: {by_columns}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_height_and_width_keeps_to_operands_that_end_with_memory() {
    let heights: Vec<usize> = (1..=15).collect();
    let widths: Vec<usize> = (1..=34).chain([63, 64, 65]).collect();
    check(&heights, &widths, &[1, 3, 4, 5, 18], |x| x as f32);
    check(&heights, &widths, &[1, 4, 7], |x| x);
}

#[test]
fn several_strips_and_blocks_keep_to_operands_that_end_with_memory() {
    let (heights, widths) = ([16, 27, 28, 29, 43, 57], [16, 31, 33, 65, 97]);
    check(&heights, &widths, &[64, 513, 1030], |x| x as f32);
    check(&heights, &widths, &[65, 520], |x| x);
}
