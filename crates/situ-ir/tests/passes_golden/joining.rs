//! Ops that become one, and why others do not.

use super::*;

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
    assert!(
        !after.to_string().contains("softmax_cross_entropy"),
        "it rounds differently, and nobody asked for it"
    );
    assert!(reports.iter().all(|r| r.pass != "cross_entropy"));

    let asked = Options::default().with("cross_entropy").unwrap();
    let (after, reports) = optimize(&graph, &asked, &mut NoEvaluation).unwrap();
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
    let (after, report) = pass_with("matmul_bias", text, &|_, _, _, _| false, &mut NoEvaluation);
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
    let (after, reports) = group(&graph, &Options::default(), &|_, _, _, _| true).unwrap();
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
    let (after, _) = group(&graph, &Options::default(), &|_, _, _, _| true).unwrap();
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
    let (after, report) = pass_with("fuse", text, &|_, _, _, _| false, &mut NoEvaluation);
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
fn a_convolution_takes_the_bias_of_its_channels_and_an_activation() {
    let window = "stride=[1, 1], dilation=[1, 1], padding=[0, 0, 0, 0]";
    let text = format!(
        "\
function(%0: f32[2, 3, 6, 6], %1: f32[4, 3, 3, 3], %2: f32[4, 1, 1], %3: f32[4]) {{
  %4 = conv2d(%0, %1) {{{window}, groups=1}}
  %5 = add(%2, %4)
  %6 = relu(%5)
  %7 = conv2d(%0, %1) {{{window}, groups=1}}
  %8 = add(%7, %3)
  %9 = relu(%8)
  return %6, %9
}}"
    );
    let (after, report) = cleaned("matmul_bias", &text);
    assert_eq!(
        after,
        format!(
            "\
function(%0: f32[2, 3, 6, 6], %1: f32[4, 3, 3, 3], %2: f32[4, 1, 1], %3: f32[4]) {{
  %4 = conv2d_bias(%0, %1, %2) {{{window}, groups=1, activation=relu()}} : f32[2, 4, 4, 4]
  %5 = conv2d(%0, %1) {{{window}, groups=1}} : f32[2, 4, 4, 4]
  %6 = add(%5, %3) : f32[2, 4, 4, 4]
  %7 = relu(%6) : f32[2, 4, 4, 4]
  return %4, %7
}}
"
        ),
        "a number for each column is no bias of channels, though there are as many"
    );
    has(&report.did, "%6 relu: 3 ops become one product");
}
