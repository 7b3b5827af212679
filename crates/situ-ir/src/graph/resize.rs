//! The same graph for other sizes: types worked out anew from other arguments, and graphs of one form that
//! differ in sizes alone.
//!
//! Promises: [`Graph::with_inputs`] gives what recording the same ops on arguments of those types gives, or
//! an error where an op does not take them; [`Sizes`] renames sizes one to one and leaves 0 and 1 alone,
//! because they decide what broadcasts and what is empty. Leaves to others: whether the closure behind a
//! graph would have recorded the same ops (`situ-tensor` watches it).

use super::{Cond, Content, Graph, Node, Part, Parts, Value, While};
use crate::ops::Outputs;
use situ_core::{Error, Result, Shape, TensorType};
use smallvec::SmallVec;

impl Graph {
    /// The graph with arguments of other types: every node's types are worked out anew. An error where an op
    /// does not take what it would be given, or a variable would get another type than it has.
    pub fn with_inputs(&self, types: &[TensorType]) -> Result<Graph> {
        if types.len() != self.inputs.len() {
            return Err(unfit(format!("it takes {} arguments, not {}", self.inputs.len(), types.len())));
        }
        let mut graph = Graph { nodes: Vec::with_capacity(self.nodes.len()), ..self.clone_ends(types) };
        for node in &self.nodes {
            let inputs: SmallVec<[TensorType; 4]> = node.inputs.iter().map(|v| graph.type_of(*v)).collect();
            let (content, types) = match &node.content {
                Content::Input(n) => (node.content.clone(), Outputs::from_buf([types[*n as usize]])),
                Content::Capture(_) | Content::Variable(_) => (node.content.clone(), node.types.clone()),
                Content::Op(op) => (node.content.clone(), op.infer(&inputs)?),
                Content::Cond(cond) => {
                    let then = cond.then.with_inputs(&inputs[1..])?;
                    let otherwise = cond.otherwise.with_inputs(&inputs[1..])?;
                    let given = then.gives();
                    if given != otherwise.gives() {
                        return Err(unfit("the sides of a condition give different types".to_string()));
                    }
                    let cond = Cond { then, otherwise };
                    (Content::Cond(Box::new(cond)), given.into_iter().collect())
                }
                Content::While(repeated) => {
                    let condition = repeated.condition.with_inputs(&inputs)?;
                    let body = repeated.body.with_inputs(&inputs)?;
                    if body.gives() != inputs.as_slice() {
                        return Err(unfit("the body of a loop gives other types than it takes".to_string()));
                    }
                    let repeated = While { condition, body };
                    (Content::While(Box::new(repeated)), inputs.iter().copied().collect())
                }
            };
            graph.nodes.push(Node { content, types, ..node.clone_but_content() });
        }
        let wrong = |(n, value): &&(u32, Value)| graph.type_of(*value) != graph.variables[*n as usize];
        if let Some((n, value)) = graph.updates.iter().find(wrong) {
            return Err(unfit(format!("variable {n} would become {}", graph.type_of(*value))));
        }
        Ok(graph)
    }

    fn clone_ends(&self, inputs: &[TensorType]) -> Graph {
        Graph {
            nodes: Vec::new(),
            inputs: inputs.to_vec(),
            captures: self.captures.clone(),
            variables: self.variables.clone(),
            outputs: self.outputs.clone(),
            updates: self.updates.clone(),
        }
    }

    /// Whether the two are one but for sizes: the same ops on the same values, each as it is but for the
    /// shape that it carries.
    pub fn has_form_of(&self, other: &Graph) -> bool {
        is_one(self, other, &mut |_, _| true)
    }
}

/// Whether two graphs are one but for sizes, and `pair` has nothing against any two sizes that stand in the
/// same place: of types, and of the shapes that ops carry.
fn is_one(a: &Graph, b: &Graph, pair: &mut dyn FnMut(usize, usize) -> bool) -> bool {
    if a.nodes.len() != b.nodes.len() || a.outputs != b.outputs || a.updates != b.updates {
        return false;
    }
    are_paired(&a.inputs, &b.inputs, pair)
        && are_paired(&a.captures, &b.captures, pair)
        && are_paired(&a.variables, &b.variables, pair)
        && a.nodes.iter().zip(&b.nodes).all(|(a, b)| is_one_node(a, b, pair))
}

