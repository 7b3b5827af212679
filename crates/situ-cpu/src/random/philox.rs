//! The generator, and the loop that turns its blocks into elements on all threads.

use crate::exec::{Exec, Shared};
use crate::multiversion;
use std::mem::MaybeUninit;

const ROUNDS: usize = 10;
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Blocks worth a task of their own.
const TASK_BLOCKS: usize = 4096;

/// One stream of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: [u32; 2],
    number: [u32; 2],
}

impl Stream {
    /// Stream number `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Stream {
        let halves = |x: u64| [x as u32, (x >> 32) as u32];
        Stream { key: halves(seed), number: halves(stream) }
    }

    /// The words of a block.
    ///
    /// Each word stands in the low half of 64 bits, with anything in the high half: so a round is two
    /// products, two shifts and four exclusive ors, all of which vectors of 64-bit lanes have.
    #[inline(always)]
    pub(super) fn block(self, low: u32, high: u32) -> [u32; 4] {
        let [mut k0, mut k1] = self.key;
        let [mut c0, mut c1, mut c2, mut c3] = [low, high, self.number[0], self.number[1]].map(u64::from);
        for _ in 0..ROUNDS {
            let p = u64::from(MULTIPLIERS[0]) * u64::from(c0 as u32);
            let q = u64::from(MULTIPLIERS[1]) * u64::from(c2 as u32);
            (c0, c1) = ((q >> 32) ^ c1 ^ u64::from(k0), q);
            (c2, c3) = ((p >> 32) ^ c3 ^ u64::from(k1), p);
            k0 = k0.wrapping_add(KEY_STEPS[0]);
            k1 = k1.wrapping_add(KEY_STEPS[1]);
        }
        [c0, c1, c2, c3].map(|word| word as u32)
    }
}

/// How a block becomes elements.
pub(super) trait Draw: Copy + Sync {
    /// The type of an element.
    type Out: Copy;
    /// The elements of one block: an array of them.
    type Block: Copy + AsRef<[Self::Out]>;
    /// The elements made of these words.
    fn draw(self, words: [u32; 4]) -> Self::Block;
}

multiversion! {
    fn draw_blocks[I, D: (Draw)](draw: D, stream: Stream, first: u64, out: &mut [MaybeUninit<D::Block>]) {
        // The high half of the number is the same for all blocks up to where the low half wraps.
        let mut rest = out;
        let mut first = first;
        while !rest.is_empty() {
            let (low, high) = (first as u32, (first >> 32) as u32);
            let len = rest.len().min((u32::MAX - low) as usize + 1);
            let (now, later) = rest.split_at_mut(len);
            for (i, out) in now.iter_mut().enumerate() {
                out.write(draw.draw(stream.block(low.wrapping_add(i as u32), high)));
            }
            first += len as u64;
            rest = later;
        }
    }
}

/// Writes `count` elements, drawn from the blocks of the stream in order.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub(super) unsafe fn run<D: Draw>(exec: &Exec<'_>, draw: D, stream: Stream, to: *mut D::Out, count: usize) {
    // SAFETY: the same promise.
    unsafe { run_from(exec, draw, stream, 0, to, count) };
}

/// [`run`] from block `begin` on.
///
/// # Safety
/// As for [`run`].
pub(super) unsafe fn run_from<D: Draw>(
    exec: &Exec<'_>,
    draw: D,
    stream: Stream,
    begin: u64,
    to: *mut D::Out,
    count: usize,
) {
    let per_block = size_of::<D::Block>() / size_of::<D::Out>();
    let to = Shared(to);
    exec.for_ranges(count.div_ceil(per_block), TASK_BLOCKS, |first, last| {
        let whole = last.min(count / per_block);
        // SAFETY: these blocks are whole and within `count`; an array is aligned as its elements are. Tasks
        // have blocks of their own.
        let out = unsafe {
            std::slice::from_raw_parts_mut(
                to.get().add(first * per_block).cast(),
                whole.saturating_sub(first),
            )
        };
        draw_blocks(exec.level, draw, stream, begin + first as u64, out);
        if whole < last {
            let mut block = [MaybeUninit::uninit()];
            draw_blocks(exec.level, draw, stream, begin + whole as u64, &mut block);
            // SAFETY: `draw_blocks` wrote the block; the elements left are fewer than it has.
            unsafe {
                let block: D::Block = block[0].assume_init();
                let left = count - whole * per_block;
                std::ptr::copy_nonoverlapping(block.as_ref().as_ptr(), to.get().add(whole * per_block), left);
            }
        }
    });
}
