//! Tile functions: an op on a dense run of elements, with its types erased so that the engine is compiled
//! once.

use crate::level::{Isa, Level};
use crate::{multiversion, stream};
use std::mem::MaybeUninit;

/// The parameters of an op (a slope, bounds); zero where it has none.
pub type Params = [f64; 2];

/// What a tile function returns where every element was fine.
pub const NO_FAULT: usize = usize::MAX;

/// Applies an op to `len` elements of each input and writes `len` results. Returns the index of the first
/// element that has no result (an integer divided by zero), or [`NO_FAULT`]; such elements are written as 0.
///
/// # Safety
/// Inputs are readable and the output is writable for `len` elements of the types the function was made for,
/// aligned for them; the output overlaps no input. Inputs that the op does not have are ignored.
pub type TileFn =
    unsafe fn(level: Level, params: Params, inputs: [*const u8; 3], output: *mut u8, len: usize) -> usize;

/// A function of one element.
pub trait Map1<A: Copy>: Copy {
    /// What it gives.
    type Out: Copy;
    /// Whether it is so cheap that a few elements are best done one by one.
    const CHEAP: bool = true;
    /// The function with these parameters.
    fn new(params: Params) -> Self;
    /// The function's value for one element.
    fn eval<I: Isa>(self, a: A) -> Self::Out;
    /// Writes the values of the first elements where a level has a way of its own for many of them; says how
    /// many those are.
    #[inline(always)]
    fn first<I: Isa>(self, inputs: &[A], outputs: &mut [MaybeUninit<Self::Out>]) -> usize {
        let _ = (inputs, outputs);
        0
    }
    /// Mends results that the vector code can't get right.
    #[inline(always)]
    fn mend(self, inputs: &[A], outputs: &mut [MaybeUninit<Self::Out>]) {
        let _ = (inputs, outputs);
    }
}

/// A function of two elements.
pub trait Map2<A: Copy, B: Copy>: Copy + Default {
    /// What it gives.
    type Out: Copy;
    /// Whether it is so cheap that a few elements are best done one by one.
    const CHEAP: bool = true;
    /// The function's value for a pair of elements.
    fn eval<I: Isa>(self, a: A, b: B) -> Self::Out;
    /// Whether the value does not exist.
    #[inline(always)]
    fn faulty(self, b: B) -> bool {
        let _ = b;
        false
    }
    /// Whether [`Map2::faulty`] can ever say yes.
    const CAN_FAIL: bool = false;
}

/// Elements that dear functions are padded to, so that no element is left to a scalar loop. At least any
/// vector of any level.
const PAD: usize = 16;

/// Runs longer than this come from memory in place, not from a tile in the first-level cache: lines are asked
/// for ahead of their use. Not with AVX-512, where a register is a line and each of its loads tells the
/// processor as much: on a Zen 5, a sum of 2^20 numbers takes 90 µs without, and 98 with.
const FAR_ELEMENTS: usize = 4096;
/// Elements of a run that are taken together then: a cache line of the commonest size.
const TOGETHER: usize = 16;
/// How far ahead, in elements.
const AHEAD: usize = 256;

/// Whether a run of so many elements is worth asking for ahead. Of small elements a step is too little of a
/// line.
#[inline(always)]
fn is_far<I: Isa, T>(len: usize) -> bool {
    I::LEVEL != Level::Avx512 && len > FAR_ELEMENTS && size_of::<T>() >= 4
}

