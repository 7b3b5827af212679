//! Parsers of text.

use situ_core::DeviceSpec;
use situ_ir::Graph;
use situ_observe::{Pattern, Record};
use situ_place::machine::{Profile, SHIPPED};
use situ_place::{Answer, Budget, Problem};

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn bytes_of(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub(super) fn device_names() -> Vec<Vec<u8>> {
    bytes_of(&["/GPU:0", "cpu", "/job:worker/replica:1/task:2/device:GPU:3", "/device:TPU:*", ""])
}

/// A name that is read is written in a form that is read as the same.
pub(super) fn device_name(bytes: &[u8]) -> bool {
    let Some(Ok(spec)) = text(bytes).map(str::parse::<DeviceSpec>) else { return false };
    let again: Result<DeviceSpec, _> = spec.to_string().parse();
    assert_eq!(again.as_ref().ok(), Some(&spec), "{spec}");
    true
}

pub(super) fn graphs() -> Vec<Vec<u8>> {
    use situ_tensor::{Function, Tensor, random};
    let x = random::normal(&[2, 3]).unwrap_or_else(|error| unreachable!("{error}"));
    let of = |f: Function, inputs: &[&Tensor]| f.graph(inputs).map(|g| g.to_string().into_bytes());
    let graphs = [
        of(Function::new(|x| x.square()?.sum(&[0])), &[&x]),
        of(Function::new(|x| x.softmax(-1)?.log()?.transpose(&[1, 0])?.matmul(x)), &[&x]),
        of(Function::new(|x| situ_tensor::where_(&x.greater(x)?, x, &x.exp()?)), &[&x]),
    ];
    graphs.into_iter().flatten().collect()
}

/// A graph that is read is sound, and is written in a form that is read as the same.
pub(super) fn graph(bytes: &[u8]) -> bool {
    let Some(Ok(graph)) = text(bytes).map(str::parse::<Graph>) else { return false };
    let written = graph.to_string();
    let again: Graph = written.parse().unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again.to_string(), written);
    true
}

pub(super) fn cost_graphs() -> Vec<Vec<u8>> {
    bytes_of(&[
        r#"{"version":1,"devices":[{"name":"CPU:0","kind":"cpu","slots":8},{"name":"GPU:0","memory":1e9,"compute":"chip0"}],
        "links":[{"from":"CPU:0","to":"GPU:0","latency":8e-6,"bandwidth":12e9,"shared":"pcie"},
        {"from":"GPU:0","to":"CPU:0","latency":8e-6,"bandwidth":12e9,"shared":"pcie"}],"resident":{"w":8388608},
        "nodes":[{"id":0,"name":"mm","cost":{"cpu":2.1e-3,"GPU:0":9e-5},"output_bytes":4194304,"memory":0,"uses":["w"],
        "colocate":"step","device":"/GPU:0"},{"id":1,"cost":{"cpu":1e-3}},{"id":2,"cost":{"cpu":1e-3,"gpu":1e-4}}],
        "edges":[{"from":0,"to":1},{"from":1,"to":2,"bytes":1024}]}"#,
        r#"{"version":1,"devices":[{"name":"a"},{"name":"b"}],"links":[],"nodes":[{"id":5,"cost":{"a":1,"b":2}},
        {"id":7,"cost":{"a":2,"b":1}}],"edges":[{"from":5,"to":7,"cost":{"a>b":0.5,"b>a":0.25}}]}"#,
    ])
}

/// What a small graph is placed as, the checker accepts.
pub(super) fn cost_graph(bytes: &[u8]) -> bool {
    let Some(Ok(problem)) = text(bytes).map(Problem::from_json) else { return false };
    if problem.node_count() <= 64
        && problem.device_count() <= 8
        && let Ok(placement) = situ_place::place("auto", &problem, &Budget::moves(50))
    {
        assert!(placement.makespan.is_finite());
        let answer = Answer::new(&problem, &placement);
        situ_place::check(&problem.to_file(), &answer).unwrap_or_else(|error| panic!("{error}"));
    }
    true
}

pub(super) fn machines() -> Vec<Vec<u8>> {
    SHIPPED.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()
}

pub(super) fn machine(bytes: &[u8]) -> bool {
    text(bytes).is_some_and(|text| Profile::from_toml(text).is_ok())
}

pub(super) fn records() -> Vec<Vec<u8>> {
    use situ_tensor::{Function, name_scope, tensor};
    let recorded = situ_observe::profile(|| {
        let f = Function::new(|x| {
            let _layer = name_scope("dense");
            x.matmul(x)?.relu()?.sum(&[])
        });
        let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
        x.add(&x)?.exp()?;
        f.call(&x)?;
        f.call(&x)
    });
    let Ok((_, record)) = recorded else { unreachable!("a program of four ops runs") };
    vec![record.to_json().into_bytes()]
}

/// All that is made of a record can be made of one that is read.
pub(super) fn record(bytes: &[u8]) -> bool {
    let Some(Ok(record)) = text(bytes).map(Record::from_json) else { return false };
    let _ = record.tables();
    let _ = record.to_trace();
    let _ = record.why(&Pattern::new("*"));
    let _ = situ_observe::page::html(&record);
    true
}

pub(super) fn patterns() -> Vec<Vec<u8>> {
    bytes_of(&["encoder/*", "**/dense_?/matmul", "gradient/*", "a*b*c*d*e*f*g*h*i*j"])
}

/// Patterns match in time, however many stars they have.
pub(super) fn pattern(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let (pattern, name) = text.split_at_checked(text.len() / 2).unwrap_or((text, text));
    let pattern = Pattern::new(pattern);
    let _ = pattern.matches(name) | pattern.matches(&"a".repeat(200));
    true
}
