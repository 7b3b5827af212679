//! What is said about a name that is wrong.

use situ_core::device_spec::{DeviceSpec, DeviceType, Field, JobName, Problem, SpecError};

use crate::spec;

fn error(text: &str) -> SpecError {
    match text.parse::<DeviceSpec>() {
        Err(error) => error,
        Ok(spec) => panic!("{text:?} parsed as {spec}"),
    }
}

#[test]
fn a_field_given_twice_is_an_error_even_if_one_of_them_is_any() {
    let cases = [
        ("/job:a/job:a", Field::Job),
        ("/job:*/job:a", Field::Job),
        ("/replica:0/replica:0", Field::Replica),
        ("/task:1/gpu:0/task:2", Field::Task),
        ("/gpu:0/cpu:0", Field::Type),
        ("/device:*/gpu", Field::Type),
        ("/gpu/device:GPU:0", Field::Type),
    ];
    for (text, field) in cases {
        let SpecError::Malformed { problem, .. } = error(text) else { panic!("{text}") };
        assert_eq!(problem, Problem::Repeated(field), "{text}");
    }
}

#[test]
fn an_error_names_the_input_the_part_the_reason_and_the_nearest_valid_name() {
    use Problem::{EmptyPart, NoValue, NotANumber, NotAWord, TooLarge, Unknown};
    let cases = [
        ("/GPUU:0", "GPUU:0", Unknown, Some("/GPU:0")),
        ("pgu", "pgu", Unknown, Some("/GPU")),
        ("gpu0", "gpu0", Unknown, Some("/GPU:0")),
        ("gpu-1", "gpu-1", Unknown, Some("/GPU:1")),
        ("cuda:1", "cuda:1", Unknown, Some("/GPU:1")),
        ("/Job:a/GPU:0", "Job:a", Unknown, Some("/job:a/GPU:0")),
        ("/jobs:a", "jobs:a", Unknown, Some("/job:a")),
        ("/devcie:GPU:1", "devcie:GPU:1", Unknown, Some("/GPU:1")),
        ("/repilca:1/tsk:2", "repilca:1", Unknown, Some("/replica:1/task:2")),
        (" /gpu:1", " ", Unknown, Some("/GPU:1")),
        // As near to CPU as to GPU.
        ("tpu:0", "tpu:0", Unknown, Some("/device:tpu:0")),
        ("foobar", "foobar", Unknown, Some("/device:foobar")),
        ("/job:foo/gpu:3/extra", "extra", Unknown, Some("/job:foo/GPU:3")),
        ("/job:foo/task:2/bar:3", "bar:3", Unknown, Some("/job:foo/task:2/device:bar:3")),
        ("not a name", "not a name", Unknown, None),
        (":", ":", Unknown, None),
        ("!?", "!?", Unknown, None),
        ("/gpu:-1", "gpu:-1", NotANumber(Field::Index), Some("/GPU:0")),
        ("/gpu:+1", "gpu:+1", NotANumber(Field::Index), Some("/GPU:1")),
        ("/gpu:0:1", "gpu:0:1", NotANumber(Field::Index), Some("/GPU:0")),
        ("cpu:١", "cpu:١", NotANumber(Field::Index), Some("/CPU:0")),
        ("/task:4294967296", "task:4294967296", TooLarge(Field::Task), Some("/task:0")),
        ("/gpu:", "gpu:", NoValue(Field::Index), Some("/GPU")),
        ("/replica", "replica", NoValue(Field::Replica), Some("/replica:0")),
        ("/job:/cpu", "job:", NoValue(Field::Job), Some("/CPU")),
        ("/device:", "device:", NoValue(Field::Type), None),
        ("/device:0", "device:0", NotAWord(Field::Type), Some("/device:*:0")),
        ("/job:1abc", "job:1abc", NotAWord(Field::Job), Some("/job:job1abc")),
        ("/job:a-b", "job:a-b", NotAWord(Field::Job), Some("/job:a_b")),
        ("//gpu:0", "", EmptyPart, Some("/GPU:0")),
        ("/gpu:0/", "", EmptyPart, Some("/GPU:0")),
        ("//", "", EmptyPart, None),
    ];
    for (text, wrong, why, nearest) in cases {
        let found = error(text);
        let said = found.to_string();
        let SpecError::Malformed { input, part, problem, suggestion } = found else { panic!("{text}") };
        assert_eq!(
            (&*input, &*part, problem, suggestion.as_deref()),
            (text, wrong, why, nearest),
            "{text:?} is reported as: {said}"
        );
        assert!(said.contains(&format!("{text:?}")) && said.contains(&problem.to_string()), "{said}");
        match nearest {
            Some(name) => assert!(said.ends_with(&format!("did you mean {name}?")), "{said}"),
            None => assert!(said.contains("valid names look like"), "{said}"),
        }
    }
}

#[test]
fn a_conflict_and_a_missing_field_are_said_in_full() {
    let conflict = spec("/job:a/gpu:0").merge(&spec("/job:a/cpu")).unwrap_err();
    let said = conflict.to_string();
    assert!(
        said.contains("/job:a/GPU:0") && said.contains("/job:a/CPU") && said.contains("device type"),
        "{said}"
    );

    let incomplete = spec("gpu").canonicalize(&spec("/job:a/task:1/cpu:0")).unwrap_err();
    assert!(incomplete.to_string().contains("needs its replica"), "{incomplete}");
    let incomplete = spec("gpu").canonicalize(&DeviceSpec::ANY).unwrap_err();
    assert!(
        incomplete.to_string().ends_with("job, replica, task, device type and device index"),
        "{incomplete}"
    );
}

#[test]
fn a_wrong_job_or_type_by_itself_is_reported_as_the_field_it_would_be() {
    let said = JobName::new("gpu-1").unwrap_err().to_string();
    assert!(said.contains("/job:gpu-1") && said.ends_with("did you mean /job:gpu_1?"), "{said}");
    assert!("".parse::<DeviceType>().is_err() && "a/b".parse::<DeviceType>().is_err());
}

#[test]
fn a_huge_name_is_cut_in_the_message_and_kept_in_the_error() {
    let text = "é".repeat(100_000);
    let found = error(&text);
    assert!(found.to_string().len() < 1200, "{} bytes", found.to_string().len());
    assert!(matches!(found, SpecError::Malformed { input, .. } if *input == *text));
}
