//! What a cost-graph file may not say, and where the error says it is.

use situ_place::{GraphFile, Problem};

const GOOD: &str = r#"{ "version": 1,
  "devices": [ {"name": "CPU:0", "kind": "cpu", "slots": 8},
               {"name": "GPU:0", "kind": "gpu", "slots": 1, "memory": 17179869184, "compute": "chip0"} ],
  "links":   [ {"from": "CPU:0", "to": "GPU:0", "latency": 8e-6, "bandwidth": 12e9, "shared": "pcie0"} ],
  "resident": {"w1": 8388608},
  "nodes":   [ {"id": 0, "name": "mm", "cost": {"cpu": 2.1e-3, "GPU:0": 9e-5}, "output_bytes": 4194304,
                "memory": 0, "uses": ["w1"], "colocate": "step", "device": "/GPU:0"},
               {"id": 1, "cost": {"cpu": 1e-3}}, {"id": 2, "cost": {"cpu": 1e-3}} ],
  "edges":   [ {"from": 0, "to": 1}, {"from": 0, "to": 2, "bytes": 1024} ] }"#;

#[test]
fn the_designs_example_reads_and_comes_back_the_same() {
    let problem = Problem::from_json(GOOD).unwrap();
    assert_eq!((problem.node_count(), problem.device_count()), (3, 2));
    assert_eq!(problem.cost(0, 0), Some(2.1e-3));
    assert_eq!(problem.cost(0, 1), Some(9e-5));
    assert_eq!(problem.cost(1, 1), None);
    assert_eq!(problem.allowed(0).collect::<Vec<_>>(), [1]);
    let file = problem.to_file();
    let again = GraphFile::from_json(&file.to_json().unwrap()).unwrap();
    assert_eq!(file, again);
    let (graph, machine) = again.split();
    assert_eq!(Problem::new(&graph, &machine).unwrap().to_file(), file);
}

#[test]
fn an_error_gives_the_place() {
    let cases = [
        (r#""version": 1"#, r#""version": 2"#, "version: 2"),
        (r#""slots": 8"#, r#""slots": 0"#, "devices[0].slots"),
        (r#""memory": 17179869184"#, r#""memory": -1"#, "devices[1].memory: -1 is negative"),
        (r#""name": "GPU:0""#, r#""name": "CPU:0""#, "devices[1].name"),
        (r#""to": "GPU:0", "lat"#, r#""to": "GPU:1", "lat"#, "links[0].to: there is no device \"GPU:1\""),
        (r#""to": "GPU:0", "lat"#, r#""to": "CPU:0", "lat"#, "links[0]: leads from a device to itself"),
        (r#""bandwidth": 12e9, "#, r#""bandwidth": 0, "#, "links[0].bandwidth"),
        (r#""bandwidth": 12e9, "#, "", "missing field `bandwidth`"),
        (r#""w1": 8388608"#, r#""w1": -5"#, "resident[\"w1\"]"),
        (r#""uses": ["w1"]"#, r#""uses": ["w2"]"#, "nodes[0].uses: there is no resident \"w2\""),
        (r#""cpu": 2.1e-3"#, r#""cpu": -2"#, "nodes[0].cost[\"cpu\"]"),
        (r#""cpu": 2.1e-3"#, r#""cpu": 1e999"#, "line 6 column"),
        (r#""cpu": 2.1e-3"#, r#""cpu": 1e308"#, "is beyond 1e100"),
        (r#""bandwidth": 12e9, "#, r#""bandwidth": 5e-324, "#, "links[0].bandwidth"),
        (r#""output_bytes": 4194304"#, r#""output_bytes": 1e308"#, "nodes[0].output_bytes"),
        (r#""cpu": 2.1e-3"#, r#""tpu": 2"#, "nodes[0].cost[\"tpu\"]: \"tpu\" is no device or kind"),
        (r#""cpu": 2.1e-3"#, r#""GPU:4": 2"#, "nodes[0].cost[\"GPU:4\"]"),
        (r#""device": "/GPU:0""#, r#""device": "/GPUU:0""#, "nodes[0].device"),
        (r#""id": 1,"#, r#""id": 0,"#, "nodes[1].id: 0 is the id of nodes[0] already"),
        (r#""to": 1}"#, r#""to": 7}"#, "edges[0].to: there is no node 7"),
        (r#""to": 1}"#, r#""to": 0}"#, "edges[0]: node 0 reads itself"),
        (r#""to": 1}"#, r#""to": 2}"#, "edges[1]: joins the same nodes as edges[0]"),
        (r#""bytes": 1024}"#, r#""bytes": -1}"#, "edges[1].bytes"),
        (r#""bytes": 1024}"#, r#""cost": {"cpu>gpu": 1}}"#, "edges[1]: of one node's out-edges"),
        (r#""bytes": 1024}"#, r#""cost": {"cpu>tpu": 1}}"#, "edges[1].cost[\"cpu>tpu\"]"),
        (r#""bytes": 1024}"#, r#""cost": {"cpu": 1}}"#, "edges[1].cost[\"cpu\"]"),
        (r#""bytes": 1024}"#, r#""cost": {"cpu>gpu": -1}}"#, "edges[1].cost[\"cpu>gpu\"]"),
        (r#""bytes": 1024} ]"#, r#""bytes": 1024}, {"from": 2, "to": 0} ]"#, "closes a cycle: "),
        (r#""edges":"#, r#""edges": 3, "x":"#, "line "),
    ];
    for (before, after, expected) in cases {
        assert!(GOOD.contains(before), "{before}");
        let text = GOOD.replacen(before, after, 1);
        let error =
            Problem::from_json(&text).err().unwrap_or_else(|| panic!("{after} was accepted")).to_string();
        assert!(error.contains(expected), "{after}: {error}, expected {expected}");
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    for cut in 0..GOOD.len() {
        assert!(Problem::from_json(&GOOD[..cut]).is_err());
    }
}
