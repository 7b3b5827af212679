//! Reductions over a hundred thousand and a million elements, along rows, columns, and all at once.

use super::{Answer, Cost, Given, Table};
use crate::array::wrap;
use crate::suite::case::Tolerance;
use situ_core::{Axes, DType, Shape};
use situ_ir::ops::{Reduce, ReduceKind};

/// Sizes, the axes that are reduced, and when it is run. Rows and columns are many and long: a kernel may
/// give a row to one thread. Of the widest dtype each fits into 128 MiB, the largest buffer of small
/// adapters.
const SHAPES: &[(&[usize], &[isize], Cost)] = &[
    (&[64, 66_000], &[1], Cost::Quick),
    (&[66_000, 64], &[0], Cost::Quick),
    (&[1_000_003], &[0], Cost::Quick),
    (&[3, 100_000, 5], &[1], Cost::Long),
    (&[1_000_000, 3], &[0], Cost::Long),
    (&[3, 1_000_000], &[1], Cost::Long),
    (&[1_000_000, 3], &[1], Cost::Long),
    (&[1_000, 1_003], &[0, 1], Cost::Long),
    (&[65_537, 255], &[0], Cost::Long),
    (&[65_537, 255], &[1], Cost::Long),
    (&[15, 11, 100_000], &[0, 2], Cost::Long),
    (&[1, 1_000_000], &[0], Cost::Long),
    (&[1_000_000, 1], &[1], Cost::Long),
    (&[0, 1_000_000], &[1], Cost::Long),
];

pub(super) fn cases(table: &mut Table) {
    for &(dims, axes, cost) in SHAPES {
        for kind in ReduceKind::ALL {
            let dtypes: &[DType] = match kind {
                ReduceKind::Any | ReduceKind::All => &[DType::Bool],
                ReduceKind::Mean => &[DType::F32, DType::F64],
                _ => &[DType::F32, DType::F64, DType::I32, DType::I64, DType::U8],
            };
            for &dtype in dtypes {
                // One dtype of each kernel with every run, and sums of integers; the others when asked for.
                let first =
                    matches!((dtype, kind), (DType::F32 | DType::Bool, _) | (DType::I32, ReduceKind::Sum));
                let cost = if first { cost } else { Cost::Long };
                of(table, cost, kind, dtype, dims, axes);
            }
        }
    }
}

fn of(table: &mut Table, cost: Cost, kind: ReduceKind, dtype: DType, dims: &[usize], axes: &[isize]) {
    let shape = Shape::new(dims).expect("a valid shape");
    let axes = Axes::of("reduce", &shape, axes).expect("valid axes");
    let groups = Groups::new(dims, axes);
    let is_position = matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin);
    if groups.length == 0 && (is_position || matches!(kind, ReduceKind::Max | ReduceKind::Min)) {
        return;
    }
    let op = Reduce { kind, axes, keep_dims: false };
    let tolerance = match kind {
        ReduceKind::Sum | ReduceKind::Mean => Tolerance::units(dtype, 8.0, 4.0),
        _ => Tolerance::EQUAL,
    };
    let mut push = |label: &str, x: Given| {
        let label = format!("over {axes} of {label}");
        table.push(cost, &label, op, vec![x], tolerance, move |i| groups.reduce(kind, &i[0]));
    };
    // What tells how many were counted: the far end of every group is the one that matters.
    let far = move |value: f64, rest: f64| {
        Given::by(
            dtype,
            dims,
            move |place| if groups.of(place).1 + 1 == groups.length { value } else { rest },
        )
    };
    match kind {
        ReduceKind::Sum | ReduceKind::Mean => push("ones", Given::full(dtype, dims, 1.0)),
        ReduceKind::Max | ReduceKind::ArgMax => push("a largest at the far end", far(7.0, 3.0)),
        ReduceKind::Min | ReduceKind::ArgMin => push("a smallest at the far end", far(3.0, 7.0)),
        ReduceKind::Prod => push("a two at the far end", far(2.0, 1.0)),
        ReduceKind::Any => push("a truth at the far end", far(1.0, 0.0)),
        ReduceKind::All => push("a falsehood at the far end", far(0.0, 1.0)),
    }
    if !matches!(kind, ReduceKind::Prod | ReduceKind::Any | ReduceKind::All) {
        push("noise", Given::noise(dtype, dims, 3));
    }
}

/// How elements belong to groups: by the axes that stay, and by those that go.
#[derive(Clone, Copy)]
struct Groups {
    /// For each axis its size, its stride in the groups, and its stride within a group; one of the two is 0.
    axes: [(usize, usize, usize); 3],
    count: usize,
    length: usize,
}

impl Groups {
    fn new(dims: &[usize], gone: Axes) -> Groups {
        let (mut axes, mut count, mut length) = ([(1, 0, 0); 3], 1, 1);
        for axis in (0..dims.len()).rev() {
            axes[axis] = if gone.contains(axis) { (dims[axis], 0, length) } else { (dims[axis], count, 0) };
            *(if gone.contains(axis) { &mut length } else { &mut count }) *= dims[axis];
        }
        // Axes that are not there come last, with one element.
        Groups { axes, count, length }
    }

    /// The group of a place in memory, and its place in there.
    fn of(&self, place: usize) -> (usize, usize) {
        let (mut rest, mut group, mut within) = (place, 0, 0);
        for &(size, by_group, by_place) in self.axes.iter().rev() {
            let at = rest % size.max(1);
            rest /= size.max(1);
            group += at * by_group;
            within += at * by_place;
        }
        (group, within)
    }

    fn reduce(&self, kind: ReduceKind, x: &Given) -> Answer {
        let start = match kind {
            ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Any => 0.0,
            ReduceKind::Prod | ReduceKind::All => 1.0,
            ReduceKind::Max | ReduceKind::ArgMax => f64::NEG_INFINITY,
            ReduceKind::Min | ReduceKind::ArgMin => f64::INFINITY,
        };
        let mut values = vec![start; self.count];
        let mut scale = vec![0.0; self.count];
        let mut positions = vec![0; self.count];
        for place in 0..x.len() {
            let ((group, within), value) = (self.of(place), x.at(place));
            let held = &mut values[group];
            match kind {
                ReduceKind::Sum | ReduceKind::Mean => {
                    *held += value;
                    scale[group] += value.abs();
                }
                ReduceKind::Prod => *held *= value,
                ReduceKind::Any => *held = held.max(value),
                ReduceKind::All => *held = held.min(value),
                ReduceKind::Max | ReduceKind::ArgMax if value > *held => {
                    (*held, positions[group]) = (value, within);
                }
                ReduceKind::Min | ReduceKind::ArgMin if value < *held => {
                    (*held, positions[group]) = (value, within);
                }
                // Places of a group come in order, so that the first of equals is held.
                _ => {}
            }
        }
        match kind {
            ReduceKind::ArgMax | ReduceKind::ArgMin => {
                return Answer::plain(positions.into_iter().map(|p| p as f64).collect());
            }
            ReduceKind::Mean => {
                let over = self.length as f64;
                values.iter_mut().chain(&mut scale).for_each(|v| *v /= over);
            }
            _ if !x.dtype.is_float() => {
                values.iter_mut().for_each(|v| *v = wrap(x.dtype, *v as i128) as f64);
            }
            _ => {}
        }
        Answer::All { values, scale }
    }
}
