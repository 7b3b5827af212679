//! What the grammar and its operations do, case by case.

use situ_core::device_spec::{DeviceSpec, DeviceType, Field, JobName, SpecError};

use crate::spec;

/// One operation on names written as text, its outcome as text: what both tables of cases are compared with.
/// A parsed name is spelled field by field, any error is `ERR` followed by what the table says about it.
pub(crate) fn outcome(op: &str, a: &str, b: &str) -> String {
    run(op, a, b).unwrap_or_else(|error| match error {
        SpecError::Malformed { .. } => "ERR malformed".into(),
        SpecError::Incomplete { .. } => "ERR incomplete".into(),
        SpecError::Conflict { field, .. } => format!(
            "ERR incompatible {}",
            match field {
                Field::Job => "jobs",
                Field::Replica => "replicas",
                Field::Task => "tasks",
                Field::Type => "types",
                Field::Index => "ids",
            }
        ),
        other => format!("ERR {other}"),
    })
}

fn run(op: &str, a: &str, b: &str) -> Result<String, SpecError> {
    if op == "format" {
        return Ok(built_from_fields(a).to_string());
    }
    let first: DeviceSpec = a.parse()?;
    let second: DeviceSpec = b.parse()?;
    Ok(match op {
        "parse" | "parse_local" => fields(&first),
        "same_address_space" => {
            assert_eq!(
                first.same_address_space(&second),
                second.same_address_space(&first),
                "symmetric: {a} {b}"
            );
            first.same_address_space(&second).to_string()
        }
        "compatible" => {
            assert_eq!(first.is_compatible(&second), second.is_compatible(&first), "symmetric: {a} {b}");
            first.is_compatible(&second).to_string()
        }
        "is_complete_spec" => first.matches(&second).to_string(),
        "is_spec" => second.is_specialization_of(&first).to_string(),
        "split" => {
            let (task, device) = first.split()?;
            format!("task={task} device={device:#}")
        }
        "merge" => {
            let merged = first.merge(&second);
            assert_eq!(merged.is_ok(), second.merge(&first).is_ok(), "symmetric: {a} {b}");
            merged?.to_string()
        }
        "merge_soft" => {
            let merged = first.merge_soft(&second)?;
            assert_eq!(merged, second.merge_soft(&first)?, "symmetric: {a} {b}");
            merged.to_string()
        }
        "merge_override" => first.merge_override(&second).to_string(),
        "merge_unset" => first.merge_unset(&second).to_string(),
        "canonicalize" => first.canonicalize(&second)?.to_string(),
        _ => panic!("no operation called {op:?}"),
    })
}

fn fields(spec: &DeviceSpec) -> String {
    let mut text = Vec::new();
    text.extend(spec.job.as_ref().map(|x| format!("job={x}")));
    text.extend(spec.replica.map(|x| format!("replica={x}")));
    text.extend(spec.task.map(|x| format!("task={x}")));
    text.extend(spec.kind.as_ref().map(|x| format!("type={x}")));
    text.extend(spec.index.map(|x| format!("id={x}")));
    text.join(" ")
}

/// `job=hello,replica=1,task=2,CPU,3`, without going through the parser under test.
fn built_from_fields(text: &str) -> DeviceSpec {
    let mut spec = DeviceSpec::ANY;
    for item in text.split(',') {
        match item.split_once('=') {
            Some(("job", name)) => spec.job = Some(JobName::new(name).unwrap()),
            Some(("replica", n)) => spec.replica = Some(n.parse().unwrap()),
            Some(("task", n)) => spec.task = Some(n.parse().unwrap()),
            _ if item.bytes().all(|b| b.is_ascii_digit()) => spec.index = Some(item.parse().unwrap()),
            _ => spec.kind = Some(item.parse().unwrap()),
        }
    }
    spec
}

const WORK: &str = "/job:work/replica:1/task:2/gpu:3";
pub(crate) const HOST: &str = "/job:foo/replica:10/task:0/device:CPU:0";

