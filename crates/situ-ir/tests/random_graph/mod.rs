//! Random graphs, the same for the same seed: every op with every sort of attribute, scopes, conditions and
//! loops.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

mod images;
mod ops;

use situ_core::{DType, Policy, Real, Request, Scalar, Shape, TensorType};
use situ_ir::graph::{Cond, Source, While};
use situ_ir::ops::{Binary, BinaryKind, Cast, Fill, Reduce, ReduceKind, Reshape};
use situ_ir::{Graph, GraphBuilder, NodeId, Value};

/// Small, quick and good enough for choices (SplitMix64).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Any float worth trying, exact ones most often.
    pub fn real(&mut self) -> f64 {
        match self.below(12) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            6 => 0.0,
            4 => f64::from_bits(self.next()),
            5 => f64::MIN_POSITIVE / 8.0,
            _ => self.plain(),
        }
    }

    /// A small number, whole half of the time.
    pub fn plain(&mut self) -> f64 {
        let whole = self.below(9) as f64 - 4.0;
        if self.chance(2) { whole } else { whole + self.below(1000) as f64 / 1000.0 }
    }

    pub fn scalar(&mut self, dtype: DType) -> Scalar {
        match (dtype, self.chance(3)) {
            (DType::F32, true) => Scalar::F32(f32::from_bits(self.next() as u32)),
            (DType::I64, true) => Scalar::I64(self.next() as i64),
            (DType::F64, true) => Scalar::F64(self.real()),
            _ => Scalar::of(dtype, self.plain()),
        }
    }

    pub fn shape(&mut self) -> Shape {
        let rank = self.pick(&[0, 1, 1, 2, 2, 2, 3]);
        let dims: Vec<usize> = (0..rank).map(|_| self.pick(&[1, 2, 3, 3, 4])).collect();
        Shape::new(&dims).unwrap()
    }

    fn request(&mut self) -> Request {
        let spec = self.pick(&["", "", "", "", "/GPU:0", "/CPU:0", "/GPU", "/job:a/task:1/device:TPU:3"]);
        let policy = [None, None, None, Some(Policy::Allow), Some(Policy::Warn), Some(Policy::Forbid)];
        Request {
            spec: spec.parse().unwrap(),
            fallback: self.pick(&policy),
            copies: self.pick(&policy),
            ..Request::default()
        }
    }
}

/// What a graph is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Printing and parsing: everything that can be written.
    Text,
    /// Running in the tests' interpreter: nothing random, nothing that can fail on data.
    Running,
}

/// A graph under construction, and the values it may read.
pub struct Making<'a> {
    pub rng: &'a mut Rng,
    pub purpose: Purpose,
    pub builder: GraphBuilder,
    pub values: Vec<Value>,
}

impl Making<'_> {
    /// Some value, later ones more often.
    pub fn any(&mut self) -> Value {
        let from = if self.rng.chance(3) { 0 } else { self.values.len() / 2 };
        self.values[from + self.rng.below(self.values.len() - from)]
    }

    /// A value that fits a condition.
    pub fn fitting(&mut self, fits: impl Fn(TensorType) -> bool) -> Option<Value> {
        let list: Vec<Value> =
            self.values.iter().copied().filter(|v| fits(self.builder.type_of(*v))).collect();
        let recent = list.len().saturating_sub(6);
        let from = if self.rng.chance(3) { 0 } else { recent };
        if list.is_empty() { None } else { Some(list[from + self.rng.below(list.len() - from)]) }
    }

    pub fn floats(&mut self) -> Option<Value> {
        self.fitting(|t| t.dtype.is_float())
    }

    /// Adds an op, if it fits its inputs.
    pub fn add(&mut self, op: impl Into<situ_ir::Op>, inputs: &[Value]) -> Option<Value> {
        let request = if self.rng.chance(8) { self.rng.request() } else { Request::default() };
        let op = op.into();
        let types: Vec<TensorType> = inputs.iter().map(|v| self.builder.type_of(*v)).collect();
        // The interpreter should not spend its time on tensors that tiling and joining blew up.
        if op.infer(&types).ok()?.iter().any(|t| t.shape.elements() > 4096) {
            return None;
        }
        let first = self.builder.op_with(op, inputs, request, Source::default()).ok()?;
        self.note(first.node);
        Some(first)
    }

    fn note(&mut self, node: NodeId) {
        for output in 0..self.builder.nodes()[node.index()].types.len() {
            self.values.push(Value::nth(node, output));
        }
    }

    /// Some values, the last one among them.
    fn outputs(&mut self, count: usize) -> Vec<Value> {
        let last = self.values[self.values.len() - 1];
        (1..count).map(|_| self.any()).chain([last]).collect()
    }
}

