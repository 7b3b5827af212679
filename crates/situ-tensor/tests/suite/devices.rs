//! Every case on every device: right values, or known to be absent.

use situ_core::DeviceId;
use situ_runtime::Runtime;
use situ_testkit::{machines, suite};

fn check(runtime: &Runtime, device: DeviceId) {
    let cases = suite::all();
    let outcome = suite::run(runtime, device, &cases);
    println!("{device}: {} of {} cases are right", outcome.passed, cases.len());
    for signature in &outcome.absent {
        println!("{device}: absent: {signature}");
    }
    assert!(outcome.partial.is_empty(), "only some cases have a kernel: {:#?}", outcome.partial);
    assert!(
        outcome.failures.is_empty(),
        "{} cases fail:\n{}",
        outcome.failures.len(),
        outcome.failures.join("\n")
    );
    let logical = runtime.logical_device(&device.spec()).expect("it ran there");
    if let Some(text) = suite::absent::difference(logical.description(), &outcome.absent) {
        panic!("{text}");
    }
}

#[test]
fn every_op_is_right_on_the_cpu() {
    check(&machines::cpu(), machines::CPU);
}

#[test]
fn every_op_is_right_on_the_gpu() {
    if let Some(runtime) = machines::shared_cpu_and_gpu() {
        check(runtime, machines::GPU);
    }
}
