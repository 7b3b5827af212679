//! The op suite: one list of cases, run on every device.
//!
//! A case is an op, its inputs and a naive reference in f64 and i128 that shares nothing with any kernel.
//! Families of ops are files; adding an op is one file with a `cases` function and one line in [`all`]. A
//! kernel that a device lacks is listed as absent (see [`absent`]), never passed over. Gradients are checked
//! on the same cases (see [`gradients`]). Left to others: wrong calls, which are a table of their own.

pub mod absent;
pub mod case;
pub mod compare;
pub mod gradients;
pub mod large;
pub mod run;

mod batch_norm;
mod bias_add;
mod binary;
mod cast;
mod conv2d;
mod conv2d_bias;
mod cross_entropy;
mod cumsum;
mod dropout;
mod fused;
mod generate;
mod index;
mod join;
mod layer_norm;
mod matmul;
mod matmul_bias;
mod matmul_integer;
mod pool2d;
mod random;
mod reduce;
mod select;
mod softmax;
mod special_functions;
mod table_rows;
mod unary;
mod update;
mod view;

pub use case::{Bound, Case, Expected, Tolerance};
pub use run::{Outcome, bits, run};

/// Every case of every op.
pub fn all() -> Vec<Case> {
    let mut list = Vec::new();
    unary::cases(&mut list);
    binary::cases(&mut list);
    select::cases(&mut list);
    cast::cases(&mut list);
    matmul::cases(&mut list);
    matmul_bias::cases(&mut list);
    matmul_integer::cases(&mut list);
    bias_add::cases(&mut list);
    layer_norm::cases(&mut list);
    reduce::cases(&mut list);
    cumsum::cases(&mut list);
    softmax::cases(&mut list);
    cross_entropy::cases(&mut list);
    view::cases(&mut list);
    join::cases(&mut list);
    index::cases(&mut list);
    table_rows::cases(&mut list);
    generate::cases(&mut list);
    random::cases(&mut list);
    fused::cases(&mut list);
    conv2d::cases(&mut list);
    conv2d_bias::cases(&mut list);
    pool2d::cases(&mut list);
    batch_norm::cases(&mut list);
    dropout::cases(&mut list);
    update::cases(&mut list);
    list
}

/// Large cases of families whose file has both.
const LARGE: &[fn(&mut large::Table)] = &[cumsum::large];

#[cfg(test)]
mod tests {
    use super::*;
    use situ_core::TensorType;
    use situ_ir::ops::{BinaryKind, ReduceKind, UnaryKind};
    use situ_ir::{Graph, GraphBuilder, OpKind};
    use std::collections::HashSet;

    #[test]
    fn every_op_family_and_every_function_of_the_tables_has_a_case() {
        let cases = all();
        let kinds: HashSet<OpKind> = cases.iter().map(|c| c.op.kind()).collect();
        // Ops from outside bring cases of their own: examples/custom-op has some.
        let own = OpKind::ALL.iter().filter(|k| **k != OpKind::Custom);
        let missing: Vec<_> = own.filter(|k| !kinds.contains(k)).collect();
        assert!(missing.is_empty(), "no case for {missing:?}");
        let names: HashSet<&str> = cases.iter().map(|c| c.op.name()).collect();
        let tables = UnaryKind::ALL.iter().map(|k| k.name());
        let tables = tables.chain(BinaryKind::ALL.iter().map(|k| k.name()));
        for name in tables.chain(ReduceKind::ALL.iter().map(|k| k.name())) {
            assert!(names.contains(name), "no case for {name}");
        }
    }

    #[test]
    fn every_op_is_written_in_the_text_of_graphs_and_read_back() {
        for case in all() {
            let mut builder = GraphBuilder::new();
            let types = case.inputs.iter().map(|i| TensorType::new(i.dtype(), *i.layout().shape()));
            let inputs: Vec<_> = types.map(|ty| builder.input(ty)).collect();
            let value = builder.op(case.op.clone(), &inputs).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let graph = builder.finish(vec![value], vec![]).expect("a graph of one op");
            let text = graph.to_string();
            let back: Graph = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(back, graph, "{text}");
        }
    }

    #[test]
    fn names_of_cases_are_unique() {
        let mut seen = HashSet::new();
        for case in all() {
            assert!(seen.insert(case.name.clone()), "{} stands twice", case.name);
        }
    }
}