/// A whole graph of about `size` ops.
pub fn graph(rng: &mut Rng, purpose: Purpose, size: usize) -> Graph {
    let mut making = Making { rng, purpose, builder: GraphBuilder::new(), values: Vec::new() };
    let base = making.rng.shape();
    for n in 0..2 + making.rng.below(4) {
        let dtype = making.rng.pick(&[DType::F32, DType::F32, DType::F32, DType::F64, DType::I32]);
        let shape = if making.rng.chance(2) { base } else { making.rng.shape() };
        let ty = TensorType::new(dtype, shape);
        let value = match n {
            0 | 1 => making.builder.input(ty),
            _ => match making.rng.below(3) {
                0 => making.builder.capture(ty),
                1 => making.builder.variable(ty),
                _ => making.builder.input(ty),
            },
        };
        making.values.push(value);
    }
    fill(&mut making, size, 0);
    let count = 1 + making.rng.below(4);
    let outputs = making.outputs(count);
    let mut updates = Vec::new();
    let variables: Vec<TensorType> = making
        .builder
        .nodes()
        .iter()
        .filter(|n| matches!(n.content, situ_ir::Content::Variable(_)))
        .map(|n| n.types[0])
        .collect();
    for (n, ty) in variables.into_iter().enumerate() {
        if let (true, Some(value)) = (making.rng.chance(2), making.fitting(|t| t == ty)) {
            updates.push((n as u32, value));
        }
    }
    making.builder.finish(outputs, updates).unwrap()
}

fn fill(making: &mut Making<'_>, size: usize, depth: usize) {
    for _ in 0..size {
        match making.rng.below(40) {
            0 if depth < 2 => condition(making, depth),
            1 if depth < 2 => repetition(making, depth),
            _ => ops::any(making),
        }
    }
}

/// A graph of the same arguments as the values given, which returns values of the types asked for.
fn inner(making: &mut Making<'_>, types: &[TensorType], wanted: &[TensorType], depth: usize) -> Graph {
    let mut within = Making {
        rng: &mut *making.rng,
        purpose: making.purpose,
        builder: GraphBuilder::new(),
        values: Vec::new(),
    };
    for ty in types {
        let value = within.builder.input(*ty);
        within.values.push(value);
    }
    let size = 2 + within.rng.below(5);
    fill(&mut within, size, depth + 1);
    let outputs = wanted.iter().map(|ty| of_type(&mut within, *ty)).collect();
    within.builder.finish(outputs, vec![]).unwrap()
}

/// A value of a type, made from another or from nothing.
fn of_type(making: &mut Making<'_>, ty: TensorType) -> Value {
    if let Some(value) = making.fitting(|t| t == ty) {
        return value;
    }
    let fill = Fill { shape: ty.shape, value: making.rng.scalar(ty.dtype) };
    let other = making.fitting(|t| t.shape.elements() == ty.shape.elements());
    match other {
        Some(other) if making.rng.chance(2) => {
            let cast = making.builder.op(Cast { to: ty.dtype }, &[other]).unwrap();
            making.builder.op(Reshape { shape: ty.shape }, &[cast]).unwrap()
        }
        _ => making.builder.op(fill, &[]).unwrap(),
    }
}

