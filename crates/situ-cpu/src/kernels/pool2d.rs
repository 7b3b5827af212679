//! Pooling and its gradients, one plane of one channel at a time; f32 and f64.

use super::pool2d_pairs::{back_to_largest_of_pairs, largest_of_pairs};
use super::{CpuKernel, start};
use crate::exec::{Exec, Shared};
use crate::math::Float;
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::ops::pool2d::{Pool2d, PoolKind};
use situ_ir::ops::window::{Format, Image};
use situ_ir::{Op, OpKind};

/// Pixels of windows worth a task of their own.
const GRAIN: usize = 16 << 10;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::Pool2d, &[DType::F32], CpuKernel::dense(forward::<f32>));
    registry.add(OpKind::Pool2d, &[DType::F64], CpuKernel::dense(forward::<f64>));
    registry.add(OpKind::Pool2dByInput, &[DType::F32], CpuKernel::dense(backward::<f32>));
    registry.add(OpKind::Pool2dByInput, &[DType::F64], CpuKernel::dense(backward::<f64>));
}

/// One plane: where it starts, and how far it is to the next row and the next column.
#[derive(Clone, Copy)]
struct Plane<P> {
    start: P,
    row: usize,
    column: usize,
}

/// The planes of images, by number.
fn offset(strides: [usize; 4], channels: usize, number: usize) -> usize {
    number / channels * strides[0] + number % channels * strides[1]
}

/// The pixels of a window's axis that are within the image: from, to (exclusive), and the position of the
/// first.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    count: usize,
}

/// For each place along an axis, which pixels its window has.
fn spans(pool: &Pool2d, axis: usize, size: usize, places: usize) -> Vec<Span> {
    let (stride, dilation) = (pool.window.stride[axis] as isize, pool.window.dilation[axis] as isize);
    let (before, window) = (pool.window.padding[axis][0] as isize, pool.size[axis] as isize);
    let span = |place: usize| {
        let start = place as isize * stride - before;
        let skipped = if start < 0 { (-start + dilation - 1) / dilation } else { 0 };
        let end = ((size as isize - start + dilation - 1) / dilation).min(window);
        let first = start + skipped * dilation;
        Span { first: first as usize, count: (end - skipped).max(0) as usize }
    };
    (0..places).map(span).collect()
}

struct Pooling {
    pool: Pool2d,
    rows: Vec<Span>,
    columns: Vec<Span>,
    input: Image,
    output: Image,
}

impl Pooling {
    fn of(pool: &Pool2d, call: &Call<'_>) -> Result<Pooling> {
        let [input, output] = pool.sizes(call.op.name(), &[call.inputs[0].tensor_type()])?;
        Ok(Pooling {
            pool: *pool,
            rows: spans(pool, 0, input.size[0], output.size[0]),
            columns: spans(pool, 1, input.size[1], output.size[1]),
            input,
            output,
        })
    }

    /// Whether it is the [commonest](super::pool2d_pairs).
    fn is_of_pairs(&self) -> bool {
        let Pool2d { kind, size, window } = self.pool;
        kind == PoolKind::Max
            && size == [2; 2]
            && window.stride == [2; 2]
            && window.dilation == [1; 2]
            && window.format == Format::ChannelsFirst
            && !self.rows.is_empty()
            && !self.columns.is_empty()
            && self.rows.iter().chain(&self.columns).all(|span| span.count == 2)
            && self.rows.first().is_none_or(|span| span.first == 0)
            && self.columns.first().is_none_or(|span| span.first == 0)
    }

    /// Pixels of a plane of the input, of a row of it, and of a row and a plane of the output.
    fn extents(&self) -> [usize; 4] {
        let ([height, width], [rows, columns]) = (self.input.size, self.output.size);
        [height * width, width, columns, rows * columns]
    }

    /// Calls `f` with the offsets of every plane in images like the input's and like the output's.
    fn planes(&self, exec: &Exec<'_>, f: impl Fn(usize, usize) + Sync) {
        let channels = self.input.channels;
        let format = self.pool.window.format;
        let strides = [format.strides(&self.input), format.strides(&self.output)];
        let work = self.output.size[0] * self.output.size[1] * self.pool.size[0] * self.pool.size[1];
        exec.for_ranges(self.input.batch * channels, GRAIN.div_ceil(work.max(1)), |from, to| {
            for number in from..to {
                f(offset(strides[0], channels, number), offset(strides[1], channels, number));
            }
        });
    }

    /// The plane of an input and of an output.
    fn plane<P>(&self, of_input: bool, start: P) -> Plane<P> {
        let image = if of_input { &self.input } else { &self.output };
        let [_, _, row, column] = self.pool.window.format.strides(image);
        Plane { start, row, column }
    }