fn is_one_node(a: &Node, b: &Node, pair: &mut dyn FnMut(usize, usize) -> bool) -> bool {
    if a.inputs != b.inputs || a.request != b.request || !are_paired(&a.types, &b.types, pair) {
        return false;
    }
    match (&a.content, &b.content) {
        (Content::Op(a), Content::Op(b)) => match (a.carried_shape(), b.carried_shape()) {
            (Some(from), Some(to)) => {
                is_paired(from, to, pair) && a.with_carried_shape(to).is_some_and(|a| a == *b)
            }
            _ => a == b,
        },
        (Content::Cond(a), Content::Cond(b)) => {
            is_one(&a.then, &b.then, pair) && is_one(&a.otherwise, &b.otherwise, pair)
        }
        (Content::While(a), Content::While(b)) => {
            is_one(&a.condition, &b.condition, pair) && is_one(&a.body, &b.body, pair)
        }
        (a, b) => a == b,
    }
}

fn are_paired(a: &[TensorType], b: &[TensorType], pair: &mut dyn FnMut(usize, usize) -> bool) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| a.dtype == b.dtype && is_paired(&a.shape, &b.shape, pair))
}

fn is_paired(a: &Shape, b: &Shape, pair: &mut dyn FnMut(usize, usize) -> bool) -> bool {
    a.rank() == b.rank() && a.iter().zip(b.iter()).all(|(a, b)| pair(*a, *b))
}

/// The sizes of one graph and those that stand in their places in another of the same form: one for one, with
/// 0 and 1 as they are.
///
/// What is computed from the first graph by looking at sizes only to compare them, with each other and with 0
/// and 1, is then the same for the second but for the names of its sizes: passes are so, but for what they
/// compute on constants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pairs: Vec<(usize, usize)>,
}

impl Sizes {
    /// How the sizes of one graph become those of the other; `None` where the graphs differ in more, or one
    /// size would become two, or two one.
    pub fn between(from: &Graph, to: &Graph) -> Option<Sizes> {
        let mut sizes = Sizes::default();
        is_one(from, to, &mut |a, b| sizes.add(a, b)).then_some(sizes)
    }

    fn add(&mut self, from: usize, to: usize) -> bool {
        if from < 2 || to < 2 {
            return from == to;
        }
        match self.pairs.iter().find(|(a, b)| *a == from || *b == to) {
            Some(known) => *known == (from, to),
            None => {
                self.pairs.push((from, to));
                true
            }
        }
    }

    /// What a size becomes; `None` of one that neither graph has.
    pub fn of(&self, size: usize) -> Option<usize> {
        if size < 2 {
            return Some(size);
        }
        self.pairs.iter().find(|(from, _)| *from == size).map(|(_, to)| *to)
    }

    fn of_shape(&self, shape: &Shape) -> Option<Shape> {
        let mut dims: SmallVec<[usize; 8]> = SmallVec::new();
        for size in shape.iter() {
            dims.push(self.of(*size)?);
        }
        Shape::new(&dims).ok()
    }

    fn of_type(&self, ty: &TensorType) -> Option<TensorType> {
        Some(TensorType::new(ty.dtype, self.of_shape(&ty.shape)?))
    }

    /// A graph that was made from the first one, as it would be made from the second: every size renamed, and
    /// what each op then gives worked out to see that it is what it should be. `None` where a size is
    /// unknown, or an op would give something else.
    pub fn rename(&self, graph: &Graph) -> Option<Graph> {
        let all = |types: &[TensorType]| types.iter().map(|t| self.of_type(t)).collect::<Option<Vec<_>>>();
        let mut renamed = Graph {
            nodes: Vec::with_capacity(graph.nodes.len()),
            inputs: all(&graph.inputs)?,
            captures: all(&graph.captures)?,
            variables: all(&graph.variables)?,
            outputs: graph.outputs.clone(),
            updates: graph.updates.clone(),
        };
        for node in &graph.nodes {
            let types: Outputs = node.types.iter().map(|t| self.of_type(t)).collect::<Option<_>>()?;
            let inputs: SmallVec<[TensorType; 4]> = node.inputs.iter().map(|v| renamed.type_of(*v)).collect();
            let content = match &node.content {
                Content::Op(op) => {
                    let op = match op.carried_shape() {
                        Some(shape) => op.with_carried_shape(&self.of_shape(shape)?)?,
                        None => op.clone(),
                    };
                    if op.infer(&inputs).ok()? != types {
                        return None;
                    }
                    Content::Op(op)
                }
                Content::Cond(cond) => {
                    let [then, otherwise] = [self.rename(&cond.then)?, self.rename(&cond.otherwise)?];
                    Content::Cond(Box::new(Cond { then, otherwise }))
                }
                Content::While(repeated) => {
                    let [condition, body] = [self.rename(&repeated.condition)?, self.rename(&repeated.body)?];
                    Content::While(Box::new(While { condition, body }))
                }
                source => source.clone(),
            };
            let parts = match &node.parts.0 {
                Some(parts) => {
                    let part = |part: &Part| Some(Part { ty: self.of_type(&part.ty)?, ..part.clone() });
                    Parts(Some(parts.iter().map(part).collect::<Option<_>>()?))
                }
                None => Parts::default(),
            };
            renamed.nodes.push(Node { content, types, parts, ..node.clone_but_content() });
        }
        Some(renamed)
    }
}

