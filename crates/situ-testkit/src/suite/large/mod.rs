//! The op suite at the sizes that people use: beyond every border that a kernel, a dispatch or a buffer has.
//!
//! A case is an op, inputs made from a formula, and a naive reference written here, in f64, that shares
//! nothing with any kernel. Beside noise there are values that tell how many of them were counted: ones that
//! are added up, a single largest at the far end. Every case is run eagerly and in a function, on every
//! device, strictly there.
//!
//! Cases have a cost: [`Cost::Quick`] ones run with all other tests, the rest where `SITU_LARGE=all` is set
//! (`make soak`). Left to others: what must be placed elsewhere because no device buffer holds it, and
//! tensors of more than 2³¹ elements, which are programs of their own.

mod elements;
mod given;
mod images;
mod indices;
mod moves;
mod products;
mod reductions;
mod rows;
mod run;
mod sum;

pub use given::Given;
pub use run::{Outcome, run};

use super::case::Tolerance;
use situ_ir::Op;

/// How long a case takes, and so when it is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Within a second or two on a software GPU: with all other tests.
    Quick,
    /// Longer: when somebody asks for it.
    Long,
}

/// What a reference gives.
pub enum Answer {
    /// Every element, floats not yet rounded, and the size of what was added up to get it.
    All {
        /// The elements.
        values: Vec<f64>,
        /// What their rounding is measured by, beside themselves.
        scale: Vec<f64>,
    },
    /// Each element by its place, for results that are better not held twice.
    Each(Box<dyn Fn(usize) -> f64>),
}

impl Answer {
    /// Elements that are right where they are near themselves.
    pub(super) fn plain(values: Vec<f64>) -> Answer {
        let scale = vec![0.0; values.len()];
        Answer::All { values, scale }
    }

    /// Each element by its place.
    pub(super) fn each(element: impl Fn(usize) -> f64 + 'static) -> Answer {
        Answer::Each(Box::new(element))
    }
}

type Reference = dyn Fn(&[Given]) -> Answer + Send + Sync;

/// One case.
pub struct Large {
    /// Unique: the op, types, and what is special about it.
    pub name: String,
    /// Which part of the list it is in.
    pub family: &'static str,
    /// When it is run.
    pub cost: Cost,
    /// The op with its attributes.
    pub op: Op,
    /// What it is given.
    pub inputs: Vec<Given>,
    /// Which of the op's outputs is meant.
    pub output: usize,
    /// How close a result must be.
    pub tolerance: Tolerance,
    reference: Box<Reference>,
}

/// A list of cases under construction.
pub(super) struct Table {
    family: &'static str,
    list: Vec<Large>,
}

impl Table {
    pub(super) fn push(
        &mut self,
        cost: Cost,
        label: &str,
        op: impl Into<Op>,
        inputs: Vec<Given>,
        tolerance: Tolerance,
        reference: impl Fn(&[Given]) -> Answer + Send + Sync + 'static,
    ) {
        self.push_output(cost, label, op, inputs, 0, tolerance, reference);
    }

    #[allow(clippy::too_many_arguments, reason = "a row of a table")]
    fn push_output(
        &mut self,
        cost: Cost,
        label: &str,
        op: impl Into<Op>,
        inputs: Vec<Given>,
        output: usize,
        tolerance: Tolerance,
        reference: impl Fn(&[Given]) -> Answer + Send + Sync + 'static,
    ) {
        let op = op.into();
        let types: Vec<String> = inputs.iter().map(|i| format!("{}{:?}", i.dtype, i.dims())).collect();
        let name = format!("{}({}) {label}", op.name(), types.join(", "));
        let family = self.family;
        self.list.push(Large {
            name,
            family,
            cost,
            op,
            inputs,
            output,
            tolerance,
            reference: Box::new(reference),
        });
    }
}

/// The families, in the order of their files.
pub const FAMILIES: [&str; 7] = ["reductions", "rows", "products", "images", "indices", "elements", "moves"];

/// Every case of every family.
pub fn all() -> Vec<Large> {
    let make = [
        reductions::cases,
        rows::cases,
        products::cases,
        images::cases,
        indices::cases,
        elements::cases,
        moves::cases,
    ];
    let tables = FAMILIES.into_iter().zip(make).flat_map(|(family, make)| {
        let mut table = Table { family, list: Vec::new() };
        make(&mut table);
        if family == "reductions" {
            super::LARGE.iter().for_each(|make| make(&mut table));
        }
        table.list
    });
    tables.collect()
}

/// The cases that this run is for: the quick ones, or all of them where `SITU_LARGE=all` is set.
pub fn selected() -> Vec<Large> {
    let everything = everything();
    all().into_iter().filter(|case| everything || case.cost == Cost::Quick).collect()
}

/// Whether this run is for all cases.
pub fn everything() -> bool {
    std::env::var("SITU_LARGE").is_ok_and(|which| which == "all")
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_ir::OpKind;
    use situ_ir::ops::{ReduceKind, Viewing};
    use std::collections::HashSet;

    #[test]
    fn every_op_family_has_a_quick_large_case_unless_it_is_a_view() {
        let cases = all();
        let quick = cases.iter().filter(|c| c.cost == Cost::Quick);
        let kinds: HashSet<OpKind> = quick.map(|c| c.op.kind()).collect();
        // A view moves nothing; what must be made dense first is the case of dense.
        let small = crate::suite::all();
        let views = small.iter().filter(|c| c.op.viewing() != Viewing::Never);
        let none: HashSet<OpKind> = views.map(|c| c.op.kind()).collect();
        let missing: Vec<_> = OpKind::ALL
            .iter()
            .filter(|k| !kinds.contains(k) && !none.contains(k) && **k != OpKind::Custom)
            .collect();
        assert!(missing.is_empty(), "no quick large case for {missing:?}, and it is no view");
        let both: Vec<_> = none.intersection(&kinds).collect();
        assert!(both.is_empty(), "{both:?} have a case and need none");
        let names: HashSet<&str> = cases.iter().map(|c| c.op.name()).collect();
        for kind in ReduceKind::ALL {
            assert!(names.contains(kind.name()), "no large case for {}", kind.name());
        }
    }

    #[test]
    fn names_of_large_cases_are_unique_and_their_inputs_fit() {
        let mut seen = HashSet::new();
        for case in all() {
            assert!(seen.insert((case.name.clone(), case.output)), "{} stands twice", case.name);
            let types: Vec<_> = case.inputs.iter().map(Given::tensor_type).collect();
            assert!(case.op.infer(&types).is_ok(), "{}", case.name);
        }
    }
}
