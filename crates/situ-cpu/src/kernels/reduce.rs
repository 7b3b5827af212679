//! Reductions over any axes, on the primitives of [`crate::reduce`], and running sums.
//!
//! Numbers for sum, prod, max, min, argmax and argmin; floats for mean; bool for any and all: whatever the
//! op's rule lets through. A layout that is a permutation without gaps is read in place where the result does
//! not have to be transposed, and does not depend on the order of memory, as sums of floats and the sign of
//! the larger zero do; others are made dense first. So the same numbers give the same bits, however they lie.

use super::{CpuKernel, start};
use crate::elementwise::{self, Operand, cast::cast};
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::reduce::groups::Groups;
use crate::reduce::{All, Any, ArgKind, Max, Min, Prod, Reducer, Sum, arg_reduce, reduce};
use crate::wrapping::with_wrapping;
use situ_core::{Axes, DType, Layout, Result, TensorType, with_float, with_integer};
use situ_device::{Call, Registry};
use situ_ir::ops::{Reduce, ReduceKind};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    let own: Vec<DType> = DType::ALL.into_iter().filter(|d| !d.is_half()).collect();
    registry.add(OpKind::Reduce, &own, CpuKernel { run, accepts, workspace, in_place: false, in_f32: false });
    for dtype in own.into_iter().filter(|d| d.is_numeric()) {
        // Sums of integers wrap: their sign makes no difference.
        let kernel = with_float!(dtype, T => CpuKernel::dense(running::<T>),
            else with_wrapping!(dtype.size(), T => CpuKernel::dense(running::<T>)));
        registry.add(OpKind::Cumsum, &[dtype], kernel);
    }
}

/// Besides dense layouts, those that need no workspace: its size is asked for without knowing the layout.
fn accepts(op: &Op, _: usize, layout: &Layout) -> bool {
    let Op::Reduce(op) = op else { return false };
    Groups::new(layout, op.axes).is_some_and(|groups| {
        let same_order = || Groups::new(&Layout::dense(*layout.shape()), op.axes) == Some(groups);
        groups.reductions() == 1 && (!is_ordered(op.kind) || same_order())
    })
}

/// Whether the order in which elements are taken can show in the result.
fn is_ordered(kind: ReduceKind) -> bool {
    match kind {
        ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Prod | ReduceKind::Max | ReduceKind::Min => true,
        ReduceKind::ArgMax | ReduceKind::ArgMin | ReduceKind::Any | ReduceKind::All => false,
    }
}

/// Positions among axes that do not lie together cannot be put together from partial results.
fn fits(kind: ReduceKind, groups: &Groups) -> bool {
    groups.reductions() <= 1 || !matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin)
}

/// Room for the results between one group of axes and the next; for positions, for a copy in which the
/// reduced axes lie together.
fn workspace(op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let (Op::Reduce(op), [input]) = (op, inputs) else { return 0 };
    let Some(groups) = Groups::new(&Layout::dense(input.shape), op.axes) else { return 0 };
    if !fits(op.kind, &groups) {
        return input.bytes();
    }
    between(&groups).iter().sum::<usize>() * input.dtype.size()
}

/// Elements after the first reduction, and after the second, where more follow: later ones use the two places
/// in turn.
fn between(groups: &Groups) -> [usize; 2] {
    let mut room = [0; 2];
    let mut left = *groups;
    let mut stage = 0;
    while let Some((extent, next)) = left.innermost() {
        if next.reductions() > 0 {
            room[stage % 2] = room[stage % 2].max(extent.outer * extent.inner);
        }
        left = next;
        stage += 1;
    }
    room
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Reduce(op) = call.op else { return Err(super::refused(call)) };
    // The op's rule has paired kinds with dtypes; bool has only any and all.
    let dtype = call.inputs[0].dtype;
    match op.kind {
        ReduceKind::Any => staged::<u8, Any>(exec, call, op.axes),
        ReduceKind::All => staged::<u8, All>(exec, call, op.axes),
        // The sums and products of integers wrap, so that their sign makes no difference.
        ReduceKind::Sum if dtype.is_integer() => {
            with_wrapping!(dtype.size(), T => staged::<T, Sum>(exec, call, op.axes));
        }
        ReduceKind::Prod if dtype.is_integer() => {
            with_wrapping!(dtype.size(), T => staged::<T, Prod>(exec, call, op.axes));
        }
        _ => with_float!(dtype, T => float::<T>(exec, call, op),
            else with_integer!(dtype, T => ordered::<T>(exec, call, op), else ())),
    }
    Ok(())
}

