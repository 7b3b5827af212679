//! What each pass does, and what it nearly does, on graphs small enough to read.

use situ_core::TensorType;
use situ_ir::passes::{
    Constant, Context, Evaluate, GROUP, NoEvaluation, Options, Report, SIMPLIFY, group, optimize,
};
use situ_ir::{Graph, Op};

/// Runs one pass once, with devices that run every joined op.
fn pass(name: &str, text: &str) -> (String, Report) {
    pass_with(name, text, &|_, _, _| true, &mut NoEvaluation)
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
fn folding_computes_constants_and_keeps_what_would_fail() {
    let (after, report) = cleaned(
        "fold",
        "\
function(%0: i32[2, 2]) {
  %1 = fill() {value=f32(2.0), shape=[3]}
  %2 = fill() {value=f32(0.5), shape=[]}
  %3 = mul(%1, %2)
  %4 = sqrt(%3)
  %5 = expand(%4) {shape=[2, 3]}
  %6 = fill() {value=i32(7), shape=[]}
  %7 = fill() {value=i32(0), shape=[]}
  %8 = div(%6, %7)
  %9 = add(%8, %0)
  return %5, %9
}",
    );
    assert_eq!(
        after,
        "\
function(%0: i32[2, 2]) {
  %1 = fill() {value=f32(1.0), shape=[2, 3]} : f32[2, 3]
  %2 = fill() {value=i32(7), shape=[]} : i32[]
  %3 = fill() {value=i32(0), shape=[]} : i32[]
  %4 = div(%2, %3) : i32[]
  %5 = add(%4, %0) : i32[2, 2]
  return %1, %5
}
"
    );
    has(&report.did, "%4 sqrt: is 1.0 throughout");
    has(&report.nearly, "%8 div: kept: it divides by zero, which is an error of the run");
}

#[test]
fn a_known_condition_takes_its_side_and_constants_go_into_blocks() {
    let (after, report) = cleaned(
        "fold",
        "\
function(%0: f32[3], %1: bool[]) {
  %2 = fill() {value=bool(false), shape=[]}
  %3 = cond(%2, %0) then (%0: f32[3]) {
    %1 = exp(%0)
    return %1
  } else (%0: f32[3]) {
    %1 = neg(%0)
    return %1
  }
  %4 = fill() {value=f32(2.0), shape=[]}
  %5 = cond(%1, %3, %4) then (%0: f32[3], %1: f32[]) {
    %2 = mul(%1, %1)
    %3 = mul(%0, %2)
    return %3
  } else (%0: f32[3], _: f32[]) {
    return %0
  }
  return %5
}",
    );
    assert_eq!(
        after,
        "\
function(%0: f32[3], %1: bool[]) {
  %2 = neg(%0) : f32[3]
  %3 = cond(%1, %2) then (%0: f32[3]) {
    %1 = fill() {value=f32(4.0), shape=[]} : f32[]
    %2 = mul(%0, %1) : f32[3]
    return %2
  } else (%0: f32[3]) {
    return %0
  } : f32[3]
  return %3
}
"
    );
    has(&report.did, "%3 cond: the condition is always false");
    has(&report.did, "%5/then/%2 mul: is 4.0 throughout");
}

#[test]
fn what_a_loop_leaves_as_it_is_is_read_from_before_it() {
    let (after, _) = cleaned(
        "fold",
        "\
function(%0: f32[3], %1: f32[]) {
  %2 = while_loop(%1, %0) while (%0: f32[], %1: f32[3]) {
    %2 = fill() {value=f32(9.0), shape=[]}
    %3 = less(%0, %2)
    return %3
  } do (%0: f32[], %1: f32[3]) {
    %2 = add(%0, %0)
    return %2, %1
  }
  return %2, %2.1
}",
    );
    assert_eq!(
        after,
        "\
function(%0: f32[3], %1: f32[]) {
  %2 = while_loop(%1) while (%0: f32[]) {
    %1 = fill() {value=f32(9.0), shape=[]} : f32[]
    %2 = less(%0, %1) : bool[]
    return %2
  } do (%0: f32[]) {
    %1 = add(%0, %0) : f32[]
    return %1
  } : f32[]
  return %2, %0
}
"
    );
}

