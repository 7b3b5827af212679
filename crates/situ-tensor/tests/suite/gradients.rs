//! Every gradient rule: by finite differences, in a function as on the tape, on a GPU as on the CPU.

use situ_core::{DType, DeviceId, Error, Result};
use situ_ir::{Differentiability, Op};
use situ_tensor::{scope, with_runtime};
use situ_testkit::input::strictly_on;
use situ_testkit::machines::{self, CPU, GPU};
use situ_testkit::suite::{self, gradients};
use std::collections::BTreeSet;

/// Names of ops without a kernel that the suite does not know to be absent in that dtype.
fn unknown(absent: &BTreeSet<&'static str>, device: DeviceId, dtype: DType) -> Vec<&'static str> {
    let known = suite::absent::expected(device.kind);
    absent.iter().copied().filter(|name| !known.contains(&format!("{name} {dtype}"))).collect()
}

#[test]
fn every_smooth_op_has_gradients_that_finite_differences_confirm() -> Result<()> {
    let cases = suite::all();
    let problems = gradients::problems(&cases, DType::F64);
    let (mut checked, mut absent) = (BTreeSet::new(), BTreeSet::new());
    let mut wrong = Vec::new();
    with_runtime(&machines::cpu(), || {
        for problem in &problems {
            let found = gradients::by_tape(problem).and_then(|g| gradients::disagreement(problem, &g));
            match found {
                Ok(None) => {
                    checked.insert(problem.op.name());
                }
                Ok(Some(text)) => wrong.push(format!("{}: {text}", problem.name)),
                Err(Error::NoKernel(_)) => {
                    absent.insert(problem.op.name());
                }
                Err(error) => wrong.push(format!("{}: {error}", problem.name)),
            }
        }
    });
    println!("{} problems of {} ops", problems.len(), checked.len());
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    // Whatever the list of ops holds, or will hold, and says that it is smooth, was among them.
    let smooth = cases.iter().filter(|c| c.op.differentiability() == Differentiability::Smooth);
    let smooth: BTreeSet<&str> = smooth.map(|c| c.op.name()).collect();
    let missing: Vec<&&str> = smooth.difference(&checked).filter(|n| !absent.contains(*n)).collect();
    assert!(missing.is_empty(), "no gradient was checked of {missing:?}");
    let lacking = unknown(&absent, CPU, DType::F64);
    assert!(lacking.is_empty(), "the CPU lacks what {lacking:?} or their gradients need");
    let named: BTreeSet<&str> = cases.iter().map(|c| c.op.name()).collect();
    let unknown: Vec<&str> = Op::names().filter(|name| !named.contains(name)).collect();
    assert!(unknown.is_empty(), "no case, and so no class, of {unknown:?}");
    Ok(())
}

#[test]
fn a_function_that_holds_the_tape_gives_the_same_gradients() {
    let problems = gradients::problems(&suite::all(), DType::F64);
    let mut wrong = Vec::new();
    with_runtime(&machines::cpu(), || {
        for problem in &problems {
            let both =
                gradients::by_tape(problem).and_then(|tape| Ok((tape, gradients::by_function(problem)?)));
            match both {
                Ok((tape, function)) => {
                    if let Some(text) = gradients::difference(&tape, &function, 1e-12) {
                        wrong.push(format!("{}: {text}", problem.name));
                    }
                }
                // Listed by the test above.
                Err(Error::NoKernel(_)) => {}
                Err(error) => wrong.push(format!("{}: {error}", problem.name)),
            }
        }
    });
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn gradients_on_the_gpu_are_those_of_the_cpu() {
    let Some(runtime) = machines::shared_cpu_and_gpu() else { return };
    let problems = gradients::problems(&suite::all(), DType::F32);
    let (mut checked, mut absent, mut wrong) = (0, BTreeSet::new(), Vec::new());
    with_runtime(runtime, || {
        for problem in &problems {
            let on = |device| {
                let _strictly = scope::enter(strictly_on(device));
                gradients::by_tape(problem)
            };
            match (on(CPU), on(GPU)) {
                (Ok(cpu), Ok(gpu)) => match gradients::difference(&cpu, &gpu, 2e-5) {
                    None => checked += 1,
                    Some(text) => wrong.push(format!("{}: {text}", problem.name)),
                },
                (Err(Error::NoKernel(_)), _) | (_, Err(Error::NoKernel(_))) => {
                    absent.insert(problem.op.name());
                }
                (Err(error), _) | (_, Err(error)) => wrong.push(format!("{}: {error}", problem.name)),
            }
        }
    });
    println!("{checked} of {} problems; no kernel for {absent:?}", problems.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    let lacking = unknown(&absent, GPU, DType::F32);
    assert!(lacking.is_empty(), "the GPU lacks what {lacking:?} or their gradients need");
}