/// Operation, two names, outcome.
pub(crate) const FACTS: &[(&str, &str, &str, &str)] = &[
    ("format", "job=hello,replica=1,task=2,CPU,3", "", "/job:hello/replica:1/task:2/device:CPU:3"),
    ("parse", "", "", ""),
    ("parse", "/", "", ""),
    ("parse", "gpu", "", "type=GPU"),
    ("parse", "/GPU", "", "type=GPU"),
    ("parse", "/device:GPU", "", "type=GPU"),
    ("parse", "/device:gpu:0", "", "type=GPU id=0"),
    ("parse", "device:Gpu:0", "", "type=GPU id=0"),
    ("parse", "cpu:1", "", "type=CPU id=1"),
    ("parse", "Cpu:007", "", "type=CPU id=7"),
    ("parse", "gpu:4294967295", "", "type=GPU id=4294967295"),
    ("parse", "/device:*", "", ""),
    ("parse", "/device:*:3", "", "id=3"),
    ("parse", "/device:cpux", "", "type=cpux"),
    ("parse", "/job:foo/replica:1/task:2/gpu:3", "", "job=foo replica=1 task=2 type=GPU id=3"),
    ("parse", "job:foo/replica:1/task:2/gpu:3", "", "job=foo replica=1 task=2 type=GPU id=3"),
    ("parse", "/job:foo_bar/replica:1/task:2/gpu:3", "", "job=foo_bar replica=1 task=2 type=GPU id=3"),
    ("parse", "/job:Foo", "", "job=Foo"),
    ("parse", "/job:*/replica:4/gpu:*", "", "replica=4 type=GPU"),
    ("parse", "/job:*/replica:4/device:GPU:*", "", "replica=4 type=GPU"),
    ("parse", "/job:*/device:GPU/replica:4", "", "replica=4 type=GPU"),
    ("parse", "/gpu:*/job:*/replica:4", "", "replica=4 type=GPU"),
    ("parse", "/job:*/replica:4/device:myspecialdevice:13", "", "replica=4 type=myspecialdevice id=13"),
    ("parse", "foobar", "", "ERR malformed"),
    ("parse", "/job:123/replica:1/task:2/gpu:3", "", "ERR malformed"),
    ("parse", "/job:foo/replica:1/task:2/gpu:", "", "ERR malformed"),
    ("parse", "/job:foo/replica:1/task:2/device:gpu:", "", "ERR malformed"),
    ("parse", "/job:foo/replica:-1/task:2/gpu:3", "", "ERR malformed"),
    ("parse", "/job:foo/replica:1/task:-2/gpu:3", "", "ERR malformed"),
    ("parse", "/job:foo/replica:1/task:2/bar:3", "", "ERR malformed"),
    ("parse", "/job:foo/replica:1/task:2/gpu:3/extra", "", "ERR malformed"),
    ("parse_local", "CPU:10", "", "type=CPU id=10"),
    ("parse_local", "cpu:abc", "", "ERR malformed"),
    ("parse_local", "abc:", "", "ERR malformed"),
    ("parse_local", "abc", "", "ERR malformed"),
    ("parse_local", "myspecialdevice", "", "ERR malformed"),
    ("same_address_space", "/job:foo/replica:1/task:2/cpu:3", "/job:foo/replica:1/task:2/gpu:4", "true"),
    ("same_address_space", "/job:foo/replica:1/task:2/cpu:3", "/job:foo/replica:1/task:3/gpu:4", "false"),
    ("same_address_space", "/job:foo/replica:1/task:2/cpu:3", "/job:foo/replica:9/task:2/gpu:4", "false"),
    ("same_address_space", "/job:foo/replica:1/task:2/cpu:3", "/job:bar/replica:1/task:2/gpu:4", "false"),
    ("same_address_space", "/cpu:0", "/cpu:0", "false"),
    ("compatible", "/job:work/replica:1/task:3/device:GPU:*", "/device:CPU:*", "false"),
    ("compatible", "/job:work/replica:1/task:3", "/device:CPU:*", "true"),
    ("compatible", "/gpu:1", "/device:*:2", "false"),
    ("is_complete_spec", "/", WORK, "true"),
    ("is_complete_spec", "/job:*/replica:*/gpu:*", WORK, "true"),
    ("is_complete_spec", "/gpu:*", WORK, "true"),
    ("is_complete_spec", WORK, WORK, "true"),
    ("is_complete_spec", "/cpu:*", WORK, "false"),
    ("is_complete_spec", "/gpu:2", WORK, "false"),
    ("is_complete_spec", "/job:play", WORK, "false"),
    ("is_complete_spec", "/gpu", "/gpu:0", "false"),
    ("is_spec", "/job:work/replica:*/task:2", WORK, "true"),
    ("is_spec", "/gpu", "/gpu:0", "true"),
    ("is_spec", WORK, "/gpu:*", "false"),
    ("is_spec", "/cpu:*", "/job:*/replica:1/task:2", "false"),
    ("is_spec", "/job:work/replica:0/task:2", "/job:work/replica:*/task:2/gpu:3", "false"),
    ("split", "/job:foo/cpu:1/task:2/replica:1", "", "task=/job:foo/replica:1/task:2 device=CPU:1"),
    ("split", "/job:foo/task:2/replica:1", "", "ERR incomplete"),
    ("split", "/job:foo/gpu", "", "ERR incomplete"),
    // TensorFlow: an error, for want of the slash. DESIGN: the slash is optional.
    ("split", "gpu:3", "", "task= device=GPU:3"),
    ("merge", "", "", ""),
    ("merge", "/job:foo", "/task:7", "/job:foo/task:7"),
    ("merge", "/job:foo", "/gpu:1", "/job:foo/device:GPU:1"),
    ("merge", "/job:foo/replica:0", "/replica:0/task:1", "/job:foo/replica:0/task:1"),
    ("merge", "/gpu:1", "/gpu:*", "/device:GPU:1"),
    ("merge", "/job:foo", "/job:bar", "ERR incompatible jobs"),
    ("merge", "/replica:0", "/replica:1", "ERR incompatible replicas"),
    ("merge", "/task:0", "/task:1", "ERR incompatible tasks"),
    ("merge", "/gpu:*", "/cpu:*", "ERR incompatible types"),
    ("merge", "/gpu:0", "/gpu:1", "ERR incompatible ids"),
    ("merge_soft", "/gpu:*", "/cpu:1", ""),
    ("merge_soft", "/gpu:1", "/gpu:2", "/device:GPU:*"),
    ("merge_soft", "/task:1/gpu:1", "/task:1/cpu:1", "/task:1"),
    ("merge_soft", "/job:foo/gpu:1", "/job:bar/cpu:1", "ERR incompatible jobs"),
    ("merge_override", "/gpu:0", "/cpu:1", "/device:CPU:1"),
    ("merge_override", "/job:foo/CPU:*", "/device:GPU:1", "/job:foo/device:GPU:1"),
    ("merge_override", "/gpu:1", "/gpu", "/device:GPU:1"),
    ("merge_unset", "/job:foo/device:GPU", "/job:bar", "/job:foo/device:GPU:*"),
    ("merge_unset", "/job:bar", "/job:foo/device:GPU", "/job:bar/device:GPU:*"),
    // TensorFlow would carry the index over: CPU:1. Here an index belongs to its type.
    ("merge_override", "/gpu:1", "/cpu", "/device:CPU:*"),
    ("merge_unset", "/cpu", "/gpu:1", "/device:CPU:*"),
    ("canonicalize", "CPU:0", HOST, HOST),
    ("canonicalize", "", HOST, HOST),
    ("canonicalize", "/task:3/gpu:2", HOST, "/job:foo/replica:10/task:3/device:GPU:2"),
    ("canonicalize", "gpu", HOST, "/job:foo/replica:10/task:0/device:GPU:0"),
    (
        "canonicalize",
        "gpu",
        "/job:foo/replica:10/task:0/device:CPU:1",
        "/job:foo/replica:10/task:0/device:GPU:0",
    ),
    ("canonicalize", "/job:foo/task:0/replica/cpu:1", HOST, "ERR malformed"),
    ("canonicalize", "CPU:0", "/job:foo/replica:10/task:0/device:CPU", "ERR incomplete"),
    ("canonicalize", HOST, "", "ERR incomplete"),
];

