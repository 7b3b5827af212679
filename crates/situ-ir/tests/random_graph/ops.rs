//! One random op, of any family, on values that it can take; and idioms that passes look for.

use super::{Making, Purpose, images, real};
use situ_core::{Axes, DType, MAX_RANK, Real, Scalar, Shape};
use situ_ir::Value;
use situ_ir::ops::*;
use std::sync::Arc;

/// Adds an op, or a few that belong together. Sometimes nothing fits, and nothing is added.
pub(super) fn any(m: &mut Making<'_>) {
    let _ = match m.rng.below(52) {
        0..=8 => unary(m),
        9..=17 => binary(m),
        18 => select(m),
        19 => cast(m),
        20 => matmul(m),
        21 => bias_add(m),
        22 => reduce(m),
        23 => rows(m),
        24..=27 => view(m),
        28 => join(m),
        29 => index(m),
        30 => generate(m),
        31 => fused(m),
        32 => cross_entropy(m),
        33 => dense_layer(m),
        34 => by_constant(m),
        35 => twice(m),
        36 => transposed_product(m),
        37 => by_constant(m),
        38 => same_again(m),
        39 | 40 => dense_layer(m),
        41 => conversions(m),
        42 => slices(m),
        43 => mirrored(m),
        44..=46 => function_of_function(m),
        47 => training(m),
        48 => images::pooled_relu(m),
        49 | 50 => images::conv_layer(m),
        _ => comparison(m),
    };
}

fn unary(m: &mut Making<'_>) -> Option<Value> {
    let kind = m.rng.pick(UnaryKind::ALL);
    let input = m.fitting(|t| match kind {
        UnaryKind::Not => t.dtype == DType::Bool,
        UnaryKind::Neg | UnaryKind::Abs | UnaryKind::Square | UnaryKind::Relu => t.dtype.is_numeric(),
        _ => t.dtype.is_float(),
    })?;
    let (a, b) = (real(m.rng, m.purpose), real(m.rng, m.purpose));
    let op = match kind {
        UnaryKind::Clip if a.0 <= b.0 => Unary { kind, params: [a, b] },
        UnaryKind::Clip => Unary::with(kind, -1.0, 1.5),
        UnaryKind::LeakyRelu | UnaryKind::Elu => Unary { kind, params: [a, Real(0.0)] },
        _ => Unary::new(kind),
    };
    m.add(op, &[input])
}

fn binary(m: &mut Making<'_>) -> Option<Value> {
    let kind = m.rng.pick(&[
        BinaryKind::Add,
        BinaryKind::Add,
        BinaryKind::Sub,
        BinaryKind::Sub,
        BinaryKind::Mul,
        BinaryKind::Mul,
        BinaryKind::Div,
        BinaryKind::Rem,
        BinaryKind::Pow,
        BinaryKind::Maximum,
        BinaryKind::Minimum,
    ]);
    let a = m.fitting(|t| if kind == BinaryKind::Pow { t.dtype.is_float() } else { t.dtype.is_numeric() })?;
    let ty = m.builder.type_of(a);
    let b = m.fitting(|t| t.dtype == ty.dtype && matches!(ty.shape.broadcast(&t.shape), Some(Ok(_))))?;
    let pair = if m.rng.chance(2) { [a, b] } else { [b, a] };
    m.add(Binary { kind }, &pair)
}

fn comparison(m: &mut Making<'_>) -> Option<Value> {
    let logic = [BinaryKind::And, BinaryKind::Or, BinaryKind::Xor];
    let kind = m.rng.pick(BinaryKind::ALL);
    let is_logic = logic.contains(&kind);
    let a = m.fitting(|t| (t.dtype == DType::Bool) == is_logic)?;
    let ty = m.builder.type_of(a);
    let b = m.fitting(|t| t.dtype == ty.dtype && matches!(ty.shape.broadcast(&t.shape), Some(Ok(_))))?;
    m.add(Binary { kind }, &[a, b])
}

fn select(m: &mut Making<'_>) -> Option<Value> {
    let a = m.any();
    let ty = m.builder.type_of(a);
    let b = m.fitting(|t| t.dtype == ty.dtype && matches!(ty.shape.broadcast(&t.shape), Some(Ok(_))))?;
    let condition =
        m.fitting(|t| t.dtype == DType::Bool && matches!(ty.shape.broadcast(&t.shape), Some(Ok(_))))?;
    m.add(Where, &[condition, a, b])
}