/// Keeps count of what it is asked, and gives captures without tensors.
struct Counting {
    captures: u32,
    asked: Vec<String>,
}

impl Evaluate for Counting {
    fn evaluate(
        &mut self,
        op: &Op,
        inputs: &[Constant<'_>],
        outputs: &[TensorType],
    ) -> situ_core::Result<Option<u32>> {
        self.asked.push(format!("{} of {} gives {outputs:?}", op.name(), inputs.len()));
        let first = self.captures;
        self.captures += outputs.len() as u32;
        Ok(Some(first))
    }

    fn scalar(&mut self, capture: u32) -> Option<situ_core::Scalar> {
        (capture == 0).then_some(situ_core::Scalar::F32(3.0))
    }
}

#[test]
fn ops_on_captured_tensors_run_once_if_their_results_are_small_and_views_of_them_stay() {
    let mut evaluator = Counting { captures: 2, asked: vec![] };
    let text = "\
function(%0: f32[4, 4]) captures(%1: f32[], %2: f32[4, 4]) {
  %3 = matmul(%2, %2)
  %4 = transpose(%2) {order=[1, 0]}
  %5 = mul(%3, %1)
  %6 = expand(%2) {shape=[9000, 4, 4]}
  %7 = range() {start=f32(0.0), step=f32(1.0), count=8000000}
  %8 = sum(%7) {axes=[0]}
  %9 = random_normal() {mean=0.0, deviation=1.0, seed=1, stream=2, dtype=f32, shape=[4, 4]}
  %10 = sin(%9)
  return %5, %4, %8, %10, %0, %6
}";
    let (after, report) = pass_with("fold", text, &|_, _, _| true, &mut evaluator);
    assert_eq!(evaluator.asked, ["matmul of 2 gives [f32[4, 4]]", "mul of 2 gives [f32[4, 4]]"]);
    let (after, _) = pass("dead_code", &after);
    assert_eq!(
        after,
        "\
function(%0: f32[4, 4]) captures(_: f32[], %1: f32[4, 4], _: f32[4, 4], %3: f32[4, 4]) {
  %2 = transpose(%1) {order=[1, 0]} : f32[4, 4]
  %4 = expand(%1) {shape=[9000, 4, 4]} : f32[9000, 4, 4]
  %5 = range() {start=f32(0.0), step=f32(1.0), count=8000000} : f32[8000000]
  %6 = sum(%5) {axes=[0]} : f32[]
  %7 = random_normal() {mean=0.0, deviation=1.0, seed=1, stream=2, dtype=f32, shape=[4, 4]} : f32[4, 4]
  %8 = sin(%7) : f32[4, 4]
  return %3, %2, %6, %8, %0, %4
}
"
    );
    has(&report.did, "%1 capture: one captured element becomes a constant");
    has(&report.nearly, "%8 sum: kept: folding it would hold 32000000 bytes, more than 4194304");
}

