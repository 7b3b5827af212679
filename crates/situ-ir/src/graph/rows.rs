//! Whether a graph keeps the rows of its arguments apart: whether row i of what it gives depends on row i of
//! what it is given alone.
//!
//! It is read off two graphs of one closure, for two numbers of rows: every value must be the same in both,
//! or have the rows in its first axis and be the same but for how many they are, and every op must be one
//! that keeps rows apart. What is not known to is refused.

use super::{Content, Graph, Node};
use crate::ops::{MatmulInteger, Op};
use situ_core::{Error, Result, TensorType};
use smallvec::SmallVec;

/// What a value has to do with rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Its first axis is the rows.
    Rows,
    /// It depends on no row.
    Whole,
}
use Kind::{Rows, Whole};

/// Of two graphs of one form, whose arguments all have rows in their first axes and differ in their number:
/// which results have rows, row i depending on row i of the arguments alone. An error that names the op that
/// mixes rows, or may.
pub fn rows_apart(few: &Graph, many: &Graph) -> Result<Vec<bool>> {
    let is_random = |node: &&Node| matches!(node.content, Content::Op(Op::Random(_) | Op::Dropout(_)));
    if let Some(node) = many.nodes.iter().find(is_random) {
        return Err(mixes(node, "what it draws depends on the number of rows"));
    }
    if !few.has_form_of(many) {
        return Err(refused("it computes something else for another number of rows"));
    }
    let rows = |graph: &Graph| graph.inputs.first().and_then(|t| t.shape.first().copied());
    let (Some(few_rows), Some(many_rows)) = (rows(few), rows(many)) else {
        return Err(refused("it takes nothing that has rows"));
    };
    let counts = [few_rows, many_rows];
    let mut kinds: Vec<Kind> = Vec::with_capacity(few.nodes.len());
    for (a, b) in few.nodes.iter().zip(&many.nodes) {
        let inputs: SmallVec<[Kind; 4]> = a.inputs.iter().map(|v| kinds[v.node.index()]).collect();
        let types: SmallVec<[TensorType; 4]> = b.inputs.iter().map(|v| many.type_of(*v)).collect();
        let kind = match &b.content {
            Content::Input(_) => Rows,
            Content::Capture(_) | Content::Variable(_) => Whole,
            Content::Op(_) if inputs.iter().all(|kind| *kind == Whole) => made(a, b)?,
            Content::Op(op) if keeps_apart(op, &inputs, &types, b) => Rows,
            Content::Op(_) => return Err(mixes(b, "it mixes rows, or may")),
            Content::Cond(_) | Content::While(_) if inputs.contains(&Rows) => {
                return Err(mixes(b, "rows are not followed into conditions and loops"));
            }
            Content::Cond(_) | Content::While(_) => Whole,
        };
        for (few, many) in a.types.iter().zip(&b.types) {
            if !has_kind(kind, few, many, counts) {
                return Err(mixes(b, &format!("it is {few} of {few_rows} rows and {many} of {many_rows}")));
            }
        }
        kinds.push(kind);
    }
    if let Some((n, _)) = few.updates.iter().find(|(_, value)| kinds[value.node.index()] == Rows) {
        return Err(refused(&format!("variable {n} would take rows")));
    }
    Ok(few.outputs.iter().map(|value| kinds[value.node.index()] == Rows).collect())
}

/// Whether types for few rows and for many are those of a value of a kind.
fn has_kind(kind: Kind, few: &TensorType, many: &TensorType, [fewer, more]: [usize; 2]) -> bool {
    let [a, b] = [few.shape.dims(), many.shape.dims()];
    match kind {
        Whole => few == many,
        Rows => a.first() == Some(&fewer) && b.first() == Some(&more) && a[1..] == b[1..],
    }
}

/// What is made of no rows: the same for any number of them, or as many equal rows as there are.
fn made(few: &Node, many: &Node) -> Result<Kind> {
    match &many.content {
        _ if few.types == many.types => Ok(Whole),
        Content::Op(Op::Fill(_) | Op::Expand(_)) => Ok(Rows),
        _ => Err(mixes(many, "it depends on the number of rows")),
    }
}

/// Whether row i of an op's result depends on row i of its inputs alone, given which inputs have rows, their
/// types, and the node.
fn keeps_apart(op: &Op, inputs: &[Kind], types: &[TensorType], node: &Node) -> bool {
    let Some(rank) = node.types.first().map(|t| t.shape.rank()) else { return false };
    let has_rows = |n: usize| inputs.get(n) == Some(&Rows);
    // Axes are counted from the last: an input of the result's rank has its rows where the result has them.
    let aligned = || inputs.iter().zip(types).all(|(kind, ty)| *kind == Whole || ty.shape.rank() == rank);
    match op {
        Op::Unary(_) | Op::Cast(_) | Op::Dense(_) | Op::StopGradient(_) | Op::OneHot(_) => true,
        Op::Binary(_) | Op::Where(_) | Op::Fused(_) | Op::Expand(_) => aligned(),
        // The bias lies along the last axis.
        Op::BiasAdd(_) => rank >= 2 && !has_rows(1),
        // Sums run along the last axis of the left and the one before the last of the right.
        Op::Matmul(op) | Op::MatmulInteger(MatmulInteger { matmul: op }) if rank == 2 => {
            has_rows(0) && !has_rows(1) && !op.transpose_a
        }
        Op::Matmul(_) | Op::MatmulInteger(_) => aligned(),
        Op::LayerNorm(_) => rank >= 2 && !has_rows(1) && !has_rows(2),
        Op::Conv2d(_) => !has_rows(1),
        Op::Pool2d(_) => true,
        Op::Softmax(op) => op.axis != 0,
        Op::Reduce(op) => !op.axes.contains(0),
        // Over the last axis, which is not the first.
        Op::CrossEntropy(_) | Op::SparseCrossEntropy(_) => {
            types[0].shape.rank() >= 2 && inputs.iter().all(|kind| *kind == Rows)
        }
        // Elements keep their order: rows stay rows if there are as many.
        Op::Reshape(_) => types[0].shape.first() == node.types[0].shape.first(),
        Op::Permute(op) => op.order().next() == Some(0),
        Op::Slice(op) => op.starts().first() == Some(&0) && op.steps().first() == Some(&1),
        Op::Concat(op) => op.axis != 0 && inputs.iter().all(|kind| *kind == Rows),
        Op::Pad(op) => op.before().first() == Some(&0) && op.after().first() == Some(&0),
        Op::Tile(op) => usize::from(op.rank) == rank && op.repeats[0] == 1,
        // Rows of a table by rows of indices, or the same columns of every row.
        Op::Gather(op) => match op.axis {
            0 => !has_rows(0),
            _ => !has_rows(1),
        },
        _ => false,
    }
}

