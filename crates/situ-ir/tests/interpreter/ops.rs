//! Ops on whole tensors.

use super::element::{binary, cast, unary};
use super::images;
use super::{Array, made, rounded};
use situ_core::{DType, Scalar, Shape, TensorType};
use situ_ir::Op;
use situ_ir::ops::{BinaryKind, Matmul, Program, Reduce, ReduceKind, Step};

/// What an op gives, in outputs of these types.
pub fn apply(op: &Op, inputs: &[Array], types: &[TensorType]) -> Vec<Array> {
    let ty = types[0];
    let one = match op {
        Op::Unary(op) => each(ty, inputs, |x| unary(*op, x[0])),
        Op::Binary(op) => each(ty, inputs, |x| binary(op.kind, x[0], x[1])),
        Op::BiasAdd(_) => each(ty, inputs, |x| binary(BinaryKind::Add, x[0], x[1])),
        Op::Where(_) => each(ty, inputs, |x| if x[0] == Scalar::Bool(true) { x[1] } else { x[2] }),
        Op::Cast(op) => each(ty, inputs, |x| cast(op.to, x[0])),
        Op::Fused(op) => return fused(&op.program, inputs, types),
        Op::Matmul(op) => matmul(op, inputs, ty),
        Op::MatmulInteger(op) => {
            let wide = inputs.iter().map(|side| {
                let ty = TensorType { dtype: DType::I32, ..side.ty };
                each(ty, std::slice::from_ref(side), |x| cast(DType::I32, x[0]))
            });
            matmul(&op.matmul, &wide.collect::<Vec<_>>(), ty)
        }
        Op::MatmulBias(op) => {
            let product = matmul(&op.matmul, &inputs[..2], ty);
            let sum = each(ty, &[product, inputs[2].clone()], |x| binary(BinaryKind::Add, x[0], x[1]));
            match op.activation {
                Some(activation) => each(ty, &[sum], |x| unary(activation, x[0])),
                None => sum,
            }
        }
        Op::Conv2d(op) => images::conv(op, &inputs[0], &inputs[1], ty),
        Op::Conv2dBias(op) => {
            let product = images::conv(&op.conv, &inputs[0], &inputs[1], ty);
            let sum = each(ty, &[product, inputs[2].clone()], |x| binary(BinaryKind::Add, x[0], x[1]));
            match op.activation {
                Some(activation) => each(ty, &[sum], |x| unary(activation, x[0])),
                None => sum,
            }
        }
        Op::Pool2d(op) => images::pool(op, &inputs[0], ty),
        Op::Pool2dByInput(op) => images::pool_by_input(&op.pool, &inputs[0], &inputs[1]),
        Op::Reduce(op) => reduce(op, &inputs[0], ty),
        Op::Softmax(op) => {
            let axis = usize::from(op.axis);
            rows(&inputs[0], axis, |row| {
                let log = log_softmax(row);
                if op.log { log } else { log.iter().map(|x| x.exp()).collect() }
            })
        }
        Op::CrossEntropy(_) => {
            let (logits, labels) = (&inputs[0], &inputs[1]);
            let width = logits.ty.shape[logits.ty.shape.rank() - 1];
            let numbers = |a: &Array| a.data.iter().map(|s| s.to_f64()).collect::<Vec<_>>();
            let (x, y) = (numbers(logits), numbers(labels));
            let row = |n: usize| {
                let log = log_softmax(&x[n * width..][..width]);
                let terms = y[n * width..][..width].iter().zip(&log);
                -terms.map(|(label, log)| if *label == 0.0 { 0.0 } else { label * log }).sum::<f64>()
            };
            let data = (0..ty.shape.elements()).map(|n| rounded(ty.dtype, row(n))).collect();
            Array::new(ty, data)
        }
        Op::LayerNorm(op) => {
            let axis = ty.shape.rank() - 1;
            let normal = rows(&inputs[0], axis, |row| {
                let mean = row.iter().sum::<f64>() / row.len() as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
                row.iter().map(|x| (x - mean) / (variance + op.epsilon.0).sqrt()).collect()
            });
            let scaled = each(ty, &[normal, inputs[1].clone()], |x| binary(BinaryKind::Mul, x[0], x[1]));
            each(ty, &[scaled, inputs[2].clone()], |x| binary(BinaryKind::Add, x[0], x[1]))
        }
        Op::Reshape(_) | Op::Dense(_) | Op::StopGradient(_) => Array::new(ty, inputs[0].data.clone()),
        Op::Permute(op) => {
            let order: Vec<usize> = op.order().collect();
            made(ty, |index| {
                let mut from = vec![0; index.len()];
                order.iter().zip(index).for_each(|(axis, n)| from[*axis] = *n);
                inputs[0].at(&from)
            })
        }
        Op::Expand(_) => made(ty, |index| inputs[0].at(index)),
        Op::Slice(op) => made(ty, |index| {
            let from = |axis: usize| op.starts()[axis] as isize + op.steps()[axis] * index[axis] as isize;
            // `at` repeats axes of size 1, which a slice never leaves.
            inputs[0].at(&(0..index.len()).map(|axis| from(axis) as usize).collect::<Vec<_>>())
        }),
        Op::Concat(op) => made(ty, |index| {
            let mut index = index.clone();
            let at = &mut index[usize::from(op.axis)];
            let mut which = 0;
            while *at >= inputs[which].ty.shape[usize::from(op.axis)] {
                *at -= inputs[which].ty.shape[usize::from(op.axis)];
                which += 1;
            }
            inputs[which].at(&index)
        }),
        Op::Pad(op) => made(ty, |index| {
            let shape = inputs[0].ty.shape;
            let inside =
                |axis: usize| index[axis].checked_sub(op.before()[axis]).filter(|n| *n < shape[axis]);
            let from: Option<Vec<usize>> = (0..index.len()).map(inside).collect();
            from.map_or(op.value, |from| inputs[0].at(&from))
        }),
        Op::Tile(_) => made(ty, |index| {
            let shape = inputs[0].ty.shape;
            inputs[0].at(&index.iter().zip(shape.iter()).map(|(n, size)| n % size).collect::<Vec<_>>())
        }),
        Op::OneHot(op) => made(ty, |index| {
            let (class, row) = index.split_last().unwrap();
            if inputs[0].at(row).to_f64() == *class as f64 { op.on } else { op.off }
        }),
        Op::Fill(op) => made(ty, |_| op.value),
        Op::Range(op) => made(ty, |index| {
            let n = cast(ty.dtype, Scalar::I64(index[0] as i64));
            binary(BinaryKind::Add, op.start, binary(BinaryKind::Mul, n, op.step))
        }),
        Op::Eye(_) => made(ty, |index| Scalar::of(ty.dtype, f64::from(u8::from(index[0] == index[1])))),
        Op::SparseCrossEntropy(_) | Op::Gather(_) | Op::ScatterAdd(_) | Op::Random(_) => {
            unreachable!("{} is not among the ops that tests run", op.name())
        }
        // An op that no random graph has, until somebody adds it there and here.
        #[allow(unreachable_patterns, reason = "new ops need not be known here")]
        other => unreachable!("{} is not among the ops that tests run", other.name()),
    };
    vec![one]
}