#[test]
fn equal_ops_under_one_scope_merge_and_draws_and_scopes_stay() {
    let (after, report) = cleaned(
        "cse",
        "\
function(%0: f32[3], %1: f32[3]) {
  %2 = add(%0, %1)
  %3 = add(%1, %0)
  %4 = sub(%0, %1)
  %5 = sub(%1, %0)
  %6 = add(%0, %1) @ /GPU:0
  %7 = maximum(%0, %1)
  %8 = maximum(%1, %0)
  %9 = random_uniform() {low=0.0, high=1.0, seed=1, stream=1, dtype=f32, shape=[3]}
  %10 = random_uniform() {low=0.0, high=1.0, seed=1, stream=1, dtype=f32, shape=[3]}
  return %2, %3, %4, %5, %6, %7, %8, %9, %10
}",
    );
    assert_eq!(
        after,
        "\
function(%0: f32[3], %1: f32[3]) {
  %2 = add(%0, %1) : f32[3]
  %3 = sub(%0, %1) : f32[3]
  %4 = sub(%1, %0) : f32[3]
  %5 = add(%0, %1) : f32[3] @ /GPU:0
  %6 = maximum(%0, %1) : f32[3]
  %7 = maximum(%1, %0) : f32[3]
  %8 = random_uniform() {low=0.0, high=1.0, seed=1, stream=1, dtype=f32, shape=[3]} : f32[3]
  %9 = random_uniform() {low=0.0, high=1.0, seed=1, stream=1, dtype=f32, shape=[3]} : f32[3]
  return %2, %2, %3, %4, %5, %6, %7, %8, %9
}
"
    );
    has(&report.nearly, "%6 add: kept: it computes what %2 of the new graph does under another scope");
    has(&report.nearly, "%10 random_uniform: kept: it draws random numbers, and two draws are two draws");
}

#[test]
fn what_nobody_reads_goes_also_from_conditions_and_loops() {
    let (after, report) = pass(
        "dead_code",
        "\
function(%0: bool[], %1: f32[3], %2: f32[3], %3: i32[]) {
  %4 = exp(%1)
  %5 = cond(%0, %1, %2) then (%0: f32[3], %1: f32[3]) {
    %2 = neg(%0)
    return %2, %1
  } else (%0: f32[3], %1: f32[3]) {
    return %0, %0
  }
  %6 = while_loop(%3, %1, %2, %4) while (%0: i32[], _: f32[3], _: f32[3], _: f32[3]) {
    %1 = fill() {value=i32(3), shape=[]}
    %2 = less(%0, %1)
    return %2
  } do (%0: i32[], %1: f32[3], %2: f32[3], %3: f32[3]) {
    %4 = fill() {value=i32(1), shape=[]}
    %5 = add(%0, %4)
    %6 = mul(%1, %2)
    %7 = exp(%3)
    return %5, %6, %2, %7
  }
  return %5, %6.1
}",
    );
    assert_eq!(
        after,
        "\
function(%0: bool[], %1: f32[3], %2: f32[3], %3: i32[]) {
  %4 = cond(%0, %1) then (%0: f32[3]) {
    %1 = neg(%0) : f32[3]
    return %1
  } else (%0: f32[3]) {
    return %0
  } : f32[3]
  %5 = while_loop(%3, %1, %2) while (%0: i32[], _: f32[3], _: f32[3]) {
    %1 = fill() {value=i32(3), shape=[]} : i32[]
    %2 = less(%0, %1) : bool[]
    return %2
  } do (%0: i32[], %1: f32[3], %2: f32[3]) {
    %3 = fill() {value=i32(1), shape=[]} : i32[]
    %4 = add(%0, %3) : i32[]
    %5 = mul(%1, %2) : f32[3]
    return %4, %5, %2
  } : (i32[], f32[3], f32[3])
  return %4, %5.1
}
"
    );
    has(&report.did, "%5 cond: 1 of its arguments and 1 of its results go: nobody reads them");
    has(&report.did, "%4 exp: nobody reads it");
}

