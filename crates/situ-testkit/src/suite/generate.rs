//! Tensors made from nothing.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, wrap};
use situ_core::{DType, Scalar, Shape};
use situ_ir::ops::{Eye, Fill, Range};

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in DType::ALL {
        fills(list, dtype);
        eyes(list, dtype);
        if dtype != DType::Bool {
            ranges(list, dtype);
        }
    }
}

fn fills(list: &mut Vec<Case>, dtype: DType) {
    for dims in [&[] as &[usize], &[7], &[0, 2], &[3, 5], &[259, 263]] {
        for value in [0.0, 1.0, 3.0] {
            let op =
                Fill { shape: Shape::new(dims).expect("a valid shape"), value: Scalar::of(dtype, value) };
            let held = dims.to_vec();
            list.push(Case::new(
                &format!("{dtype}{dims:?} with {value}"),
                op,
                vec![],
                Tolerance::BITS,
                move |_| {
                    let count = held.iter().product();
                    Array::of(dtype, &held, &vec![value; count]).into()
                },
            ));
        }
    }
    if dtype.is_float() {
        for value in [f64::NAN, f64::NEG_INFINITY, -0.0, 1e-40] {
            let op =
                Fill { shape: Shape::new(&[3]).expect("a valid shape"), value: Scalar::of(dtype, value) };
            list.push(Case::new(
                &format!("{dtype} with {value:?}"),
                op,
                vec![],
                Tolerance::BITS,
                move |_| Array::real(dtype, &[3], vec![value; 3]).into(),
            ));
        }
    }
}

fn eyes(list: &mut Vec<Case>, dtype: DType) {
    for (rows, columns) in [(3, 3), (2, 5), (5, 2), (1, 1), (0, 4), (130, 131)] {
        let op = Eye { rows, columns, dtype };
        list.push(Case::new(
            &format!("{dtype}[{rows}, {columns}]"),
            op,
            vec![],
            Tolerance::BITS,
            move |_| {
                let ones = (0..rows * columns).map(|at| f64::from(u8::from(at / columns == at % columns)));
                Array::of(dtype, &[rows, columns], &ones.collect::<Vec<_>>()).into()
            },
        ));
    }
}

fn ranges(list: &mut Vec<Case>, dtype: DType) {
    for (start, step, count) in
        [(0.0, 1.0, 10), (5.0, 0.0, 3), (0.0, 1.0, 0), (100.0, -3.0, 20), (0.5, 0.25, 33), (3.0, 1.0, 70_001)]
    {
        let (first, by) = (Scalar::of(dtype, start), Scalar::of(dtype, step));
        let op = Range { start: first, step: by, count };
        let tolerance = Tolerance::units(dtype, 2.0, 1.0);
        let label = format!("{dtype} from {start} by {step}, {count} of them");
        list.push(Case::new(&label, op, vec![], tolerance, move |_| {
            range(dtype, first.to_f64(), by.to_f64(), count)
        }));
    }
    if dtype.is_integer() {
        // Integers wrap past the end of their range.
        let first = *dtype.whole_range().expect("an integer").end() - 2;
        let start = Scalar::of_whole(dtype, first);
        let op = Range { start, step: Scalar::of(dtype, 1.0), count: 6 };
        list.push(Case::new(&format!("{dtype} past the end"), op, vec![], Tolerance::EQUAL, move |_| {
            let values = (0..6).map(|i| wrap(dtype, first.wrapping_add(i)));
            Array::whole(dtype, &[6], values.collect()).into()
        }));
    }
}

fn range(dtype: DType, start: f64, step: f64, count: usize) -> Expected {
    if dtype.is_float() {
        let values: Vec<f64> = (0..count).map(|i| start + i as f64 * step).collect();
        let scale = (0..count).map(|i| start.abs() + (i as f64 * step).abs()).collect();
        return Expected { array: Array::unrounded(dtype, &[count], values), scale: Some(scale) };
    }
    let (start, step) = (start as i128, step as i128);
    let values = (0..count as i128).map(|i| wrap(dtype, start.wrapping_add(i.wrapping_mul(step))));
    Array::whole(dtype, &[count], values.collect()).into()
}
