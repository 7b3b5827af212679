//! What is the same, and what nobody reads.

use super::*;

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
