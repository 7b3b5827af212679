//! What each pass does, and what it nearly does, on graphs small enough to read.

mod algebra;
mod folding;
mod joining;
mod removing;

use situ_core::TensorType;
use situ_ir::passes::{
    Constant, Context, Evaluate, GROUP, NoEvaluation, Options, Report, SIMPLIFY, group, optimize,
};
use situ_ir::{Graph, Op};

/// Runs one pass once, with devices that run every joined op.
fn pass(name: &str, text: &str) -> (String, Report) {
    pass_with(name, text, &|_, _, _, _| true, &mut NoEvaluation)
}

fn pass_with(
    name: &str,
    text: &str,
    supports: &situ_ir::passes::Supports<'_>,
    evaluator: &mut dyn Evaluate,
) -> (String, Report) {
    let graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let pass = SIMPLIFY.iter().chain(GROUP).find(|pass| pass.name == name).unwrap();
    let mut context = Context { options: &Options::default(), evaluator, supports };
    let (graph, report) = (pass.run)(&graph, &mut context).unwrap();
    graph.verify().unwrap();
    assert_eq!(report.pass, name);
    (graph.to_string(), report)
}

/// One pass and the dead code that it leaves.
fn cleaned(name: &str, text: &str) -> (String, Report) {
    let (text, report) = pass(name, text);
    (pass("dead_code", &text).0, report)
}

fn texts(notes: &[situ_ir::passes::Note]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn has(notes: &[situ_ir::passes::Note], text: &str) {
    assert!(notes.iter().any(|note| note.to_string().contains(text)), "no {text:?} in {:#?}", texts(notes));
}

#[test]
fn passes_are_turned_off_by_name_and_a_wrong_name_is_an_error_that_lists_them() {
    let text = "function(%0: f32[3]) { %1 = neg(%0) %2 = neg(%1) return %2 }";
    let graph: Graph = text.parse().unwrap();
    let off = Options::default().without("algebra").unwrap();
    let (kept, reports) = optimize(&graph, &off, &mut NoEvaluation).unwrap();
    assert_eq!(kept, graph);
    assert!(reports.iter().all(|r| r.pass != "algebra"));
    let (simple, _) = optimize(&graph, &Options::default(), &mut NoEvaluation).unwrap();
    assert_eq!(simple.to_string(), "function(%0: f32[3]) {\n  return %0\n}\n");
    let error = Options::default().without("algebraic").unwrap_err().to_string();
    assert!(error.contains("algebraic") && error.contains("cse, dead_code"), "{error}");
}