multiversion! {
    fn run_map1[I, A: (Copy), F: (Map1<A>)](f: F, a: &[A], out: &mut [MaybeUninit<F::Out>]) {
        #[inline(always)]
        fn each<I: Isa, A: Copy, F: Map1<A>>(f: F, a: &[A], out: &mut [MaybeUninit<F::Out>]) {
            for (out, a) in out.iter_mut().zip(a) {
                out.write(f.eval::<I>(*a));
            }
        }
        if F::CHEAP {
            let mut done = 0;
            if is_far::<I, A>(a.len()) {
                for (a, out) in a.as_chunks::<TOGETHER>().0.iter().zip(out.as_chunks_mut::<TOGETHER>().0) {
                    stream::prefetch(a.as_ptr().wrapping_add(AHEAD));
                    stream::prefetch(out.as_ptr().wrapping_add(AHEAD));
                    each::<I, A, F>(f, a, out);
                }
                done = a.len() - a.len() % TOGETHER;
            }
            each::<I, A, F>(f, &a[done..], &mut out[done..]);
        } else {
            let done = f.first::<I>(a, out);
            let whole = a.len() - (a.len() - done) % PAD;
            each::<I, A, F>(f, &a[done..whole], &mut out[done..whole]);
            if let Some(last) = a[done..].last() {
                let rest = a.len() - whole;
                let mut padded = [*last; PAD];
                let mut results = [MaybeUninit::uninit(); PAD];
                padded[..rest].copy_from_slice(&a[whole..]);
                each::<I, A, F>(f, &padded, &mut results);
                out[whole..].copy_from_slice(&results[..rest]);
            }
        }
        f.mend(a, out);
    }
}

multiversion! {
    fn run_map2[I, A: (Copy), B: (Copy), F: (Map2<A, B>)](a: &[A], b: &[B], out: &mut [MaybeUninit<F::Out>]) {
        #[inline(always)]
        fn each<I: Isa, A: Copy, B: Copy, F: Map2<A, B>>(a: &[A], b: &[B], out: &mut [MaybeUninit<F::Out>]) {
            let f = F::default();
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                out.write(f.eval::<I>(*a, *b));
            }
        }
        if F::CHEAP {
            let mut done = 0;
            if is_far::<I, A>(a.len()) {
                let inputs = a.as_chunks::<TOGETHER>().0.iter().zip(b.as_chunks::<TOGETHER>().0);
                for ((a, b), out) in inputs.zip(out.as_chunks_mut::<TOGETHER>().0) {
                    stream::prefetch(a.as_ptr().wrapping_add(AHEAD));
                    stream::prefetch(b.as_ptr().wrapping_add(AHEAD));
                    stream::prefetch(out.as_ptr().wrapping_add(AHEAD));
                    each::<I, A, B, F>(a, b, out);
                }
                done = a.len() - a.len() % TOGETHER;
            }
            each::<I, A, B, F>(&a[done..], &b[done..], &mut out[done..]);
        } else {
            let whole = a.len() - a.len() % PAD;
            each::<I, A, B, F>(&a[..whole], &b[..whole], &mut out[..whole]);
            if let (Some(last_a), Some(last_b)) = (a.last(), b.last()) {
                let rest = a.len() - whole;
                let (mut padded_a, mut padded_b) = ([*last_a; PAD], [*last_b; PAD]);
                let mut results = [MaybeUninit::uninit(); PAD];
                padded_a[..rest].copy_from_slice(&a[whole..]);
                padded_b[..rest].copy_from_slice(&b[whole..]);
                each::<I, A, B, F>(&padded_a, &padded_b, &mut results);
                out[whole..].copy_from_slice(&results[..rest]);
            }
        }
    }
}

/// The [`TileFn`] of a function of one element.
///
/// # Safety
/// As for [`TileFn`].
pub unsafe fn tile1<A: Copy, F: Map1<A>>(
    level: Level,
    params: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
) -> usize {
    // SAFETY: the caller vouches for the pointers and lengths.
    let (a, out) = unsafe {
        (
            std::slice::from_raw_parts(inputs[0].cast(), len),
            std::slice::from_raw_parts_mut(output.cast(), len),
        )
    };
    run_map1::<A, F>(level, F::new(params), a, out);
    NO_FAULT
}

/// The [`TileFn`] of a function of two elements.
///
/// # Safety
/// As for [`TileFn`].
pub unsafe fn tile2<A: Copy, B: Copy, F: Map2<A, B>>(
    level: Level,
    _params: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
) -> usize {
    // SAFETY: the caller vouches for the pointers and lengths.
    let (a, b, out) = unsafe {
        (
            std::slice::from_raw_parts(inputs[0].cast(), len),
            std::slice::from_raw_parts(inputs[1].cast::<B>(), len),
            std::slice::from_raw_parts_mut(output.cast(), len),
        )
    };
    run_map2::<A, B, F>(level, a, b, out);
    if F::CAN_FAIL {
        return b.iter().position(|b| F::default().faulty(*b)).unwrap_or(NO_FAULT);
    }
    NO_FAULT
}
