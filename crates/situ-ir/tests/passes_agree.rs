//! Passes change no result: on random graphs of every sort of op, each pass alone, all together, and all but
//! one give what the graph gave before, bit for bit.

mod interpreter;
mod random_graph;

use interpreter::{Array, Interpreter, is_finite, run, same};
use random_graph::{Purpose, Rng, graph};
use situ_core::{Axes, DType, Request, Scalar, Shape, TensorType};
use situ_ir::ops::{Binary, BinaryKind, Reduce, ReduceKind, Softmax, Unary, UnaryKind};
use situ_ir::passes::{GROUP, Options, Report, SIMPLIFY, group, optimize};
use situ_ir::{Graph, GraphBuilder, Op};
use std::collections::BTreeMap;

/// Tensors for the arguments, captured tensors and variables of a graph.
struct Data {
    inputs: Vec<Array>,
    captures: Vec<Array>,
    variables: Vec<Array>,
}

impl Data {
    fn random(rng: &mut Rng, graph: &Graph) -> Data {
        let mut array = |ty: &TensorType| {
            let odd = rng.chance(3);
            let element = |rng: &mut Rng| match (odd && ty.dtype.is_float(), ty.dtype) {
                (true, dtype) => Scalar::of(dtype, rng.real()),
                (false, DType::I32) if rng.chance(4) => Scalar::I32(rng.pick(&[i32::MIN, i32::MAX, 0, -1])),
                (false, dtype) => Scalar::of(dtype, rng.plain()),
            };
            Array::new(*ty, (0..ty.shape.elements()).map(|_| element(rng)).collect())
        };
        let mut list = |types: &[TensorType]| types.iter().map(&mut array).collect();
        Data {
            inputs: list(graph.inputs()),
            captures: list(graph.captures()),
            variables: list(graph.variables()),
        }
    }