#[test]
fn algebra_takes_away_what_does_nothing_and_says_what_is_not_so_for_floats() {
    let (after, report) = cleaned(
        "algebra",
        "\
function(%0: f32[2, 3], %1: i32[3], %2: bool[3]) {
  %3 = fill() {value=f32(1.0), shape=[]}
  %4 = fill() {value=f32(0.0), shape=[]}
  %5 = fill() {value=f32(8.0), shape=[2, 3]}
  %6 = fill() {value=i32(0), shape=[]}
  %7 = fill() {value=bool(true), shape=[3]}
  %8 = mul(%0, %3)
  %9 = sub(%8, %4)
  %10 = add(%9, %4)
  %11 = div(%10, %5)
  %12 = mul(%11, %4)
  %13 = neg(%12)
  %14 = neg(%13)
  %15 = add(%1, %6)
  %16 = sub(%15, %15)
  %17 = sub(%0, %0)
  %18 = where(%7, %16, %1)
  %19 = logical_and(%2, %7)
  return %14, %17, %18, %19
}",
    );
    assert_eq!(
        after,
        "\
function(%0: f32[2, 3], _: i32[3], %1: bool[3]) {
  %2 = fill() {value=f32(0.0), shape=[]} : f32[]
  %3 = add(%0, %2) : f32[2, 3]
  %4 = fill() {value=f32(0.125), shape=[2, 3]} : f32[2, 3]
  %5 = mul(%3, %4) : f32[2, 3]
  %6 = mul(%5, %2) : f32[2, 3]
  %7 = fill() {value=i32(0), shape=[3]} : i32[3]
  %8 = sub(%0, %0) : f32[2, 3]
  return %6, %8, %7, %1
}
"
    );
    has(&report.nearly, "%10 add: kept: x + 0.0 is x but where x is −0.0");
    has(&report.nearly, "%12 mul: kept: x · 0.0 is 0.0 but where x is negative, infinite or NaN");
    has(&report.nearly, "%17 sub: kept: x − x is 0 but where x is infinite or NaN");
    has(&report.did, "%11 div: dividing by a power of two is multiplying by its reciprocal");
}

#[test]
fn algebra_joins_views_and_conversions() {
    let (after, report) = cleaned(
        "algebra",
        "\
function(%0: f32[2, 3, 4], %1: i32[4]) {
  %2 = transpose(%0) {order=[1, 2, 0]}
  %3 = transpose(%2) {order=[2, 0, 1]}
  %4 = reshape(%3) {shape=[6, 4]}
  %5 = reshape(%4) {shape=[24]}
  %6 = slice(%5) {starts=[20], steps=[-2], sizes=[8]}
  %7 = slice(%6) {starts=[1], steps=[3], sizes=[2]}
  %8 = cast(%1) {to=f64}
  %9 = cast(%8) {to=i32}
  %10 = cast(%1) {to=f32}
  %11 = cast(%10) {to=i32}
  %12 = expand(%9) {shape=[3, 4]}
  %13 = expand(%1) {shape=[3, 4]}
  %14 = expand(%11) {shape=[3, 4]}
  %15 = mul(%13, %14)
  return %7, %12, %15
}",
    );
    assert_eq!(
        after,
        "\
function(%0: f32[2, 3, 4], %1: i32[4]) {
  %2 = reshape(%0) {shape=[24]} : f32[24]
  %3 = slice(%2) {starts=[18], steps=[-6], sizes=[2]} : f32[2]
  %4 = cast(%1) {to=f32} : f32[4]
  %5 = cast(%4) {to=i32} : i32[4]
  %6 = expand(%1) {shape=[3, 4]} : i32[3, 4]
  %7 = expand(%5) {shape=[3, 4]} : i32[3, 4]
  %8 = mul(%1, %7) : i32[3, 4]
  return %3, %6, %8
}
"
    );
    has(&report.nearly, "%11 cast: kept: i32 to f32 and back loses what f32 can't hold");
    has(&report.did, "%15 mul: broadcasts by itself what was broadcast for it");
}