#[test]
fn every_fact_of_the_grammar_and_of_its_operations_holds() {
    for &(op, a, b, expected) in FACTS {
        assert_eq!(outcome(op, a, b), expected, "{op} {a:?} {b:?}");
    }
}

#[test]
fn an_inner_scope_wins_field_by_field_and_naming_a_type_drops_the_outer_index() {
    let cases = [
        ("/job:a/gpu:2", "/task:1", "/job:a/task:1/gpu:2"),
        ("/job:a/gpu:2", "/job:b", "/job:b/gpu:2"),
        // TensorFlow: CPU:2. DESIGN: naming a type clears an inherited index.
        ("/gpu:2", "/cpu", "/cpu"),
        ("/gpu:2", "/cpu:*", "/cpu"),
        ("/gpu:2", "/gpu", "/gpu"),
        ("/gpu:2", "/gpu:0", "/gpu:0"),
        ("/gpu:2", "/device:*:0", "/gpu:0"),
        ("/gpu:2", "", "/gpu:2"),
        ("/gpu:2", "/", "/gpu:2"),
        ("/gpu:2", "/job:*/device:*", "/gpu:2"),
        ("", "/gpu:1", "/gpu:1"),
    ];
    for (outer, inner, expected) in cases {
        assert_eq!(spec(outer).inside(&spec(inner)), spec(expected), "{inner:?} inside {outer:?}");
    }
}

#[test]
fn custom_types_keep_their_case_and_are_told_apart_by_it() {
    assert_eq!(spec("/device:Tpu:0").to_string(), "/device:Tpu:0");
    assert_eq!(format!("{:#}", spec("/device:Tpu:0")), "/device:Tpu:0");
    assert_ne!(spec("/device:Tpu:0"), spec("/device:TPU:0"));
    assert_eq!(spec("/device:gPU:0"), DeviceSpec::device(DeviceType::Gpu, 0));
}
