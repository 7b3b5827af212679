//! A plain interpreter of graphs: element by element, in f64 rounded to the dtype after every op, integers
//! wrapping. Slow, and written without a look at any kernel or pass, so that it can judge them.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

mod element;
mod images;
mod ops;

pub use ops::apply;

use situ_core::{DType, Scalar, Shape, TensorType};
use situ_ir::passes::{Constant, Evaluate};
use situ_ir::{Content, Graph, Op};

/// A tensor of elements in row-major order.
#[derive(Clone, Debug)]
pub struct Array {
    pub ty: TensorType,
    pub data: Vec<Scalar>,
}

impl Array {
    pub fn new(ty: TensorType, data: Vec<Scalar>) -> Array {
        assert_eq!(ty.shape.elements(), data.len());
        Array { ty, data }
    }

    /// The element at an index, where axes that are missing or of size 1 repeat.
    pub fn at(&self, index: &[usize]) -> Scalar {
        let lead = index.len() - self.ty.shape.rank();
        let mut offset = 0;
        for (axis, &size) in self.ty.shape.iter().enumerate() {
            offset = offset * size + if size == 1 { 0 } else { index[lead + axis] };
        }
        self.data[offset]
    }
}

/// Every index of a shape, in row-major order.
pub fn indices(shape: &Shape) -> Vec<Vec<usize>> {
    let mut list = vec![Vec::new()];
    for &size in shape.iter() {
        list = list
            .iter()
            .flat_map(|head: &Vec<usize>| (0..size).map(move |n| [head.as_slice(), &[n]].concat()))
            .collect();
    }
    list
}

/// A tensor made element by element.
pub fn made(ty: TensorType, element: impl FnMut(&Vec<usize>) -> Scalar) -> Array {
    Array::new(ty, indices(&ty.shape).iter().map(element).collect())
}

/// What a graph gives: outputs, then the updates of variables.
pub fn run(graph: &Graph, inputs: &[Array], captures: &[Array], variables: &[Array]) -> Vec<Array> {
    let mut done: Vec<Vec<Array>> = Vec::new();
    for (_, node) in graph.iter() {
        let reads: Vec<Array> = node.inputs.iter().map(|v| done[v.node.index()][v.slot()].clone()).collect();
        let made = match &node.content {
            Content::Input(n) => vec![inputs[*n as usize].clone()],
            Content::Capture(n) => vec![captures[*n as usize].clone()],
            Content::Variable(n) => vec![variables[*n as usize].clone()],
            Content::Op(op) => apply(op, &reads, &node.types),
            Content::Cond(cond) => {
                let side = if reads[0].data[0] == Scalar::Bool(true) { &cond.then } else { &cond.otherwise };
                run(side, &reads[1..], &[], &[])
            }
            Content::While(repeated) => {
                let mut state = reads;
                let mut trips = 0;
                while run(&repeated.condition, &state, &[], &[])[0].data[0] == Scalar::Bool(true) {
                    state = run(&repeated.body, &state, &[], &[]);
                    trips += 1;
                    assert!(trips < 100, "a loop that does not end");
                }
                state
            }
        };
        assert_eq!(made.iter().map(|a| a.ty).collect::<Vec<_>>(), node.types.to_vec(), "{:?}", node.content);
        done.push(made);
    }
    graph.results().map(|v| done[v.node.index()][v.slot()].clone()).collect()
}

/// Whether two tensors have the same elements, bit for bit; any NaN is as good as any other.
pub fn same(a: &Array, b: &Array) -> bool {
    let nan = |s: &Scalar| s.dtype().is_float() && s.to_f64().is_nan();
    a.ty == b.ty && a.data.iter().zip(&b.data).all(|(x, y)| x == y || (nan(x) && nan(y)))
}

/// Folds with the interpreter.
pub struct Interpreter {
    pub captures: Vec<Array>,
    /// Whether single elements can be read back.
    pub reads: bool,
}

impl Evaluate for Interpreter {
    fn evaluate(
        &mut self,
        op: &Op,
        inputs: &[Constant<'_>],
        outputs: &[TensorType],
    ) -> situ_core::Result<Option<u32>> {
        let reads: Vec<Array> = inputs
            .iter()
            .map(|constant| match constant {
                Constant::Capture(n) => self.captures[*n as usize].clone(),
                Constant::Made(op) => {
                    let types = op.infer(&[]).unwrap();
                    apply(op, &[], &types).remove(0)
                }
            })
            .collect();
        let first = self.captures.len() as u32;
        self.captures.extend(apply(op, &reads, outputs));
        Ok(Some(first))
    }

    fn scalar(&mut self, capture: u32) -> Option<Scalar> {
        let array = &self.captures[capture as usize];
        assert_eq!(array.data.len(), 1);
        self.reads.then(|| array.data[0])
    }
}

/// Whether every float of a tensor is finite.
pub fn is_finite(array: &Array) -> bool {
    array.data.iter().all(|s| !s.dtype().is_float() || s.to_f64().is_finite())
}

/// The dtype's own rounding of a value computed in f64.
pub fn rounded(dtype: DType, value: f64) -> Scalar {
    Scalar::of(dtype, value)
}