fn each(ty: TensorType, inputs: &[Array], element: impl Fn(&[Scalar]) -> Scalar) -> Array {
    made(ty, |index| {
        let at: Vec<Scalar> = inputs.iter().map(|array| array.at(index)).collect();
        element(&at)
    })
}

fn fused(program: &Program, inputs: &[Array], types: &[TensorType]) -> Vec<Array> {
    let output = |n: usize| {
        each(types[n], inputs, |reads| {
            let mut registers = reads.to_vec();
            for step in program.steps() {
                registers.push(match *step {
                    Step::Constant(value) => value,
                    Step::Unary(op, a) => unary(op, registers[a.index()]),
                    Step::Binary(op, a, b) => binary(op.kind, registers[a.index()], registers[b.index()]),
                    Step::Where(c, a, b) if registers[c.index()] == Scalar::Bool(true) => {
                        let _ = b;
                        registers[a.index()]
                    }
                    Step::Where(_, _, b) => registers[b.index()],
                    Step::Cast(op, a) => cast(op.to, registers[a.index()]),
                });
            }
            registers[program.outputs()[n].index()]
        })
    };
    (0..types.len()).map(output).collect()
}

fn matmul(op: &Matmul, inputs: &[Array], ty: TensorType) -> Array {
    let k = op.dims(&[inputs[0].ty, inputs[1].ty]).unwrap().k;
    made(ty, |index| {
        let (batch, [row, column]) =
            (&index[..index.len() - 2], [index[index.len() - 2], index[index.len() - 1]]);
        let side = |array: &Array, swapped: bool, a: usize, b: usize| {
            let pair = if swapped { [b, a] } else { [a, b] };
            array.at(&[batch, &pair].concat())
        };
        let mut sum = Scalar::of(ty.dtype, 0.0);
        let mut float = 0.0;
        for n in 0..k {
            let a = side(&inputs[0], op.transpose_a, row, n);
            let b = side(&inputs[1], op.transpose_b, n, column);
            if ty.dtype.is_float() {
                float += a.to_f64() * b.to_f64();
            } else {
                sum = binary(BinaryKind::Add, sum, binary(BinaryKind::Mul, a, b));
            }
        }
        if ty.dtype.is_float() { rounded(ty.dtype, float) } else { sum }
    })
}