fn cast(m: &mut Making<'_>) -> Option<Value> {
    let input = m.any();
    let to = m.rng.pick(&DType::ALL);
    let first = m.add(Cast { to }, &[input])?;
    let back = m.builder.type_of(input).dtype;
    if m.rng.chance(2) { m.add(Cast { to: back }, &[first]) } else { Some(first) }
}

fn matmul(m: &mut Making<'_>) -> Option<Value> {
    let op = Matmul { transpose_a: m.rng.chance(2), transpose_b: m.rng.chance(2) };
    for _ in 0..6 {
        let a = m.fitting(|t| t.shape.rank() >= 2 && t.dtype.is_numeric())?;
        let dtype = m.builder.type_of(a).dtype;
        let b = m.fitting(|t| t.shape.rank() >= 2 && t.dtype == dtype)?;
        if let Some(value) = m.add(op, &[a, b]) {
            return Some(value);
        }
    }
    None
}

fn transposed_product(m: &mut Making<'_>) -> Option<Value> {
    let a = m.fitting(|t| t.shape.rank() == 2 && t.dtype.is_float())?;
    let turned = m.add(Permute::new(&[1, 0]).ok()?, &[a])?;
    m.add(Matmul { transpose_a: false, transpose_b: false }, &[a, turned])
}

fn bias_add(m: &mut Making<'_>) -> Option<Value> {
    let x = m.fitting(|t| t.shape.rank() > 0 && t.dtype.is_numeric())?;
    let ty = m.builder.type_of(x);
    let last = ty.shape[ty.shape.rank() - 1];
    let bias = m.fitting(|t| t.dtype == ty.dtype && t.shape.dims() == [last])?;
    m.add(BiasAdd, &[x, bias])
}

/// Product, bias and activation.
fn dense_layer(m: &mut Making<'_>) -> Option<Value> {
    let x = m.fitting(|t| t.shape.rank() == 2 && t.dtype.is_float())?;
    let ty = m.builder.type_of(x);
    let weights = Fill { shape: Shape::new(&[ty.shape[1], 3]).ok()?, value: Scalar::of(ty.dtype, 0.5) };
    let weights = m.add(weights, &[])?;
    let product = m.add(Matmul::default(), &[x, weights])?;
    let range = Range { start: Scalar::of(ty.dtype, 0.5), step: Scalar::of(ty.dtype, -1.0), count: 3 };
    let bias = m.add(range, &[])?;
    if m.rng.chance(4) {
        let activation = m.rng.pick(&[None, Some(Unary::with(UnaryKind::LeakyRelu, 0.1, 0.0))]);
        return m.add(MatmulBias { matmul: Matmul::default(), activation }, &[x, weights, bias]);
    }
    let sum = if m.rng.chance(2) {
        m.add(BiasAdd, &[product, bias])?
    } else {
        m.add(Binary { kind: BinaryKind::Add }, &[product, bias])?
    };
    let op = Unary::new(m.rng.pick(&[UnaryKind::Relu, UnaryKind::Tanh, UnaryKind::Gelu]));
    m.add(op, &[sum])
}

fn reduce(m: &mut Making<'_>) -> Option<Value> {
    let kind = m.rng.pick(&ReduceKind::ALL);
    let logic = matches!(kind, ReduceKind::Any | ReduceKind::All);
    let input = m.fitting(|t| if logic { t.dtype == DType::Bool } else { t.dtype.is_float() })?;
    let rank = m.builder.type_of(input).shape.rank();
    let list: Vec<isize> = (0..rank as isize).filter(|_| m.rng.chance(2)).collect();
    let shape = Shape::new(&vec![1; rank]).ok()?;
    let axes = Axes::of("test", &shape, &list).ok()?;
    let op = Reduce { kind, axes, keep_dims: m.rng.chance(2) };
    m.add(op, &[input])
}

fn rows(m: &mut Making<'_>) -> Option<Value> {
    let x = m.fitting(|t| t.dtype.is_float() && t.shape.rank() > 0)?;
    let ty = m.builder.type_of(x);
    let last = ty.shape[ty.shape.rank() - 1];
    if m.rng.chance(2) {
        let op = Softmax { axis: m.rng.below(ty.shape.rank()) as u8, log: m.rng.chance(2) };
        return m.add(op, &[x]);
    }
    let row = m.fitting(|t| t.dtype == ty.dtype && t.shape.dims() == [last])?;
    m.add(LayerNorm { epsilon: Real(1e-5) }, &[x, row, row])
}

