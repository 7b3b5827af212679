//! The text form: what is printed parses back to an equal graph, and nothing that is not a graph makes the
//! parser panic.

mod random_graph;

use random_graph::{Purpose, Rng, graph};
use situ_ir::{Content, Graph, OpKind};
use std::collections::BTreeSet;

fn kinds(graph: &Graph, seen: &mut BTreeSet<OpKind>) {
    for node in graph.nodes() {
        match &node.content {
            Content::Op(op) => {
                seen.insert(op.kind());
            }
            Content::Cond(cond) => {
                kinds(&cond.then, seen);
                kinds(&cond.otherwise, seen);
            }
            Content::While(repeated) => {
                kinds(&repeated.condition, seen);
                kinds(&repeated.body, seen);
            }
            Content::Input(_) | Content::Capture(_) | Content::Variable(_) => {}
        }
    }
}

#[test]
fn every_printed_graph_parses_back_to_an_equal_one() {
    let mut seen = BTreeSet::new();
    for seed in 0..400 {
        let graph = graph(&mut Rng(seed), Purpose::Text, 30);
        let text = graph.to_string();
        let back: Graph = text.parse().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(back, graph, "seed {seed}\n{text}");
        assert_eq!(back.to_string(), text, "seed {seed}");
        kinds(&graph, &mut seen);
    }
    // That no op is left out is for the op suite to see, which has cases of all.
    assert!(seen.len() > 25, "tests/random_graph/ops.rs makes only {seen:?}");
}

#[test]
fn a_changed_text_is_a_graph_or_an_error_with_line_and_column_and_never_a_panic() {
    let signs: Vec<char> = "{}()[]%=:@,.-_/*rv019efNi \n\u{e9}".chars().collect();
    let (mut errors, mut graphs) = (0, 0);
    for seed in 0..120 {
        let mut rng = Rng(seed);
        let text: Vec<char> = graph(&mut rng, Purpose::Text, 8).to_string().chars().collect();
        for _ in 0..60 {
            let mut changed = text.clone();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(changed.len());
                match rng.below(5) {
                    0 => {
                        changed.remove(at);
                    }
                    1 => changed.insert(at, rng.pick(&signs)),
                    2 => changed[at] = rng.pick(&signs),
                    3 => changed.truncate(at.max(1)),
                    _ => {
                        let end = (at + rng.below(40)).min(changed.len());
                        let piece = changed[at..end].to_vec();
                        let to = rng.below(changed.len());
                        changed.splice(to..to, piece);
                    }
                }
                if changed.is_empty() {
                    changed.push('f');
                }
            }
            let changed: String = changed.into_iter().collect();
            match changed.parse::<Graph>() {
                Ok(graph) => {
                    graphs += 1;
                    assert_eq!(graph.to_string().parse::<Graph>().unwrap(), graph);
                }
                Err(error) => {
                    errors += 1;
                    let text = error.to_string();
                    assert!(text.contains("line ") || text.starts_with("graph: "), "{text}");
                }
            }
        }
    }
    assert!(errors > 1000 && graphs > 100, "{errors} errors, {graphs} graphs");
}

#[test]
fn errors_name_the_place_and_what_is_wrong() {
    let cases = [
        ("function() {", "line 1, column 13: expected \"return\", found the end"),
        (
            "function() {\n  %0 = matmull()\n return }",
            "line 2, column 8: op: there is no op matmull; did you mean matmul?",
        ),
        (
            "function(%0: f32[2]) {\n  %1 = add(%0, %7)\n  return %1\n}",
            "line 2, column 12: %7 is not made before it is read",
        ),
        (
            "function(%0: f32[2]) {\n  %1 = neg(%0) : f32[3]\n  return\n}",
            "line 2, column 18: neg gives [f32[2]] here, not [f32[3]]",
        ),
        (
            "function(%0: f32[2]) {\n  %1 = sum(%0) {axis=1}\n  return\n}",
            "sum: the attribute axes is missing",
        ),
        ("function(%0: f33[2]) { return }", "line 1, column 14: there is no dtype f33"),
        ("function(%0: f32[2], %0: f32[2]) { return }", "%0 is made twice"),
        ("function(%1: f32[2]) { return %1 }", "there is no node %0"),
        ("function(%0: f32[2]) { %1 = neg(%0) @ /GPUU:0 \n return }", "did you mean /GPU:0?"),
    ];
    for (text, wanted) in cases {
        let error = text.parse::<Graph>().unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}\nwanted: {wanted}");
    }
}

#[test]
fn blocks_nested_without_end_are_an_error_and_not_a_full_stack() {
    let open = "%0 = cond(%1) then () {".repeat(100_000);
    let error = format!("function() {{ {open}").parse::<Graph>().unwrap_err().to_string();
    assert!(error.contains("line 1"), "{error}");
    let open = "while_loop() while () { %0 = ".repeat(100_000);
    let error = format!("function() {{ %0 = {open}").parse::<Graph>().unwrap_err().to_string();
    assert!(error.contains("deep"), "{error}");
}

#[test]
fn a_small_graph_reads_as_one_would_write_it() {
    let text = "\
function(%0: f32[2, 3], _: bool[]) captures(%1: f32[3, 4]) variables(%2: f32[4]) {
  %3 = matmul(%0, %1) : f32[2, 4] @ /GPU:0
  %4 = bias_add(%3, %2) : f32[2, 4] @ / fallback=forbid copies=warn
  %5 = fill() {value=f32(NaN), shape=[]} : f32[]
  %6 = fused(%4, %5) {program=(f32, f32) {
    r2 = f32(-0.0)
    r3 = mul(r0, r2)
    r4 = clip(r3) {low=-1.0, high=inf}
    return r4, r3
  }} : (f32[2, 4], f32[2, 4])
  %7 = mean(%6.1) {axes=[0]} : f32[4]
  return %6, %6.1
  update v0 = %7
}
";
    let graph: Graph = text.parse().unwrap();
    assert_eq!(graph.to_string(), text);
    assert_eq!(graph.updates().len(), 1);
}

#[test]
fn a_drawing_has_every_node_edge_and_block() {
    let text = "\
function(%0: bool[], %1: f32[3]) {
  %2 = cond(%0, %1) then (%0: f32[3]) {
    %1 = neg(%0) : f32[3]
    return %1
  } else (%0: f32[3]) {
    return %0
  } : f32[3] @ /GPU:0
  return %2
}
";
    let graph: Graph = text.parse().unwrap();
    assert_eq!(graph.to_string(), text);
    let dot = graph.to_dot();
    for piece in
        ["n0 -> n2", "n1 -> n2", "cluster_n2_then_", "n2_then_0 -> n2_then_1", "@ GPU:0", "n2 -> nout0"]
    {
        assert!(dot.contains(piece), "{piece} is not in\n{dot}");
    }
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
}