#[test]
fn an_op_that_does_nothing_stays_where_its_scope_says_where_the_result_is() {
    let text = "\
function(%0: f32[3]) {
  %1 = fill() {value=f32(1.0), shape=[]}
  %2 = mul(%0, %1) @ /GPU:0
  return %2
}";
    let (after, report) = cleaned("algebra", text);
    assert!(after.contains("mul"), "{after}");
    has(&report.nearly, "%2 mul: kept: x · 1 is x, but its scope asks for the result on GPU:0");
    let inner = text.replace("return %2", "%3 = exp(%2)\n  return %3");
    assert!(!cleaned("algebra", &inner).0.contains("mul"));
}

#[test]
fn transposes_sink_into_products() {
    let (after, report) = cleaned(
        "transposes",
        "\
function(%0: f32[5, 3], %1: f32[5, 4], %2: f32[2, 7, 3, 5]) {
  %3 = transpose(%0) {order=[1, 0]}
  %4 = matmul(%3, %1)
  %5 = transpose(%1) {order=[1, 0]}
  %6 = matmul(%4, %5)
  %7 = transpose(%2) {order=[1, 0, 3, 2]}
  %8 = matmul(%7, %0) {transpose_b=true}
  return %6, %8
}",
    );
    assert_eq!(
        after,
        "\
function(%0: f32[5, 3], %1: f32[5, 4], %2: f32[2, 7, 3, 5]) {
  %3 = matmul(%0, %1) {transpose_a=true} : f32[3, 4]
  %4 = matmul(%3, %1) {transpose_b=true} : f32[3, 5]
  %5 = transpose(%2) {order=[1, 0, 3, 2]} : f32[7, 2, 5, 3]
  %6 = matmul(%5, %0) {transpose_b=true} : f32[7, 2, 5, 5]
  return %4, %6
}
"
    );
    has(&report.nearly, "%8 matmul: kept: the transpose on its left moves more than the last two axes");
}

#[test]
fn a_loss_becomes_one_cross_entropy() {
    let text = "\
function(%0: f32[8, 10], %1: f32[8, 10]) {
  %2 = log_softmax(%0) {axis=1}
  %3 = mul(%1, %2)
  %4 = sum(%3) {axes=[1]}
  %5 = mean(%4) {axes=[0]}
  %6 = neg(%5)
  return %6
}";
    let graph: Graph = text.parse().unwrap();
    let (after, reports) = optimize(&graph, &Options::default(), &mut NoEvaluation).unwrap();
    assert_eq!(
        after.to_string(),
        "\
function(%0: f32[8, 10], %1: f32[8, 10]) {
  %2 = softmax_cross_entropy(%0, %1) : f32[8]  // log_softmax, mul, sum
  %3 = mean(%2) {axes=[0]} : f32[]
  return %3
}
"
    );
    assert_eq!(after.nodes()[2].parts().len(), 3);
    let found = reports.iter().find(|r| r.pass == "cross_entropy").unwrap();
    has(&found.did, "%4 sum: 3 ops become one cross-entropy");

    let shared = text.replace("return %6", "return %6, %2");
    let (after, report) = pass("cross_entropy", &shared);
    assert!(!after.contains("cross_entropy"));
    has(&report.nearly, "%4 sum: kept as a sum: the result of log_softmax is read elsewhere too");

    let unstable = text.replace("%2 = log_softmax(%0) {axis=1}", "%2 = softmax(%0) {axis=1}").replace(
        "%3 = mul(%1, %2)\n  %4 = sum(%3) {axes=[1]}\n  %5 = mean(%4) {axes=[0]}\n  %6 = neg(%5)\n  return %6",
        "%3 = log(%2)\n  %4 = mul(%1, %3)\n  %5 = sum(%4) {axes=[1]}\n  return %5",
    );
    let (_, report) = pass("cross_entropy", &unstable);
    has(&report.nearly, "call log_softmax to have it fused");
}