/// What training is made of; graphs that are run have none of it.
fn training(m: &mut Making<'_>) -> Option<Value> {
    if m.purpose != Purpose::Text {
        return None;
    }
    let x = m.floats()?;
    let ty = m.builder.type_of(x);
    let zero = Scalar::of(ty.dtype, 0.0);
    let filled =
        |m: &mut Making<'_>, dims: &[usize]| m.add(Fill { shape: Shape::new(dims).ok()?, value: zero }, &[]);
    let n = ty.shape.elements();
    let image = m.add(Reshape { shape: Shape::new(&[1, n, 1, 1]).ok()? }, &[x])?;
    let window = Window { stride: [m.rng.pick(&[1, 2]), 1], ..Window::default() };
    let conv = Conv2d { window, groups: 1 };
    let kind = m.rng.pick(&[PoolKind::Max, PoolKind::Average]);
    let format = m.rng.pick(&[Format::ChannelsFirst, Format::ChannelsLast]);
    let pool = Pool2d { kind, size: [1, 1], window: Window { stride: [1, 1], format, ..window } };
    match m.rng.below(8) {
        0 => {
            let filter = filled(m, &[3, n, 1, 1])?;
            m.add(conv, &[image, filter])
        }
        1 => {
            let filter = filled(m, &[n, 2, 1, 1])?;
            m.add(Conv2dByInput { conv, size: [1, 1] }, &[image, filter])
        }
        2 => m.add(Conv2dByFilter { conv, size: [1, 1] }, &[image, image]),
        3 => m.add(pool, &[image]),
        4 => m.add(Pool2dByInput { pool }, &[image, image]),
        5 => {
            let row = filled(m, &[n])?;
            m.add(BatchNorm { axis: 1, epsilon: Real(1e-3) }, &[image, row, row])
        }
        6 => {
            let (seed, stream) = (m.rng.below(1000) as u64, m.rng.below(1000) as u64);
            m.add(Dropout { rate: Real(0.25), seed, stream }, &[x])
        }
        _ => {
            let rates = filled(m, &[2])?;
            let kinds = [
                UpdateKind::Sgd { momentum: Real(0.5), nesterov: true },
                UpdateKind::Adam { beta1: Real(0.5), beta2: Real(0.25), epsilon: Real(1e-8) },
                UpdateKind::RmsProp { rho: Real(0.5), epsilon: Real(0.0) },
                UpdateKind::Adagrad { epsilon: Real(0.125) },
            ];
            let op = Update { kind: m.rng.pick(&kinds), decay: Real(0.5), decoupled: m.rng.chance(2) };
            let mut inputs = vec![x, x, rates];
            inputs.extend(vec![x; op.states()]);
            m.add(op, &inputs)
        }
    }
}

fn cross_entropy(m: &mut Making<'_>) -> Option<Value> {
    let x = m.fitting(|t| t.dtype.is_float() && t.shape.rank() > 0)?;
    let ty = m.builder.type_of(x);
    let labels = m.fitting(|t| t == ty)?;
    if m.rng.chance(4) {
        return m.add(CrossEntropy, &[x, labels]);
    }
    let axis = ty.shape.rank() - 1;
    let log = m.add(Softmax { axis: axis as u8, log: true }, &[x])?;
    let product = m.add(Binary { kind: BinaryKind::Mul }, &[labels, log])?;
    let axes = Axes::one(axis);
    let op = Reduce { kind: ReduceKind::Sum, axes, keep_dims: m.rng.chance(3) };
    let sum = m.add(op, &[product])?;
    m.add(Unary::new(UnaryKind::Neg), &[sum])
}

fn view(m: &mut Making<'_>) -> Option<Value> {
    let input = m.any();
    let shape = m.builder.type_of(input).shape;
    match m.rng.below(7) {
        0 => {
            let flat = Shape::new(&[shape.elements()]).ok()?;
            let to = if m.rng.chance(2) { m.builder.type_of(m.values[0]).shape } else { flat };
            m.add(Reshape { shape: to }, &[input])
        }
        1 | 2 => {
            let mut order: Vec<usize> = (0..shape.rank()).collect();
            let turn = m.rng.below(order.len());
            order.rotate_left(turn);
            if m.rng.chance(2) {
                order.reverse();
            }
            m.add(Permute::new(&order).ok()?, &[input])
        }
        3 => {
            let mut dims = vec![m.rng.pick(&[1, 2]); m.rng.below(2)];
            dims.extend(shape.iter().map(|&d| if d == 1 { 3 } else { d }));
            m.add(Expand { shape: Shape::new(&dims).ok()? }, &[input])
        }
        4 => {
            let (mut starts, mut steps, mut sizes) = (vec![], vec![], vec![]);
            for &dim in shape.iter() {
                let start = m.rng.below(dim);
                let back = m.rng.chance(3);
                starts.push(start);
                steps.push(if back { -1 } else { 1 });
                sizes.push(if back { start + 1 } else { dim - start });
            }
            m.add(Slice::new(&starts, &steps, &sizes).ok()?, &[input])
        }
        5 => m.add(StopGradient, &[input]),
        _ => m.add(Dense, &[input]),
    }
}