fn reduce(op: &Reduce, input: &Array, ty: TensorType) -> Array {
    let shape = input.ty.shape;
    let reduced: Vec<usize> = op.axes.iter().map(|a| shape[a]).collect();
    let group = super::indices(&Shape::new(&reduced).unwrap());
    let kept: Vec<usize> = (0..shape.rank()).filter(|a| !op.axes.contains(*a)).collect();
    made(ty, |index| {
        let mut from = vec![0; shape.rank()];
        for (n, axis) in kept.iter().enumerate() {
            from[*axis] = index[if op.keep_dims { *axis } else { n }];
        }
        let elements: Vec<Scalar> = group
            .iter()
            .map(|inner| {
                op.axes.iter().zip(inner).for_each(|(axis, n)| from[axis] = *n);
                input.at(&from)
            })
            .collect();
        reduced_to(op.kind, input.ty.dtype, &elements, op.axes.is_empty())
    })
}

fn reduced_to(kind: ReduceKind, dtype: DType, elements: &[Scalar], nothing: bool) -> Scalar {
    let fold = |kind: BinaryKind, start: Scalar| elements.iter().fold(start, |a, b| binary(kind, a, *b));
    if nothing && !matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin) {
        return elements[0];
    }
    match kind {
        ReduceKind::Sum | ReduceKind::Mean if dtype.is_float() => {
            let sum: f64 = elements.iter().fold(0.0, |sum, e| sum + e.to_f64());
            let count = if kind == ReduceKind::Mean { elements.len() as f64 } else { 1.0 };
            rounded(dtype, sum / count)
        }
        ReduceKind::Sum | ReduceKind::Mean => fold(BinaryKind::Add, Scalar::of(dtype, 0.0)),
        ReduceKind::Prod => fold(BinaryKind::Mul, Scalar::of(dtype, 1.0)),
        ReduceKind::Max => fold(BinaryKind::Maximum, elements[0]),
        ReduceKind::Min => fold(BinaryKind::Minimum, elements[0]),
        ReduceKind::Any => Scalar::Bool(elements.contains(&Scalar::Bool(true))),
        ReduceKind::All => Scalar::Bool(!elements.contains(&Scalar::Bool(false))),
        ReduceKind::ArgMax | ReduceKind::ArgMin => {
            let better = |a: f64, b: f64| {
                let past = if kind == ReduceKind::ArgMax { a > b } else { a < b };
                (a.is_nan() && !b.is_nan()) || past
            };
            let mut best = 0;
            for (n, e) in elements.iter().enumerate() {
                if better(e.to_f64(), elements[best].to_f64()) {
                    best = n;
                }
            }
            Scalar::I32(best as i32)
        }
    }
}

/// A function of the rows along an axis.
fn rows(input: &Array, axis: usize, function: impl Fn(&[f64]) -> Vec<f64>) -> Array {
    let shape = input.ty.shape;
    made(input.ty, |index| {
        let mut from = index.clone();
        let row: Vec<f64> = (0..shape[axis])
            .map(|n| {
                from[axis] = n;
                input.at(&from).to_f64()
            })
            .collect();
        rounded(input.ty.dtype, function(&row)[index[axis]])
    })
}

fn log_softmax(row: &[f64]) -> Vec<f64> {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
    row.iter().map(|x| x - largest - sum.ln()).collect()
}