#[cold]
fn mixes(node: &Node, why: &str) -> Error {
    refused(&format!("of {} ({}), {why}", node.content.name(), node.source))
}

#[cold]
fn refused(why: &str) -> Error {
    Error::argument(
        "bucketed",
        format!("rows can't be added to what the function is given: {why}"),
        "call it without buckets, or leave what joins rows, such as a mean over the batch, to the caller",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::graph::GraphBuilder;
    use crate::ops::{Binary, BinaryKind, Gather, Matmul, Reduce, ReduceKind, Reshape, Softmax};
    use situ_core::{Axes, DType, Shape};

    type Body<'a> = &'a dyn Fn(&mut GraphBuilder, Value, usize) -> Value;

    /// The verdict on a graph of `f32[rows, 4]`, made for 3 and for 8 rows.
    fn verdict(body: Body<'_>) -> Result<Vec<bool>> {
        let graph = |rows: usize| {
            let mut builder = GraphBuilder::new();
            let x = builder.input(TensorType::new(DType::F32, Shape::new(&[rows, 4]).expect("a shape")));
            let y = body(&mut builder, x, rows);
            builder.finish(vec![y], Vec::new()).expect("a graph")
        };
        rows_apart(&graph(3), &graph(8))
    }

    fn op(builder: &mut GraphBuilder, op: impl Into<Op>, inputs: &[Value]) -> Value {
        builder.op(op, inputs).expect("an op on what it takes")
    }

    fn mean(axis: usize, keep_dims: bool) -> Reduce {
        Reduce { kind: ReduceKind::Mean, axes: Axes::one(axis), keep_dims }
    }

    #[test]
    fn what_joins_rows_is_refused() {
        const SUB: Binary = Binary { kind: BinaryKind::Sub };
        let bad: [Body<'_>; 7] = [
            &|b, x, _| op(b, mean(0, false), &[x]),
            // The shape of the result says nothing: every row has the mean of all in it.
            &|b, x, _| {
                let mean = op(b, mean(0, true), &[x]);
                op(b, SUB, &[x, mean])
            },
            &|b, x, _| op(b, Softmax { axis: 0, log: false }, &[x]),
            &|b, x, _| op(b, Matmul { transpose_a: true, transpose_b: false }, &[x, x]),
            &|b, x, _| op(b, Matmul { transpose_a: false, transpose_b: true }, &[x, x]),
            &|b, x, rows| op(b, Reshape { shape: Shape::new(&[rows * 2, 2]).expect("a shape") }, &[x]),
            &|b, x, rows| {
                let fill =
                    crate::ops::Fill { shape: Shape::SCALAR, value: situ_core::Scalar::F32(rows as f32) };
                let count = op(b, fill, &[]);
                op(b, SUB, &[x, count])
            },
        ];
        for (n, body) in bad.into_iter().enumerate() {
            let error = verdict(body).expect_err("a refusal").to_string();
            assert!(error.contains("rows"), "{n}: {error}");
        }
    }

    #[test]
    fn what_keeps_rows_apart_is_found_to() {
        let good: [Body<'_>; 4] = [
            &|b, x, _| op(b, mean(1, false), &[x]),
            &|b, x, _| op(b, Softmax { axis: 1, log: true }, &[x]),
            &|b, x, _| {
                let w = b.capture(TensorType::new(DType::F32, Shape::new(&[4, 8]).expect("a shape")));
                op(b, Matmul::default(), &[x, w])
            },
            &|b, x, rows| op(b, Reshape { shape: Shape::new(&[rows, 2, 2]).expect("a shape") }, &[x]),
        ];
        for (n, body) in good.into_iter().enumerate() {
            assert_eq!(verdict(body).ok(), Some(vec![true]), "{n}");
        }
        let table = |b: &mut GraphBuilder, _: Value, _: usize| {
            let table = b.capture(TensorType::new(DType::F32, Shape::new(&[9]).expect("a shape")));
            let places = b.capture(TensorType::new(DType::I32, Shape::new(&[2]).expect("a shape")));
            op(b, Gather { axis: 0 }, &[table, places])
        };
        assert_eq!(verdict(&table).ok(), Some(vec![false]));
    }
}