#[test]
fn a_product_takes_its_bias_and_activation_where_a_device_has_them_as_one() {
    let text = "\
function(%0: f32[8, 5], %1: f32[5, 4], %2: f32[4]) {
  %3 = matmul(%0, %1)
  %4 = bias_add(%3, %2)
  %5 = leaky_relu(%4) {slope=0.25}
  %6 = matmul(%5, %1) {transpose_b=true}
  %7 = fill() {value=f32(0.5), shape=[5]}
  %8 = add(%7, %6)
  %9 = matmul(%8, %1) @ /GPU:0
  %10 = bias_add(%9, %2)
  %11 = relu(%10)
  return %8, %11
}";
    let (after, report) = cleaned("matmul_bias", text);
    assert_eq!(
        after,
        "\
function(%0: f32[8, 5], %1: f32[5, 4], %2: f32[4]) {
  %3 = matmul_bias(%0, %1, %2) {activation=leaky_relu() {slope=0.25}} : f32[8, 4]
  %4 = fill() {value=f32(0.5), shape=[5]} : f32[5]
  %5 = matmul_bias(%3, %1, %4) {transpose_b=true} : f32[8, 5]
  %6 = matmul(%5, %1) : f32[8, 4] @ /GPU:0
  %7 = bias_add(%6, %2) : f32[8, 4]
  %8 = relu(%7) : f32[8, 4]
  return %5, %8
}
"
    );
    has(&report.did, "%5 leaky_relu: 3 ops become one product");
    has(&report.nearly, "%10 bias_add: kept beside its product: the product stands under another scope");
    let (after, report) = pass_with("matmul_bias", text, &|_, _, _| false, &mut NoEvaluation);
    assert!(!after.contains("matmul_bias"));
    has(&report.nearly, "%8 add: kept beside its product: no device at hand joins them");
}

#[test]
fn elementwise_chains_and_small_graphs_become_one_op() {
    let graph: Graph = "\
function(%0: f32[8, 4], %1: f32[4], %2: f32[8, 4]) {
  %3 = bias_add(%0, %1)
  %4 = fill() {value=f32(0.5), shape=[8, 4]}
  %5 = mul(%3, %4)
  %6 = tanh(%5)
  %7 = greater(%6, %2)
  %8 = where(%7, %6, %2)
  %9 = sum(%6) {axes=[0]}
  return %8, %9
}"
    .parse()
    .unwrap();
    let (after, reports) = group(&graph, &Options::default(), &|_, _, _| true).unwrap();
    assert_eq!(
        after.to_string(),
        "\
function(%0: f32[8, 4], %1: f32[4], %2: f32[8, 4]) {
  %3 = fused(%0, %1, %2) {program=(f32, f32, f32) {
    r3 = add(r0, r1)
    r4 = f32(0.5)
    r5 = mul(r3, r4)
    r6 = tanh(r5)
    r7 = greater(r6, r2)
    r8 = where(r7, r6, r2)
    return r6, r8
  }} : (f32[8, 4], f32[8, 4])  // bias_add, mul, tanh, greater, where
  %4 = sum(%3) {axes=[0]} : f32[4]
  return %3.1, %4
}
"
    );
    let fused = reports.iter().find(|r| r.pass == "fuse").unwrap();
    has(&fused.did, "%8 where: 5 ops become one: bias_add, mul, tanh, greater, where");
    let parts: Vec<&str> = after.nodes()[3].parts().iter().map(|p| p.op).collect();
    assert_eq!(parts, ["bias_add", "mul", "tanh", "greater", "where"]);
}

#[test]
fn an_optimizer_step_is_one_op_with_three_results() {
    let graph: Graph = "\
function(%0: f32[64]) variables(%1: f32[64], %2: f32[64], %3: f32[64]) {
  %4 = fill() {value=f32(0.9), shape=[]}
  %5 = fill() {value=f32(0.1), shape=[]}
  %6 = mul(%2, %4)
  %7 = mul(%0, %5)
  %8 = add(%6, %7)
  %9 = mul(%3, %4)
  %10 = square(%0)
  %11 = mul(%10, %5)
  %12 = add(%9, %11)
  %13 = sqrt(%12)
  %14 = div(%8, %13)
  %15 = mul(%14, %5)
  %16 = sub(%1, %15)
  return
  update v0 = %16
  update v1 = %8
  update v2 = %12
}"
    .parse()
    .unwrap();
    let (after, _) = group(&graph, &Options::default(), &|_, _, _| true).unwrap();
    assert_eq!(after.nodes().len(), 5, "{after}");
    assert_eq!(after.nodes()[4].types.len(), 3);
}

