//! Constants: what is computed before a call, once.

use super::*;

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
    let (after, report) = pass_with("fold", text, &|_, _, _, _| true, &mut evaluator);
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