    /// Where the largest of a window is, the first of equals; NaN counts as largest.
    ///
    /// # Safety
    /// The plane can be read.
    #[inline(always)]
    unsafe fn largest<T: Float>(&self, x: Plane<*const T>, row: Span, column: Span) -> (usize, T) {
        let [down, across] = self.pool.window.dilation;
        let mut best: Option<(usize, T)> = None;
        for i in 0..row.count {
            let line = (row.first + i * down) * x.row;
            for j in 0..column.count {
                let at = line + (column.first + j * across) * x.column;
                // SAFETY: spans are within the image.
                let value = unsafe { *x.start.add(at) };
                let better = match best {
                    None => true,
                    Some((_, held)) => value > held || (value.is_nan() && !held.is_nan()),
                };
                if better {
                    best = Some((at, value));
                }
            }
        }
        best.unwrap_or((0, T::ZERO))
    }
}

fn forward<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Pool2d(pool) = call.op else { return Err(super::refused(call)) };
    let pooling = Pooling::of(pool, call)?;
    let from = Shared(start(&call.inputs[0]).cast::<T>().cast_const());
    let to = Shared(start(&call.outputs[0]).cast::<T>());
    let [down, across] = pool.window.dilation;
    if pooling.is_of_pairs() {
        let [area, width, columns, places] = pooling.extents();
        pooling.planes(exec, |source, target| {
            // SAFETY: planes are within their images; every plane of the output is one task's.
            let (x, y) = unsafe {
                (
                    std::slice::from_raw_parts(from.get().add(source), area),
                    std::slice::from_raw_parts_mut(to.get().add(target), places),
                )
            };
            largest_of_pairs(exec.level, x, width, columns, y);
        });
        return Ok(());
    }
    pooling.planes(exec, |source, target| {
        // SAFETY: planes are within their images, spans within planes; every plane of the output is one
        // task's.
        unsafe {
            let x = pooling.plane(true, from.get().add(source));
            let y = pooling.plane(false, to.get().add(target));
            for (i, row) in pooling.rows.iter().enumerate() {
                for (j, column) in pooling.columns.iter().enumerate() {
                    let value = match pool.kind {
                        PoolKind::Max => pooling.largest(x, *row, *column).1,
                        PoolKind::Average => {
                            let mut sum = T::ZERO;
                            for a in 0..row.count {
                                let line = (row.first + a * down) * x.row;
                                for b in 0..column.count {
                                    sum = sum + *x.start.add(line + (column.first + b * across) * x.column);
                                }
                            }
                            sum / T::from_f64((row.count * column.count) as f64)
                        }
                    };
                    *y.start.add(i * y.row + j * y.column) = value;
                }
            }
        }
    });
    Ok(())
}

fn backward<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Pool2dByInput(op) = call.op else { return Err(super::refused(call)) };
    let pooling = Pooling::of(&op.pool, call)?;
    let from = Shared(start(&call.inputs[0]).cast::<T>().cast_const());
    let upstream = Shared(start(&call.inputs[1]).cast::<T>().cast_const());
    let to = Shared(start(&call.outputs[0]).cast::<T>());
    let [down, across] = op.pool.window.dilation;
    if pooling.is_of_pairs() {
        let [area, width, columns, places] = pooling.extents();
        pooling.planes(exec, |source, target| {
            // SAFETY: planes are within their images; every plane of the images is one task's.
            let (x, upstream, back) = unsafe {
                (
                    std::slice::from_raw_parts(from.get().add(source), area),
                    std::slice::from_raw_parts(upstream.get().add(target), places),
                    std::slice::from_raw_parts_mut(to.get().add(source), area),
                )
            };
            back_to_largest_of_pairs(exec.level, x, width, columns, upstream, back);
        });
        return Ok(());
    }
    pooling.planes(exec, |source, target| {
        // SAFETY: as forwards; every plane of the images is one task's.
        unsafe {
            let x = pooling.plane(true, from.get().add(source));
            let back = pooling.plane(true, to.get().add(source));
            let y = pooling.plane(false, upstream.get().add(target));
            for i in 0..pooling.input.size[0] {
                for j in 0..pooling.input.size[1] {
                    *back.start.add(i * back.row + j * back.column) = T::ZERO;
                }
            }
            for (i, row) in pooling.rows.iter().enumerate() {
                for (j, column) in pooling.columns.iter().enumerate() {
                    let part = *y.start.add(i * y.row + j * y.column);
                    match op.pool.kind {
                        PoolKind::Max => {
                            let to = back.start.add(pooling.largest(x, *row, *column).0);
                            *to = *to + part;
                        }
                        PoolKind::Average => {
                            let share = part / T::from_f64((row.count * column.count) as f64);
                            for a in 0..row.count {
                                let line = (row.first + a * down) * back.row;
                                for b in 0..column.count {
                                    let to = back.start.add(line + (column.first + b * across) * back.column);
                                    *to = *to + share;
                                }
                            }
                        }
                    }
                }
            }
        }
    });
    Ok(())
}