#[test]
fn fusions_that_are_missed_are_reported_with_the_reason() {
    let fuse = |text: &str| pass("fuse", text);
    let (after, report) = fuse(
        "function(%0: f32[3]) {
  %1 = exp(%0)
  %2 = neg(%1) @ /GPU:0
  return %2
}",
    );
    assert!(!after.contains("fused"));
    has(&report.nearly, "%2 neg: not fused with %1 (exp): they stand under different scopes");

    let (after, report) = fuse(
        "function(%0: f32[3], %1: f32[2, 3]) {
  %2 = exp(%0)
  %3 = add(%1, %2)
  return %3
}",
    );
    assert!(!after.contains("fused"));
    has(&report.nearly, "%3 add: not fused with %2 (exp): their results have the shapes [3] and [2, 3]");

    // The sum between them would have to run in the middle of the kernel.
    let (after, report) = fuse(
        "function(%0: f32[3]) {
  %1 = exp(%0)
  %2 = sum(%1) {axes=[0]}
  %3 = div(%1, %2)
  return %3
}",
    );
    assert!(!after.contains("fused"));
    has(&report.nearly, "%3 div: not fused with %1 (exp): an op between them can't join");

    let (after, report) = fuse(
        "function(%0: i32[3]) {
  %1 = neg(%0)
  %2 = div(%1, %0)
  %3 = random_bernoulli() {p=0.5, seed=1, stream=1, dtype=i32, shape=[3]}
  %4 = mul(%2, %3)
  return %4
}",
    );
    assert!(!after.contains("fused"));
    has(&report.nearly, "%2 div: not fused: an integer division can fail on its data");
    has(&report.nearly, "%3 random_bernoulli: not fused: random numbers are drawn by an op of their own");

    let mut many = String::from("function(");
    many += &(0..9).map(|n| format!("%{n}: f32[3]")).collect::<Vec<_>>().join(", ");
    many += ") {\n%9 = add(%0, %1)\n";
    for n in 2..9 {
        many += &format!("%{} = add(%{}, %{n})\n", n + 8, n + 7);
    }
    many += "return %16 }";
    let (after, report) = fuse(&many);
    assert_eq!(after.matches("fused").count(), 2, "{after}");
    has(&report.nearly, "together they read and write 10 tensors, and a kernel binds 7");

    let text = "function(%0: f64[3]) { %1 = exp(%0) %2 = neg(%1) return %2 }";
    let (after, report) = pass_with("fuse", text, &|_, _, _| false, &mut NoEvaluation);
    assert!(!after.contains("fused"));
    has(&report.nearly, "no device at hand would run them as one");
}

#[test]
fn two_groups_that_would_wait_for_each_other_stay_apart() {
    // Left and right chains, each of which reads the other's beginning through a sum.
    let (after, _) = pass(
        "fuse",
        "function(%0: f32[3], %1: f32[4]) {
  %2 = exp(%0)
  %3 = exp(%1)
  %4 = sum(%2) {axes=[0]}
  %5 = sum(%3) {axes=[0]}
  %6 = mul(%3, %4)
  %7 = mul(%2, %5)
  return %6, %7
}",
    );
    // Each chain alone can be joined around the other's sum; both at once can not.
    assert_eq!(after.matches("fused").count(), 1, "{after}");
    let graph: Graph = after.parse().unwrap();
    assert_eq!(graph.nodes().len(), 7);
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
