//! What holds for every spec, and for every pair of them.

use std::cmp::Ordering;

use situ_core::device_spec::{DeviceSpec, DeviceType, JobName};

use crate::spec;

#[test]
fn clones_share_their_text() {
    let original = spec("/job:worker/device:Tpu:0");
    let clone = original.clone();
    let text = |spec: &DeviceSpec| {
        (spec.job.as_ref().unwrap().as_str().as_ptr(), spec.kind.as_ref().unwrap().as_str().as_ptr())
    };
    assert_eq!(text(&original), text(&clone));
}

/// Every combination of a few values per field, named or not.
fn all_specs() -> Vec<DeviceSpec> {
    let jobs = [None, Some("a"), Some("Worker_1")].map(|job| job.map(|name| JobName::new(name).unwrap()));
    let numbers = [None, Some(0), Some(u32::MAX)];
    let custom: DeviceType = "My_Type2".parse().unwrap();
    let kinds = [None, Some(DeviceType::Cpu), Some(DeviceType::Gpu), Some(custom)];
    let mut specs = Vec::new();
    for job in &jobs {
        for replica in numbers {
            for task in numbers {
                for kind in &kinds {
                    for index in numbers {
                        specs.push(DeviceSpec { job: job.clone(), replica, task, kind: kind.clone(), index });
                    }
                }
            }
        }
    }
    specs
}

#[test]
fn both_written_forms_parse_back_to_the_same_spec() {
    for original in all_specs() {
        for text in
            [original.to_string(), format!("{original:#}"), format!("/{original:#}").replace("//", "/")]
        {
            assert_eq!(text.parse(), Ok(original.clone()), "{text}");
        }
    }
}

#[test]
fn fields_mean_the_same_in_any_order() {
    let parts = ["job:a", "replica:1", "task:2", "gpu:3"];
    for first in 0..4 {
        for second in (0..4).filter(|&i| i != first) {
            for third in (0..4).filter(|&i| i != first && i != second) {
                let fourth = 6 - first - second - third;
                let text = [first, second, third, fourth].map(|i| parts[i]).join("/");
                assert_eq!(spec(&text), spec("/job:a/replica:1/task:2/device:GPU:3"), "{text}");
            }
        }
    }
}

#[test]
fn the_operations_agree_with_each_other_on_every_pair() {
    let specs = all_specs();
    for a in &specs {
        assert_eq!(a.inside(&DeviceSpec::ANY), *a);
        assert_eq!(DeviceSpec::ANY.inside(a), *a);
        assert_eq!(a.merge(a), Ok(a.clone()));
        for b in &specs {
            let merged = a.merge(b);
            assert_eq!(merged.is_ok(), a.is_compatible(b), "{a} {b}");
            assert_eq!(merged.as_ref().ok(), b.merge(a).as_ref().ok(), "{a} {b}");
            if let Ok(both) = &merged {
                assert!(both.is_specialization_of(a) && both.is_specialization_of(b), "{a} {b}");
                assert_eq!(a.merge_soft(b).as_ref(), Ok(both), "{a} {b}");
            }
            assert!(a.inside(b).is_specialization_of(b), "{a} {b}");
            assert!(a.merge_override(b).is_specialization_of(b), "{a} {b}");
            assert!(a.merge_unset(b).is_specialization_of(a), "{a} {b}");
            if let Ok(full) = a.canonicalize(b) {
                assert!(b.is_complete() && full.is_complete() && a.matches(&full), "{a} {b}");
            }
            assert_eq!(a.cmp(b) == Ordering::Equal, a == b, "{a} {b}");
        }
    }
}