fn join(m: &mut Making<'_>) -> Option<Value> {
    let input = m.fitting(|t| t.shape.rank() > 0)?;
    let ty = m.builder.type_of(input);
    let rank = ty.shape.rank();
    match m.rng.below(3) {
        0 => {
            let axis = m.rng.below(rank);
            let fits = |t: situ_core::TensorType| {
                t.dtype == ty.dtype
                    && t.shape.rank() == rank
                    && (0..rank).all(|a| a == axis || t.shape[a] == ty.shape[a])
            };
            let list: Vec<Value> = (0..1 + m.rng.below(3)).filter_map(|_| m.fitting(fits)).collect();
            m.add(Concat { axis: axis as u8 }, &list)
        }
        1 => {
            let widths: Vec<(usize, usize)> = (0..rank).map(|_| (m.rng.below(2), m.rng.below(2))).collect();
            let value = m.rng.scalar(ty.dtype);
            m.add(Pad::new(&widths, value).ok()?, &[input])
        }
        _ => {
            let mut repeats = [0; MAX_RANK];
            repeats[..rank].fill_with(|| m.rng.pick(&[1, 1, 2]));
            m.add(Tile { repeats, rank: rank as u8 }, &[input])
        }
    }
}

fn index(m: &mut Making<'_>) -> Option<Value> {
    let indices = m.fitting(|t| matches!(t.dtype, DType::I32 | DType::I64))?;
    let dtype = m.rng.pick(&DType::ALL);
    if m.purpose == Purpose::Running || m.rng.chance(3) {
        let (on, off) = (m.rng.scalar(dtype), m.rng.scalar(dtype));
        let op = OneHot { depth: m.rng.below(4), on, off };
        return m.add(op, &[indices]);
    }
    let table = m.fitting(|t| t.shape.rank() > 0 && t.dtype.is_numeric())?;
    let axis = m.rng.below(m.builder.type_of(table).shape.rank()) as u8;
    if m.rng.chance(3) {
        let logits = m.fitting(|t| t.dtype.is_float() && t.shape.rank() == 1)?;
        let label = m.fitting(|t| t.dtype == DType::I32 && t.shape.rank() == 0)?;
        return m.add(SparseCrossEntropy, &[logits, label]);
    }
    let taken = m.add(Gather { axis }, &[table, indices])?;
    m.add(ScatterAdd { axis }, &[table, indices, taken])
}

fn generate(m: &mut Making<'_>) -> Option<Value> {
    let dtype = m.rng.pick(&DType::ALL);
    let shape = m.rng.shape();
    match m.rng.below(if m.purpose == Purpose::Text { 4 } else { 3 }) {
        0 => {
            let op = Fill { shape, value: m.rng.scalar(dtype) };
            m.add(op, &[])
        }
        1 => {
            let (start, step) = (m.rng.scalar(dtype), m.rng.scalar(dtype));
            let op = Range { start, step, count: m.rng.below(5) };
            m.add(op, &[])
        }
        2 => {
            let op = Eye { rows: m.rng.below(4), columns: m.rng.below(4), dtype };
            m.add(op, &[])
        }
        _ => {
            let (low, high) = (Real(m.rng.plain()), Real(m.rng.plain() + 9.0));
            let distribution = match m.rng.below(4) {
                0 => Distribution::Uniform { low, high },
                1 => Distribution::Normal { mean: low, deviation: high },
                2 => Distribution::Bernoulli { p: Real(0.1) },
                _ => Distribution::Permutation,
            };
            let (seed, stream) = (m.rng.next(), m.rng.next());
            m.add(Random { distribution, seed, stream, shape, dtype }, &[])
        }
    }
}

fn fused(m: &mut Making<'_>) -> Option<Value> {
    let a = m.floats()?;
    let ty = m.builder.type_of(a);
    let b = m.fitting(|t| t.dtype == ty.dtype && matches!(ty.shape.broadcast(&t.shape), Some(Ok(_))))?;
    let steps = vec![
        Step::Constant(m.rng.scalar(ty.dtype)),
        Step::Binary(Binary { kind: BinaryKind::Mul }, Register(0), Register(2)),
        Step::Binary(Binary { kind: BinaryKind::Less }, Register(3), Register(1)),
        Step::Where(Register(4), Register(0), Register(3)),
        Step::Unary(Unary::with(UnaryKind::Clip, -2.0, 2.0), Register(5)),
        Step::Cast(Cast { to: DType::I64 }, Register(6)),
    ];
    let outputs = if m.rng.chance(2) { vec![Register(6)] } else { vec![Register(7), Register(6)] };
    let program = Program::new(vec![ty.dtype; 2], steps, outputs).ok()?;
    m.add(Fused { program: Arc::new(program) }, &[a, b])
}