const TRUTH: TensorType = TensorType { dtype: DType::Bool, shape: Shape::SCALAR };

fn condition(making: &mut Making<'_>, depth: usize) {
    let arguments: Vec<Value> = (0..making.rng.below(4)).map(|_| making.any()).collect();
    let types: Vec<TensorType> = arguments.iter().map(|v| making.builder.type_of(*v)).collect();
    if types.is_empty() {
        return;
    }
    let wanted: Vec<TensorType> = (0..1 + making.rng.below(2)).map(|_| making.rng.pick(&types)).collect();
    let cond = Cond {
        then: inner(making, &types, &wanted, depth),
        otherwise: inner(making, &types, &wanted, depth),
    };
    let predicate = predicate(making);
    let id = making.builder.cond(cond, predicate, &arguments, Request::default(), Source::default());
    making.note(id.unwrap());
}

fn predicate(making: &mut Making<'_>) -> Value {
    let summed = if making.rng.chance(2) { making.fitting(|t| t.dtype.is_numeric()) } else { None };
    let Some(value) = summed else {
        return of_type(making, TRUTH);
    };
    let ty = making.builder.type_of(value);
    let axes = situ_core::Axes::all(ty.shape.rank());
    let kind = ReduceKind::Prod;
    let whole = making.builder.op(Reduce { kind, axes, keep_dims: false }, &[value]).unwrap();
    let none = Fill { shape: Shape::SCALAR, value: Scalar::of(ty.dtype, 0.0) };
    let none = making.builder.op(none, &[]).unwrap();
    making.builder.op(Binary { kind: BinaryKind::Less }, &[whole, none]).unwrap()
}

/// A loop that counts to a small number, with some values along for the ride.
fn repetition(making: &mut Making<'_>, depth: usize) {
    let counter = TensorType::new(DType::I32, Shape::SCALAR);
    let zero = Fill { shape: Shape::SCALAR, value: Scalar::I32(0) };
    let mut state = vec![making.builder.op(zero, &[]).unwrap()];
    for _ in 0..making.rng.below(3) {
        state.push(making.any());
    }
    let types: Vec<TensorType> = state.iter().map(|v| making.builder.type_of(*v)).collect();
    let mut condition = GraphBuilder::new();
    let count = types.iter().map(|ty| condition.input(*ty)).collect::<Vec<_>>()[0];
    let limit = Fill { shape: Shape::SCALAR, value: Scalar::I32(making.rng.below(4) as i32) };
    let limit = condition.op(limit, &[]).unwrap();
    let less = condition.op(Binary { kind: BinaryKind::Less }, &[count, limit]).unwrap();
    let condition = condition.finish(vec![less], vec![]).unwrap();
    let mut body = Making {
        rng: &mut *making.rng,
        purpose: making.purpose,
        builder: GraphBuilder::new(),
        values: Vec::new(),
    };
    let arguments: Vec<Value> = types.iter().map(|ty| body.builder.input(*ty)).collect();
    body.values.extend(&arguments);
    let one = body.builder.op(Fill { shape: Shape::SCALAR, value: Scalar::I32(1) }, &[]).unwrap();
    let next = body.builder.op(Binary { kind: BinaryKind::Add }, &[arguments[0], one]).unwrap();
    let size = 1 + body.rng.below(4);
    fill(&mut body, size, depth + 1);
    let mut outputs = vec![next];
    for (n, ty) in types.iter().enumerate().skip(1) {
        let same = body.rng.chance(3);
        outputs.push(if same { arguments[n] } else { of_type(&mut body, *ty) });
    }
    let body = body.builder.finish(outputs, vec![]).unwrap();
    assert_eq!(body.gives()[0], counter);
    let repeated = While { condition, body };
    let id = making.builder.while_loop(repeated, &state, Request::default(), Source::default());
    making.note(id.unwrap());
}

/// A float attribute.
pub fn real(rng: &mut Rng, purpose: Purpose) -> Real {
    Real(if purpose == Purpose::Text { rng.real() } else { rng.plain() })
}