    fn run(&self, graph: &Graph, captures: &[Array]) -> Vec<Array> {
        run(graph, &self.inputs, captures, &self.variables)
    }
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = SIMPLIFY.iter().chain(GROUP).map(|pass| pass.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Optimises and groups; the graph, its captured tensors and the reports.
fn optimized(graph: &Graph, data: &Data, options: &Options, seed: u64) -> (Graph, Vec<Array>, Vec<Report>) {
    let mut evaluator = Interpreter { captures: data.captures.clone(), reads: seed.is_multiple_of(2) };
    let (simple, mut reports) = optimize(graph, options, &mut evaluator).unwrap();
    // Some devices have every joined op, some only those of one dtype.
    let supports = |op: &Op, inputs: &[TensorType], _: &[TensorType], _: &Request| {
        !seed.is_multiple_of(3)
            || (!matches!(op, Op::MatmulBias(_) | Op::Conv2dBias(_))
                && inputs.iter().all(|t| t.dtype != DType::F64))
    };
    let (grouped, more) = situ_ir::passes::group(&simple, options, &supports).unwrap();
    reports.extend(more);
    (grouped, evaluator.captures, reports)
}

fn check(
    seed: u64,
    before: &Graph,
    data: &Data,
    wanted: &[Array],
    options: &Options,
    what: &str,
) -> Vec<Report> {
    let (after, captures, reports) = optimized(before, data, options, seed);
    after.verify().unwrap();
    let found = data.run(&after, &captures);
    for (n, (a, b)) in wanted.iter().zip(&found).enumerate() {
        assert!(
            same(a, b),
            "seed {seed}, {what}, result {n}\nbefore:\n{before}\n{a:?}\nafter:\n{after}\n{b:?}\n{}",
            reports.iter().map(Report::to_string).collect::<String>()
        );
    }
    assert_eq!(wanted.len(), found.len());
    // The text form holds for what passes make, too.
    assert_eq!(after.to_string().parse::<Graph>().unwrap(), after);
    reports
}

#[test]
fn each_pass_alone_all_together_and_all_but_one_change_no_bit_of_any_result() {
    let mut did: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..300 {
        let mut rng = Rng(seed);
        let before = graph(&mut rng, Purpose::Running, 25);
        let data = Data::random(&mut rng, &before);
        let wanted = data.run(&before, &data.captures);
        // Cross-entropy rounds differently, and is off; it has a test of its own.
        let all = Options::default();
        for report in check(seed, &before, &data, &wanted, &all, "all passes") {
            *did.entry(report.pass).or_default() += report.did.len();
        }
        for name in names().into_iter().filter(|name| *name != "cross_entropy") {
            let alone = Options::nothing().with(name).unwrap();
            check(seed, &before, &data, &wanted, &alone, &format!("only {name}"));
            let without = all.clone().without(name).unwrap();
            check(seed, &before, &data, &wanted, &without, &format!("without {name}"));
        }
    }
    for name in names().into_iter().filter(|name| *name != "cross_entropy") {
        let count = did.get(name).copied().unwrap_or(0);
        assert!(count > 20, "{name} did {count} things in all: the graphs do not try it ({did:?})");
    }
}

#[test]
fn simplified_graphs_are_left_alone() {
    for seed in 0..100 {
        let mut rng = Rng(seed);
        let before = graph(&mut rng, Purpose::Running, 25);
        let data = Data::random(&mut rng, &before);
        let mut evaluator = Interpreter { captures: data.captures.clone(), reads: true };
        let mut options = Options::default();
        options.rounds = 40;
        let (once, _) = optimize(&before, &options, &mut evaluator).unwrap();
        let (twice, reports) = optimize(&once, &options, &mut evaluator).unwrap();
        assert_eq!(once, twice, "seed {seed}");
        assert!(reports.iter().all(|r| r.did.is_empty()), "seed {seed}: {reports:?}");
        let (grouped, _) = group(&once, &options, &|_, _, _, _| true).unwrap();
        let (again, _) = group(&grouped, &options, &|_, _, _, _| true).unwrap();
        assert_eq!(grouped, again, "seed {seed}");
    }
}

/// `−mean(Σ labels · log_softmax(logits))`, in one of its guises.
fn loss(rng: &mut Rng, dtype: DType) -> Graph {
    let mut b = GraphBuilder::new();
    let shape = Shape::new(&[1 + rng.below(4), 1 + rng.below(6)]).unwrap();
    let logits = b.input(TensorType::new(dtype, shape));
    let labels = b.input(TensorType::new(dtype, shape));
    let neg = Unary::new(UnaryKind::Neg);
    let mut negated = false;
    let mut log = b.op(Softmax { axis: 1, log: true }, &[logits]).unwrap();
    if rng.chance(4) {
        log = b.op(neg, &[log]).unwrap();
        negated = !negated;
    }
    let pair = if rng.chance(2) { [labels, log] } else { [log, labels] };
    let mut value = b.op(Binary { kind: BinaryKind::Mul }, &pair).unwrap();
    if rng.chance(4) {
        value = b.op(neg, &[value]).unwrap();
        negated = !negated;
    }
    let whole = rng.chance(3);
    let axes = if whole { Axes::all(2) } else { Axes::one(1) };
    value = b.op(Reduce { kind: ReduceKind::Sum, axes, keep_dims: rng.chance(3) }, &[value]).unwrap();
    let rank = b.type_of(value).shape.rank();
    let mean = Reduce { kind: ReduceKind::Mean, axes: Axes::all(rank), keep_dims: false };
    value = b.op(mean, &[value]).unwrap();
    if !negated {
        value = b.op(neg, &[value]).unwrap();
    }
    b.finish(vec![value], vec![]).unwrap()
}

#[test]
fn cross_entropies_are_found_in_every_guise_and_agree_but_for_rounding() {
    for seed in 0..200 {
        let mut rng = Rng(seed);
        let dtype = rng.pick(&[DType::F32, DType::F64]);
        let before = loss(&mut rng, dtype);
        let mut array = |ty: &TensorType| {
            let element = |_| Scalar::of(ty.dtype, rng.plain());
            Array::new(*ty, (0..ty.shape.elements()).map(element).collect())
        };
        let inputs: Vec<Array> = before.inputs().iter().map(&mut array).collect();
        let asked = Options::default().with("cross_entropy").unwrap();
        let (after, reports) = optimize(&before, &asked, &mut situ_ir::passes::NoEvaluation).unwrap();
        let text = after.to_string();
        assert!(
            text.contains("softmax_cross_entropy") && !text.contains("neg("),
            "seed {seed}\n{before}\n{text}"
        );
        let [a, b] = [&before, &after].map(|g| run(g, &inputs, &[], &[]).remove(0));
        assert!(is_finite(&a));
        let (x, y) = (a.data[0].to_f64(), b.data[0].to_f64());
        let epsilon = if dtype == DType::F32 { 1e-5 } else { 1e-13 };
        assert!((x - y).abs() <= epsilon * (1.0 + x.abs()), "seed {seed}: {x} and {y}\n{reports:?}");
    }
}
