//! What does nothing, and what says the same in fewer ops.

use super::*;

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
fn the_mask_of_a_relu_before_pooling_is_taken_of_the_pooled_images() {
    let text = "\
function(%0: f32[1, 1, 6, 6], %1: f32[1, 1, 3, 3]) {
  %2 = relu(%0)
  %3 = max_pool2d(%2) {stride=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], size=[2, 2]}
  %4 = max_pool2d_by_input(%2, %1) {stride=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], size=[2, 2]}
  %5 = fill() {value=f32(0.0), shape=[]}
  %6 = greater(%2, %5)
  %7 = where(%6, %4, %5)
  return %3, %7
}";
    let (after, _) = cleaned("pool_masks", text);
    assert_eq!(
        after,
        "\
function(%0: f32[1, 1, 6, 6], %1: f32[1, 1, 3, 3]) {
  %2 = relu(%0) : f32[1, 1, 6, 6]
  %3 = max_pool2d(%2) {stride=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], size=[2, 2]} : f32[1, 1, 3, 3]
  %4 = fill() {value=f32(0.0), shape=[]} : f32[]
  %5 = greater(%3, %4) : bool[1, 1, 3, 3]
  %6 = where(%5, %1, %4) : f32[1, 1, 3, 3]
  %7 = max_pool2d_by_input(%2, %6) {stride=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], size=[2, 2]} : f32[1, 1, 6, 6]
  return %3, %7
}
"
    );
    // The gradient is wanted as it is, too; another pooling; another scope; another mask.
    let kept = |from: &str, to: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        let (after, report) = cleaned("pool_masks", &changed);
        assert!(after.contains("where(%6, %4, %5)"), "{after}");
        report
    };
    has(
        &kept("return %3, %7", "return %3, %4, %7").nearly,
        "%7 where: kept before the pooling: the gradient that it masks",
    );
    let at_hand = "%7 where: kept before the pooling: the pooled images are not at hand";
    has(
        &kept(
            "max_pool2d(%2) {stride=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], size=[2, 2]}",
            "max_pool2d(%2) {stride=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], size=[2, 1]}",
        )
        .nearly,
        at_hand,
    );
    has(&kept("where(%6, %4, %5)", "where(%6, %4, %5) @ /GPU:0").nearly, at_hand);
    assert!(kept("greater(%2, %5)", "greater(%0, %5)").nearly.is_empty());
    assert!(kept("value=f32(0.0)", "value=f32(1.0)").nearly.is_empty());
    let (after, _) = cleaned("pool_masks", &text.replace("max_pool", "average_pool"));
    assert!(after.contains("where(%6, %4, %5)"), "{after}");
}