impl Node {
    /// The node without its content and types.
    fn clone_but_content(&self) -> Node {
        Node {
            content: Content::Input(0),
            types: Outputs::new(),
            inputs: self.inputs.clone(),
            request: self.request.clone(),
            source: self.source,
            parts: self.parts.clone(),
        }
    }
}

#[cold]
fn unfit(why: String) -> Error {
    Error::argument("graph", why, "record it anew for these arguments")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::GraphBuilder;
    use crate::ops::{Binary, BinaryKind, Expand, Fill, Matmul, Reshape};
    use situ_core::{DType, Scalar};

    fn f32s(dims: &[usize]) -> TensorType {
        TensorType::new(DType::F32, Shape::new(dims).expect("a shape"))
    }

    const ADD: Binary = Binary { kind: BinaryKind::Add };

    /// `x · w + b`, of so many rows.
    fn dense(rows: usize) -> Graph {
        let mut builder = GraphBuilder::new();
        let x = builder.input(f32s(&[rows, 3]));
        let w = builder.capture(f32s(&[3, 5]));
        let b = builder.capture(f32s(&[5]));
        let product = builder.op(Matmul::default(), &[x, w]).expect("a product");
        let sum = builder.op(ADD, &[product, b]).expect("a sum");
        builder.finish(vec![sum], Vec::new()).expect("a graph")
    }

    #[test]
    fn other_arguments_give_what_recording_on_them_gives() {
        for rows in [0, 1, 2, 3, 5, 7] {
            assert_eq!(dense(4).with_inputs(&[f32s(&[rows, 3])]).expect("rows"), dense(rows));
        }
        assert!(dense(4).with_inputs(&[f32s(&[4, 2])]).is_err());
        assert!(dense(4).with_inputs(&[]).is_err());
    }

    #[test]
    fn sizes_are_renamed_one_for_one() {
        let sizes = Sizes::between(&dense(4), &dense(9)).expect("one form");
        assert_eq!((sizes.of(4), sizes.of(3), sizes.of(1), sizes.of(8)), (Some(9), Some(3), Some(1), None));
        assert_eq!(sizes.rename(&dense(4)), Some(dense(9)));
        // Rows that are as many as columns could be either, and 0 and 1 mean more than a size.
        for (from, to) in [(3, 9), (9, 5), (1, 9), (9, 1), (4, 0)] {
            assert_eq!(Sizes::between(&dense(from), &dense(to)), None, "{from} to {to}");
            assert!(dense(from).has_form_of(&dense(to)));
        }
    }

    #[test]
    fn constants_that_differ_are_another_form() {
        let scaled = |rows: usize, by: f32| {
            let mut builder = GraphBuilder::new();
            let x = builder.input(f32s(&[rows]));
            let fill = Fill { shape: Shape::SCALAR, value: Scalar::F32(by) };
            let c = builder.op(fill, &[]).expect("a constant");
            let sum = builder.op(ADD, &[x, c]).expect("a sum");
            builder.finish(vec![sum], Vec::new()).expect("a graph")
        };
        assert!(Sizes::between(&scaled(4, 0.5), &scaled(8, 0.5)).is_some());
        assert_eq!(Sizes::between(&scaled(4, 0.25), &scaled(8, 0.125)), None);
    }

    #[test]
    fn shapes_that_ops_carry_are_renamed_too() {
        let wide = |rows: usize| {
            let mut builder = GraphBuilder::new();
            let x = builder.input(f32s(&[rows]));
            let shape = Shape::new(&[rows, 1]).expect("a shape");
            let column = builder.op(Reshape { shape }, &[x]).expect("a column");
            let shape = Shape::new(&[rows, 6]).expect("a shape");
            let wide = builder.op(Expand { shape }, &[column]).expect("columns");
            builder.finish(vec![wide], Vec::new()).expect("a graph")
        };
        let sizes = Sizes::between(&wide(4), &wide(10)).expect("one form");
        assert_eq!(sizes.rename(&wide(4)), Some(wide(10)));
        // The reshape that was recorded says 4: for other rows it must be recorded anew.
        assert!(wide(4).with_inputs(&[f32s(&[10])]).is_err());
    }
}
