//! Every large case on every device.

use situ_core::DeviceId;
use situ_runtime::Runtime;
use situ_testkit::machines;
use situ_testkit::suite::large::{self, Outcome};
use std::time::Instant;

fn check(runtime: &Runtime, device: DeviceId, family: &str) {
    let (mut right, mut absent, mut wrong) = (0, 0, Vec::new());
    let only = std::env::var("SITU_LARGE_ONLY").unwrap_or_default();
    for case in large::selected().iter().filter(|case| case.family == family && case.name.contains(&only)) {
        let start = Instant::now();
        let outcome = large::run(runtime, device, case);
        println!("{:6.2} s  {}: {}", start.elapsed().as_secs_f64(), device, case.name);
        match outcome {
            Outcome::Right => right += 1,
            Outcome::Absent => absent += 1,
            Outcome::Wrong(lines) => {
                wrong.extend(lines.iter().map(|line| format!("{}: {line}", case.name)));
            }
        }
    }
    println!("{device}: {right} large cases of {family} are right, {absent} have no kernel");
    assert!(wrong.is_empty(), "{} on {device}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(right > 0 || !only.is_empty(), "no case of {family} ran on {device}");
}

macro_rules! families {
    ($($family:ident)*) => {
        mod on_the_cpu {
            $(#[test]
            fn $family() {
                super::check(&super::machines::cpu(), super::machines::CPU, stringify!($family));
            })*
        }

        mod on_the_gpu {
            $(#[test]
            fn $family() {
                if let Some(runtime) = super::machines::shared_cpu_and_gpu() {
                    super::check(runtime, super::machines::GPU, stringify!($family));
                }
            })*
        }

        #[test]
        fn every_family_is_run() {
            assert_eq!(large::FAMILIES, [$(stringify!($family)),*]);
        }
    };
}

families! { reductions rows products images indices elements moves }
