//! Algebra of integers and truths: every function of a function, and every op with the constants that
//! rewrites look for, gives what it gave before, for every byte and for the ends of the wider dtypes.

mod interpreter;

use interpreter::{Array, Interpreter, run, same};
use situ_core::{DType, Scalar, Shape, TensorType};
use situ_ir::ops::{Binary, BinaryKind, Cast, Fill, Unary, UnaryKind};
use situ_ir::passes::{Options, optimize};
use situ_ir::{Graph, GraphBuilder, Op, Value};

fn values(dtype: DType) -> Vec<Scalar> {
    let range = dtype.whole_range().expect("no floats");
    let numbers: Vec<i128> = match dtype.size() {
        1 => range.collect(),
        _ => {
            let (least, most) = (*range.start(), *range.end());
            let middle = [-65_536, -2, -1, 0, 1, 2, 181, 46_341, 3_037_000_500];
            let middle = middle.into_iter().filter(|n| range.contains(n));
            [least, least + 1].into_iter().chain(middle).chain([most - 1, most]).collect()
        }
    };
    numbers.into_iter().map(|n| Scalar::of_whole(dtype, n)).collect()
}

fn constants(dtype: DType) -> Vec<Scalar> {
    match dtype {
        _ if dtype.size() == 1 && dtype != DType::Bool => {
            [0, 1, 2, 128, 255].map(|n| Scalar::of_whole(dtype, n)).into()
        }
        _ => values(dtype),
    }
}

/// Checks one graph of two arguments: every value, and every value again in another order.
fn check(dtype: DType, make: impl Fn(&mut GraphBuilder, Value, Value) -> Option<Value>) -> usize {
    let list = values(dtype);
    let mut turned = list.clone();
    turned.rotate_left(list.len() / 2 + 1);
    let ty = TensorType::new(dtype, Shape::new(&[list.len()]).unwrap());
    let mut builder = GraphBuilder::new();
    let (x, y) = (builder.input(ty), builder.input(ty));
    let Some(result) = make(&mut builder, x, y) else { return 0 };
    let before: Graph = builder.finish(vec![result], vec![]).unwrap();
    let data = [Array::new(ty, list), Array::new(ty, turned)];
    let mut evaluator = Interpreter { captures: Vec::new(), reads: true };
    let (after, _) = optimize(&before, &Options::default(), &mut evaluator).unwrap();
    let (wanted, found) = (run(&before, &data, &[], &[]), run(&after, &data, &evaluator.captures, &[]));
    assert!(same(&wanted[0], &found[0]), "{before}\n{:?}\n{after}\n{:?}", wanted[0], found[0]);
    1
}

fn dtypes() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| !dtype.is_float())
}

fn unaries() -> impl Iterator<Item = Unary> + Clone {
    let plain = UnaryKind::ALL.iter().copied().filter(|kind| *kind != UnaryKind::Clip).map(Unary::new);
    plain.chain([Unary::with(UnaryKind::Clip, -1.5, 2.25), Unary::with(UnaryKind::Clip, 1.0, 1.0)])
}

#[test]
fn functions_of_functions_of_integers_stay_what_they_are() {
    let mut checked = 0;
    for dtype in dtypes() {
        for inner in unaries() {
            for outer in unaries() {
                checked += check(dtype, |b, x, _| {
                    let y = b.op(inner, &[x]).ok()?;
                    b.op(outer, &[y]).ok()
                });
            }
            for kind in BinaryKind::ALL {
                for sides in 0..3 {
                    // −a ∘ b, a ∘ −b and −a ∘ −b; and the function of a ∘ b.
                    checked += check(dtype, |b, x, y| {
                        let a = if sides != 1 { b.op(inner, &[x]).ok()? } else { x };
                        let c = if sides != 0 { b.op(inner, &[y]).ok()? } else { y };
                        b.op(Binary { kind: *kind }, &[a, c]).ok()
                    });
                }
                checked += check(dtype, |b, x, y| {
                    let a = b.op(Binary { kind: *kind }, &[x, y]).ok()?;
                    b.op(inner, &[a]).ok()
                });
            }
        }
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn integers_with_constants_stay_what_they_are() {
    let mut checked = 0;
    for dtype in dtypes() {
        for kind in BinaryKind::ALL {
            let op = Binary { kind: *kind };
            checked += check(dtype, |b, x, _| b.op(op, &[x, x]).ok());
            for value in constants(dtype) {
                let fill = Fill { shape: Shape::SCALAR, value };
                for left in [false, true] {
                    let pair = |x, c| if left { [c, x] } else { [x, c] };
                    checked += check(dtype, |b, x, _| {
                        let c = b.op(fill, &[]).ok()?;
                        b.op(op, &pair(x, c)).ok()
                    });
                    for second in constants(dtype) {
                        checked += check(dtype, |b, x, _| {
                            let c = b.op(fill, &[]).ok()?;
                            let d = b.op(Fill { shape: Shape::SCALAR, value: second }, &[]).ok()?;
                            let y = b.op(op, &pair(x, c)).ok()?;
                            b.op(op, &pair(y, d)).ok()
                        });
                    }
                }
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn conversions_of_conversions_stay_what_they_are() {
    let mut checked = 0;
    for from in dtypes() {
        for middle in DType::ALL {
            for to in DType::ALL {
                checked += check(from, |b, x, _| {
                    let y = b.op(Op::from(Cast { to: middle }), &[x]).ok()?;
                    b.op(Op::from(Cast { to }), &[y]).ok()
                });
            }
        }
    }
    assert_eq!(checked, dtypes().count() * DType::ALL.len() * DType::ALL.len());
}
