//! The same bits for any number of threads, in every run, at every level of instructions.

use situ_cpu::level::Level;
use situ_runtime::Runtime;
use situ_testkit::machines::{self, CPU, GPU};
use situ_testkit::suite::{self, Case};

fn cpu_with(level: Level, threads: usize) -> Runtime {
    let runtime = machines::runtime(vec![situ_cpu::physical_at(level)]);
    runtime.set_intra_op_threads(Some(threads)).expect("a number of threads");
    runtime
}

fn assert_same(cases: &[Case], first: &[Option<Vec<u8>>], second: &[Option<Vec<u8>>], what: &str) {
    let differ: Vec<&str> =
        (0..cases.len()).filter(|&i| first[i] != second[i]).map(|i| cases[i].name.as_str()).collect();
    assert!(differ.is_empty(), "{} cases differ {what}:\n{}", differ.len(), differ.join("\n"));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads_nor_on_the_run() {
    let cases = suite::all();
    for level in Level::available() {
        let one = suite::bits(&cpu_with(level, 1), CPU, &cases);
        for threads in [2, 3] {
            let runtime = cpu_with(level, threads);
            let more = suite::bits(&runtime, CPU, &cases);
            assert_same(&cases, &one, &more, &format!("between 1 and {threads} threads at {level}"));
            if level == Level::detect() {
                assert_same(&cases, &more, &suite::bits(&runtime, CPU, &cases), "between two runs");
            }
        }
    }
}

#[test]
fn every_op_is_right_at_every_level() {
    let cases = suite::all();
    for level in Level::available() {
        let runtime = machines::runtime(vec![situ_cpu::physical_at(level)]);
        let outcome = suite::run(&runtime, CPU, &cases);
        println!("{level}: {} of {} cases are right", outcome.passed, cases.len());
        assert!(outcome.failures.is_empty(), "at {level}:\n{}", outcome.failures.join("\n"));
        assert!(outcome.absent == suite::absent::expected(CPU.kind), "every level has the same kernels");
    }
}

#[test]
fn results_on_the_gpu_do_not_depend_on_the_run() {
    let Some(runtime) = machines::shared_cpu_and_gpu() else { return };
    let cases = suite::all();
    let first = suite::bits(runtime, GPU, &cases);
    assert_same(&cases, &first, &suite::bits(runtime, GPU, &cases), "between two runs on the GPU");
}
