//! Ops that look at their input differently, and the one that makes a view dense.

use super::case::{Case, Tolerance};
use crate::array::{Array, indices, position};
use crate::input::{Form, Input};
use crate::numbers::{Noise, special};
use situ_core::{DType, Shape};
use situ_ir::ops::{Dense, Expand, Permute, Reshape, Slice, StopGradient};

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in DType::ALL {
        let mut noise = Noise::named(dtype.name());
        reshapes(list, dtype, &mut noise);
        permutations(list, dtype, &mut noise);
        expansions(list, dtype, &mut noise);
        slices(list, dtype, &mut noise);
        copies(list, dtype, &mut noise);
        stops(list, dtype, &mut noise);
    }
}

fn reshapes(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    let mut push = |label: &str, input: Input, to: &[usize]| {
        let dims = to.to_vec();
        let op = Reshape { shape: Shape::new(to).expect("a valid shape") };
        let label = format!("to {dims:?} {label}");
        list.push(Case::new(&label, op, vec![input], Tolerance::BITS, move |i| i[0].reshaped(&dims).into()));
    };
    for (from, to) in [(&[6][..], &[2, 3][..]), (&[2, 3, 4], &[4, 6]), (&[1], &[]), (&[0, 3], &[5, 0])] {
        push("", noise.array(dtype, from).into(), to);
    }
    for form in Form::VIEWS {
        // Of a transpose it must move the elements; of the others it may.
        push(form.name(), Input::formed(noise.array(dtype, &[4, 6]), form), &[3, 8]);
    }
    push("expanded", Input::expanded(noise.array(dtype, &[3, 1]), &[3, 4]), &[12]);
}

fn permutations(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    for (dims, order) in [
        (&[] as &[usize], &[] as &[usize]),
        (&[5], &[0]),
        (&[3, 4], &[1, 0]),
        (&[2, 3, 4], &[2, 0, 1]),
        (&[0, 3], &[1, 0]),
        (&[1, 2, 1, 3, 1, 2, 1, 2], &[7, 5, 3, 1, 6, 4, 2, 0]),
        (&[65, 130], &[1, 0]),
    ] {
        let held = order.to_vec();
        let op = Permute::new(order).expect("a valid order");
        let input = noise.array(dtype, dims).into();
        list.push(Case::new(&format!("by {order:?}"), op, vec![input], Tolerance::BITS, move |i| {
            let to: Vec<usize> = held.iter().map(|&a| i[0].dims[a]).collect();
            let positions: Vec<usize> = indices(&to)
                .map(|index| {
                    let mut from = vec![0; index.len()];
                    held.iter().zip(&index).for_each(|(&axis, &at)| from[axis] = at);
                    position(&i[0].dims, &from)
                })
                .collect();
            i[0].pick(&to, positions).into()
        }));
    }
}

fn expansions(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    for (dims, to) in [
        (&[] as &[usize], &[2, 3][..]),
        (&[3, 1], &[3, 4]),
        (&[4], &[2, 3, 4]),
        (&[1, 5], &[0, 5]),
        (&[1, 1], &[130, 70]),
    ] {
        let held = to.to_vec();
        let op = Expand { shape: Shape::new(to).expect("a valid shape") };
        let input = noise.array(dtype, dims).into();
        list.push(Case::new(&format!("to {to:?}"), op, vec![input], Tolerance::BITS, move |i| {
            let own = &i[0].dims;
            let positions: Vec<usize> = indices(&held)
                .map(|index| {
                    let last = index[held.len() - own.len()..].iter().zip(own);
                    position(own, &last.map(|(&at, &d)| if d == 1 { 0 } else { at }).collect::<Vec<_>>())
                })
                .collect();
            i[0].pick(&held, positions).into()
        }));
    }
}

fn slices(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    type Spans = &'static [(usize, isize, usize)];
    let table: [(&[usize], Spans); 8] = [
        (&[7], &[(2, 1, 3)]),
        (&[7], &[(1, 2, 3)]),
        (&[7], &[(6, -3, 3)]),
        (&[5, 6], &[(1, 1, 3), (1, 2, 2)]),
        (&[5, 6], &[(4, -1, 5), (5, -2, 3)]),
        (&[3, 4], &[(0, 1, 0), (0, 1, 4)]),
        (&[9, 11], &[(3, 1, 1), (0, 1, 11)]),
        (&[200, 130], &[(1, 3, 66), (129, -1, 130)]),
    ];
    for (dims, spans) in table {
        let starts: Vec<usize> = spans.iter().map(|s| s.0).collect();
        let steps: Vec<isize> = spans.iter().map(|s| s.1).collect();
        let sizes: Vec<usize> = spans.iter().map(|s| s.2).collect();
        let op = Slice::new(&starts, &steps, &sizes).expect("a valid slice");
        let input = noise.array(dtype, dims).into();
        list.push(Case::new(&format!("at {spans:?}"), op, vec![input], Tolerance::BITS, move |i| {
            let positions: Vec<usize> = indices(&sizes)
                .map(|index| {
                    let from =
                        index.iter().zip(spans).map(|(&at, s)| (s.0 as isize + at as isize * s.1) as usize);
                    position(&i[0].dims, &from.collect::<Vec<_>>())
                })
                .collect();
            i[0].pick(&sizes, positions).into()
        }));
    }
}

fn copies(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    let mut push = |label: &str, input: Input| {
        list.push(Case::new(label, Dense, vec![input], Tolerance::BITS, |i: &[Array]| i[0].clone().into()));
    };
    push("corners", special(dtype).into());
    for dims in [&[5, 7][..], &[3, 4, 5], &[2, 0]] {
        for form in Form::VIEWS {
            push(form.name(), Input::formed(noise.array(dtype, dims), form));
        }
    }
    push("expanded", Input::expanded(noise.array(dtype, &[5, 1]), &[2, 5, 3]));
    push("large transposed", Input::formed(noise.array(dtype, &[263, 277]), Form::Transposed));
    push("large stepped", Input::formed(noise.array(dtype, &[263, 27]), Form::Stepped));
}

fn stops(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    for form in Form::VIEWS {
        let array = noise.array(dtype, &[4, 3]);
        list.push(Case::formed("", form, StopGradient, vec![array], Tolerance::BITS, |i| {
            i[0].clone().into()
        }));
    }
}
