//! The instructions of a chain: what becomes of the block in registers. Each is compiled once per width, in
//! [`run`](super::run).

use super::lanes::Lanes;
use std::arch::x86_64::*;

/// Vectors of a block. As many as the calling convention passes in registers.
pub(super) const VECTORS: usize = 8;

/// The block in registers that instructions work on.
pub(super) type Block<L> = [<L as Lanes>::V; VECTORS];

/// An operand in memory: its address, and which bits of the position within the run apply to it (all, or none
/// where it is the same for every block).
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub(super) start: *mut u8,
    pub(super) moves: usize,
}

impl Address {
    #[inline(always)]
    fn at(self, position: usize) -> *mut f32 {
        self.start.wrapping_add(position & self.moves).cast()
    }
}

/// What an instruction works with beside the block.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) m: Address,
    pub(super) n: Address,
    pub(super) params: [f32; 2],
}

/// A function of one vector.
pub(super) trait Map {
    /// # Safety
    /// As for [`Lanes`].
    unsafe fn eval<L: Lanes>(x: L::V, params: [f32; 2]) -> L::V;
}

/// A function of two vectors.
pub(super) trait Function {
    /// # Safety
    /// As for [`Lanes`].
    unsafe fn eval<L: Lanes>(a: L::V, b: L::V) -> L::V;
}

/// The block made of an expression for each vector. A macro, as a closure would be compiled without the
/// width's instructions.
macro_rules! each {
    (|$k:ident, $x:ident| $e:expr, $block:expr) => {{
        let [v0, v1, v2, v3, v4, v5, v6, v7] = $block;
        [
            each!(@ $k, $x, 0, v0, $e),
            each!(@ $k, $x, 1, v1, $e),
            each!(@ $k, $x, 2, v2, $e),
            each!(@ $k, $x, 3, v3, $e),
            each!(@ $k, $x, 4, v4, $e),
            each!(@ $k, $x, 5, v5, $e),
            each!(@ $k, $x, 6, v6, $e),
            each!(@ $k, $x, 7, v7, $e),
        ]
    }};
    (@ $k:ident, $x:ident, $number:literal, $v:ident, $e:expr) => {{
        let ($k, $x) = ($number * L::LANES, $v);
        $e
    }};
}

/// Instructions, each by what it makes of a vector `x` that is `k` floats into the block.
macro_rules! instructions {
    ($($(#[$meta:meta])* $name:ident $(<$f:ident: $bound:ident>)?, |$o:ident, $position:ident, $k:ident, $x:ident| { $(let $pre:ident = $init:expr;)* } $e:expr;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As for [`Lanes`]; the operands' addresses are good for a block at `position`.
        #[inline(always)]
        #[allow(unused_variables)] // not every instruction has operands in memory
        pub(super) unsafe fn $name<L: Lanes $(, $f: $bound)?>($o: &Operands, $position: usize, block: Block<L>) -> Block<L> {
            // SAFETY: the caller's promise.
            unsafe {
                $(let $pre = $init;)*
                each!(|$k, $x| $e, block)
            }
        }
    )*};
}

instructions! {
    /// `m`
    load, |o, position, k, x| { let m = o.m.at(position); } L::load(m.add(k));
    /// The block, written to `m` as well.
    store, |o, position, k, x| { let m = o.m.at(position); } { L::store(m.add(k), x); x };
    /// [`store`] past the caches.
    store_past_caches, |o, position, k, x| { let m = o.m.at(position); } { L::stream(m.add(k), x); x };
    /// `f(block)`
    map<F: Map>, |o, position, k, x| { let params = o.params; } F::eval::<L>(x, params);
    /// `f(block, block)`
    both<F: Function>, |o, position, k, x| {} F::eval::<L>(x, x);
    /// `f(block, m)`
    left<F: Function>, |o, position, k, x| { let m = o.m.at(position); } F::eval::<L>(x, L::load(m.add(k)));
    /// `f(m, block)`
    right<F: Function>, |o, position, k, x| { let m = o.m.at(position); } F::eval::<L>(L::load(m.add(k)), x);
    /// `m` where the block holds, else `n`.
    choose, |o, position, k, x| { let m = o.m.at(position); let n = o.n.at(position); }
        L::select(x, L::load(m.add(k)), L::load(n.add(k)));
}

/// Functions of one vector, each by its formula.
macro_rules! maps {
    ($($name:ident |$x:ident, $params:ident| $value:expr;)*) => {$(
        pub(super) struct $name;

        impl Map for $name {
            #[inline(always)]
            #[allow(unused_variables)] // most have no parameters
            unsafe fn eval<L: Lanes>($x: L::V, $params: [f32; 2]) -> L::V {
                // SAFETY: the caller's promise.
                unsafe { $value }
            }
        }
    )*};
}

/// The sign of a float.
const SIGN: u32 = 1 << 31;

maps! {
    Neg |x, params| L::xor(x, SIGN);
    Abs |x, params| L::and(x, !SIGN);
    Sqrt |x, params| L::sqrt(x);
    Rsqrt |x, params| L::div(L::splat(1.0), L::sqrt(x));
    Square |x, params| L::mul(x, x);
    Reciprocal |x, params| L::div(L::splat(1.0), x);
    // Where neither is larger the second is taken, so NaN and -0 stay.
    Relu |x, params| L::larger(L::splat(0.0), x);
    LeakyRelu |x, params| {
        L::select(L::compare::<_CMP_LT_OQ>(x, L::splat(0.0)), L::mul(L::splat(params[0]), x), x)
    };
    Clip |x, params| L::smaller(L::splat(params[1]), L::larger(L::splat(params[0]), x));
}

/// Functions of two vectors, each by its formula.
macro_rules! functions {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        pub(super) struct $name;

        impl Function for $name {
            #[inline(always)]
            unsafe fn eval<L: Lanes>($a: L::V, $b: L::V) -> L::V {
                // SAFETY: the caller's promise.
                unsafe { $value }
            }
        }
    )*};
}

functions! {
    Add |a, b| L::add(a, b);
    Sub |a, b| L::sub(a, b);
    Mul |a, b| L::mul(a, b);
    Div |a, b| L::div(a, b);
    // A NaN in `b` is what `larger` takes; one in `a` is put in its place.
    Maximum |a, b| L::select(L::compare::<_CMP_UNORD_Q>(a, a), a, L::larger(a, b));
    Minimum |a, b| L::select(L::compare::<_CMP_UNORD_Q>(a, a), a, L::smaller(a, b));
    Equal |a, b| L::compare::<_CMP_EQ_OQ>(a, b);
    NotEqual |a, b| L::compare::<_CMP_NEQ_UQ>(a, b);
    Less |a, b| L::compare::<_CMP_LT_OQ>(a, b);
    LessEqual |a, b| L::compare::<_CMP_LE_OQ>(a, b);
    Greater |a, b| L::compare::<_CMP_GT_OQ>(a, b);
    GreaterEqual |a, b| L::compare::<_CMP_GE_OQ>(a, b);
}