fn float<T: Float>(exec: &Exec<'_>, call: &Call<'_>, op: &Reduce)
where
    Sum: Reducer<T>,
    Prod: Reducer<T>,
    Max: Reducer<T>,
    Min: Reducer<T>,
{
    match op.kind {
        ReduceKind::Sum | ReduceKind::Mean => staged::<T, Sum>(exec, call, op.axes),
        ReduceKind::Prod => staged::<T, Prod>(exec, call, op.axes),
        _ => ordered::<T>(exec, call, op),
    }
    if op.kind == ReduceKind::Mean {
        let output = &call.outputs[0];
        let count: usize = op.axes.iter().map(|axis| call.inputs[0].layout.shape()[axis]).product();
        // SAFETY: the output is dense memory of its own with that many elements, all written above.
        let sums = unsafe {
            std::slice::from_raw_parts_mut(start(output).cast::<T>(), output.layout.shape().elements())
        };
        // 0/0 is NaN: the mean of nothing.
        let count = T::from_f64(count as f64);
        sums.iter_mut().for_each(|sum| *sum = *sum / count);
    }
}

/// The largest, the smallest, or where they are.
fn ordered<T: Copy + PartialOrd + Send + Sync + 'static>(exec: &Exec<'_>, call: &Call<'_>, op: &Reduce)
where
    Max: Reducer<T>,
    Min: Reducer<T>,
{
    match op.kind {
        ReduceKind::Max => staged::<T, Max>(exec, call, op.axes),
        ReduceKind::Min => staged::<T, Min>(exec, call, op.axes),
        ReduceKind::ArgMax => positions::<T>(exec, call, op.axes, ArgKind::Max),
        ReduceKind::ArgMin => positions::<T>(exec, call, op.axes, ArgKind::Min),
        ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Prod | ReduceKind::Any | ReduceKind::All => {}
    }
}

/// One group of neighbouring axes after the other, from the innermost out.
fn staged<T: Copy + Send + Sync + 'static, R: Reducer<T>>(exec: &Exec<'_>, call: &Call<'_>, axes: Axes) {
    let (input, output) = (&call.inputs[0], &call.outputs[0]);
    let Some(mut groups) = Groups::new(input.layout, axes) else { return };
    let output_start = start(output).cast::<T>();
    if groups.reductions() == 0 {
        // SAFETY: nothing is reduced, so both have the same elements in the same order, in memory of their
        // own.
        return unsafe {
            std::ptr::copy_nonoverlapping(
                start(input).cast::<T>(),
                output_start,
                output.layout.shape().elements(),
            );
        };
    }
    let workspace =
        call.workspace.and_then(|region| region.host()).map_or(std::ptr::null_mut(), |p| p.as_ptr());
    let first = workspace.cast::<T>();
    let places = [first, first.wrapping_add(between(&groups)[0])];
    let mut from = start(input).cast::<T>().cast_const();
    let mut stage = 0;
    while let Some((extent, left)) = groups.innermost() {
        let to = if left.reductions() == 0 { output_start } else { places[stage % 2] };
        // SAFETY: `from` holds what the last stage wrote, or the input; `to` is the output, or a place in the
        // workspace that was sized for it and is not the one just read.
        unsafe { reduce::<T, R>(exec, from, to, extent) };
        from = to;
        groups = left;
        stage += 1;
    }
}