/// An operation with a constant that has a rule of its own.
fn by_constant(m: &mut Making<'_>) -> Option<Value> {
    let x = m.fitting(|t| t.dtype.is_numeric())?;
    let ty = m.builder.type_of(x);
    let value = m.rng.pick(&[0.0, -0.0, 1.0, -1.0, 2.0, 0.25]);
    let shape = if m.rng.chance(2) { Shape::SCALAR } else { ty.shape };
    let constant = m.add(Fill { shape, value: Scalar::of(ty.dtype, value) }, &[])?;
    let kind = m.rng.pick(&[
        BinaryKind::Add,
        BinaryKind::Sub,
        BinaryKind::Mul,
        BinaryKind::Div,
        BinaryKind::Pow,
        BinaryKind::Maximum,
    ]);
    let pair = if m.rng.chance(3) { [constant, x] } else { [x, constant] };
    m.add(Binary { kind }, &pair)
}

/// The same function two times over.
fn twice(m: &mut Making<'_>) -> Option<Value> {
    let kind =
        m.rng.pick(&[UnaryKind::Neg, UnaryKind::Abs, UnaryKind::Relu, UnaryKind::Floor, UnaryKind::Sign]);
    let x = m.floats()?;
    let once = m.add(Unary::new(kind), &[x])?;
    m.add(Unary::new(kind), &[once])
}

/// Any two of the functions that have rules together.
fn function_of_function(m: &mut Making<'_>) -> Option<Value> {
    use UnaryKind as K;
    let any = [K::Neg, K::Abs, K::Square, K::Relu];
    let floats = [K::Neg, K::Abs, K::Square, K::Relu, K::Exp, K::Sign, K::Floor, K::Round, K::Sqrt];
    let x = m.fitting(|t| t.dtype.is_numeric())?;
    let kinds: &[K] = if m.builder.type_of(x).dtype.is_float() { &floats } else { &any };
    let (first, second) = (m.rng.pick(kinds), m.rng.pick(kinds));
    let y = m.add(Unary::new(first), &[x])?;
    m.add(Unary::new(second), &[y])
}

/// Through several dtypes.
fn conversions(m: &mut Making<'_>) -> Option<Value> {
    let mut value = m.any();
    for _ in 0..3 {
        let to = m.rng.pick(&DType::ALL);
        value = m.add(Cast { to }, &[value])?;
    }
    Some(value)
}

/// A part of a part, backwards and in steps.
fn slices(m: &mut Making<'_>) -> Option<Value> {
    let x = m.fitting(|t| t.shape.rank() == 1 && t.shape[0] > 0)?;
    let long = m.add(Concat { axis: 0 }, &[x, x, x])?;
    let n = m.builder.type_of(long).shape[0];
    let first = Slice::new(&[n - 1], &[-1], &[n]).ok()?;
    let part = m.add(first, &[long])?;
    let second = Slice::new(&[n % 2], &[2], &[(n - n % 2).div_ceil(2)]).ok()?;
    m.add(second, &[part])
}

/// The same two values, one way round and the other.
fn mirrored(m: &mut Making<'_>) -> Option<Value> {
    let a = m.floats()?;
    let ty = m.builder.type_of(a);
    let b = m.add(Fill { shape: Shape::SCALAR, value: Scalar::of(ty.dtype, 0.0) }, &[])?;
    let kind = m.rng.pick(&[BinaryKind::Maximum, BinaryKind::Minimum, BinaryKind::Sub, BinaryKind::Add]);
    let one = m.add(Binary { kind }, &[a, b])?;
    let other = m.add(Binary { kind }, &[b, a])?;
    // A quotient by it keeps the sign of a zero.
    m.add(Binary { kind: BinaryKind::Div }, &[one, other])
}

/// What an earlier node does, done again.
fn same_again(m: &mut Making<'_>) -> Option<Value> {
    let value = m.any();
    let node = m.builder.nodes()[value.node.index()].clone();
    match node.content {
        situ_ir::Content::Op(op) => m.add(op, &node.inputs),
        _ => None,
    }
}