fn positions<T: Copy + PartialOrd + Send + Sync + 'static>(
    exec: &Exec<'_>,
    call: &Call<'_>,
    axes: Axes,
    kind: ArgKind,
) {
    let (input, output) = (&call.inputs[0], &call.outputs[0]);
    let to = start(output).cast::<i32>();
    let Some(groups) = Groups::new(input.layout, axes) else { return };
    if let (1, Some((extent, _))) = (groups.reductions(), groups.innermost()) {
        // SAFETY: the input has the elements of the extent, and the output its results.
        return unsafe { arg_reduce(exec, kind, start(input).cast::<T>(), to, extent) };
    }
    let shape = input.layout.shape();
    if groups.reductions() == 0 {
        // Every element is alone, and is the first.
        // SAFETY: the output is dense memory of its own.
        return unsafe { std::slice::from_raw_parts_mut(to, output.layout.shape().elements()).fill(0) };
    }
    // The reduced axes are brought together behind the kept ones; an element's number among them is then its
    // place in a row.
    let Some(copy) = call.workspace.and_then(|region| region.host()) else { return };
    let copy = copy.as_ptr().cast::<T>();
    let order = (0..shape.rank()).filter(|a| !axes.contains(*a)).chain(axes.iter());
    let (mut sizes, mut strides) = ([1; situ_core::MAX_RANK], [0; situ_core::MAX_RANK]);
    for (to, axis) in order.enumerate() {
        (sizes[to], strides[to]) = (shape[axis], input.layout.strides()[axis]);
    }
    let rank = shape.rank();
    let operand = Operand { start: start(input), size: input.dtype.size(), strides: Some(&strides[..rank]) };
    // A conversion of a dtype to itself is a copy.
    let op = cast(input.dtype, input.dtype);
    // SAFETY: the permuted strides address the input's own elements; the workspace has room for all of them.
    unsafe {
        // A copy has no faults.
        let _ = elementwise::run(
            exec,
            op,
            [0.0; 2],
            &sizes[..rank],
            &[operand],
            copy.cast(),
            input.dtype.size(),
            1 << 15,
        );
        let length = groups.reduced_elements();
        let extent = crate::reduce::Extent { outer: shape.elements() / length.max(1), length, inner: 1 };
        arg_reduce(exec, kind, copy, to, extent);
    }
}

/// What running sums are added up in.
trait Running: Copy + Send + Sync {
    type Sum: Copy + Default;
    fn plus(sum: Self::Sum, here: Self) -> Self::Sum;
    fn of(sum: Self::Sum) -> Self;
}

macro_rules! running {
    ($($t:ty, $sum:ty, |$a:ident, $b:ident| $plus:expr;)*) => {$(
        impl Running for $t {
            type Sum = $sum;
            #[inline(always)]
            fn plus($a: $sum, $b: $t) -> $sum { $plus }
            #[inline(always)]
            fn of(sum: $sum) -> $t { sum as $t }
        }
    )*};
}

running! {
    // In f64, a million f32 are added up without a rounding that f32 could see.
    f32, f64, |a, b| a + f64::from(b);
    f64, f64, |a, b| a + b;
    i32, i32, |a, b| a.wrapping_add(b);
    i64, i64, |a, b| a.wrapping_add(b);
    u8, u8, |a, b| a.wrapping_add(b);
    u16, u16, |a, b| a.wrapping_add(b);
}

/// Running sums along an axis. Neighbouring rows go along it together, as many as a task has: each is added
/// up in order, by one task.
fn running<T: Running>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    const TOGETHER: usize = 64;
    let (Op::Cumsum(op), [input], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let (shape, axis) = (input.layout.shape(), usize::from(op.axis));
    let (length, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    if shape.elements() == 0 {
        return Ok(());
    }
    let outer = shape.elements() / (length * inner);
    let blocks = inner.div_ceil(TOGETHER);
    // Short rows are dealt many to a task.
    let grain = (16 << 10) / (length * inner.min(TOGETHER)) + 1;
    let (from, to) = (Shared(start(input).cast::<T>().cast_const()), Shared(start(output).cast::<T>()));
    exec.for_ranges(outer * blocks, grain, |first, end| {
        for task in first..end {
            let column = task % blocks * TOGETHER;
            let width = TOGETHER.min(inner - column);
            let mut sums = [T::Sum::default(); TOGETHER];
            for step in 0..length {
                let along = if op.reverse { length - 1 - step } else { step };
                let at = (task / blocks * length + along) * inner + column;
                for (n, sum) in sums[..width].iter_mut().enumerate() {
                    // SAFETY: both tensors are dense and of one shape, in memory of their own, and the place
                    // is one of it: `task / blocks` is below `outer`, `along` below `length` and `column + n`
                    // below `inner`. No other task writes there.
                    unsafe {
                        let after = T::plus(*sum, *from.get().add(at + n));
                        to.get().add(at + n).write(T::of(if op.exclusive { *sum } else { after }));
                        *sum = after;
                    }
                }
            }
        }
    });
    Ok(())
}
