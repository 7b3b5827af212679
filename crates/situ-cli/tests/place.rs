//! `situ place` as people run it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const GRAPH: &str = r#"{ "version": 1,
  "devices": [ {"name": "CPU:0", "slots": 4}, {"name": "GPU:0", "memory": 1e9} ],
  "links": [ {"from": "CPU:0", "to": "GPU:0", "latency": 8e-6, "bandwidth": 12e9},
             {"from": "GPU:0", "to": "CPU:0", "latency": 8e-6, "bandwidth": 12e9} ],
  "nodes": [ {"id": 0, "name": "load", "cost": {"cpu": 1e-4}, "output_bytes": 4194304},
             {"id": 1, "name": "matmul", "cost": {"cpu": 2e-2, "gpu": 1e-4}, "output_bytes": 4194304},
             {"id": 2, "name": "sum", "cost": {"cpu": 1e-5, "gpu": 1e-5}, "output_bytes": 4},
             {"id": 3, "name": "log", "cost": {"cpu": 1e-5, "gpu": 1e-5}, "device": "/CPU:0"} ],
  "edges": [ {"from": 0, "to": 1}, {"from": 1, "to": 2}, {"from": 2, "to": 3} ] }"#;

/// A folder of this test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("situ-cli-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn place(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_situ")).arg("place").args(args).output().unwrap()
}

/// Standard output of a run that must succeed in silence.
fn text(args: &[&str]) -> String {
    let output = place(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    assert_eq!(errors, "", "nothing on standard error where it is no terminal");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&text(args)).unwrap()
}

#[test]
fn an_answer_has_devices_times_reasons_copies_memory_and_a_bound() {
    let folder = Folder::new("answer");
    let graph = folder.file("graph.json", GRAPH);
    let answer = json(&[&graph, "--moves", "100", "--json"]);
    let devices: Vec<&str> =
        answer["nodes"].as_array().unwrap().iter().map(|n| n["device"].as_str().unwrap()).collect();
    assert_eq!(devices, ["CPU:0", "GPU:0", "GPU:0", "CPU:0"]);
    assert_eq!(answer["nodes"][1]["reason"]["rule"], "faster");
    assert_eq!(answer["nodes"][3]["reason"]["rule"], "requested");
    assert_eq!(answer["transfers"].as_array().unwrap().len(), 2);
    assert!(answer["lower_bound"].as_f64().unwrap() <= answer["makespan"].as_f64().unwrap());
    assert_eq!(answer["peak_memory"]["GPU:0"], 8388608.0);
    assert!(answer["nodes"][0].get("delta").is_none());
}

#[test]
fn the_summary_is_for_people_and_explain_says_what_elsewhere_would_change() {
    let folder = Folder::new("summary");
    let graph = folder.file("graph.json", GRAPH);
    let summary = text(&[&graph, "--moves", "100"]);
    assert!(summary.contains("4 nodes done in") && summary.contains("GPU:0"), "{summary}");
    assert!(!summary.contains("matmul"), "{summary}");
    let explained = text(&[&graph, "--moves", "100", "--explain"]);
    assert!(explained.contains("matmul") && explained.contains("over CPU:0"), "{explained}");
    let answer = json(&[&graph, "--moves", "100", "--explain", "--json"]);
    assert!(answer["nodes"][1]["delta"]["CPU:0"].as_f64().unwrap() > 0.01, "{answer:#}");
}

#[test]
fn the_same_moves_and_seed_give_the_same_file_whatever_the_threads() {
    let folder = Folder::new("repeat");
    let graph = folder.file("graph.json", GRAPH);
    let mut answers = Vec::new();
    for threads in ["1", "3"] {
        let out = folder.path("answer.json");
        text(&[&graph, "--moves", "3000", "--seed", "5", "--threads", threads, "--out", &out]);
        let mut answer: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
        answer["seconds"] = Value::Null;
        answers.push(answer);
    }
    assert_eq!(answers[0], answers[1]);
    independent(&graph, &folder.path("answer.json"));
}

/// The checker beside the checkout, where it is.
fn independent(graph: &str, answer: &str) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/check_placement.py");
    if !tool.exists() {
        println!("skipped: no {}", tool.display());
        return;
    }
    let Ok(output) = Command::new("python3").arg(tool).args([graph, answer]).output() else {
        println!("skipped: no python3");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn compare_shows_every_algorithm_and_none_below_the_bound() {
    let folder = Folder::new("compare");
    let graph = folder.file("graph.json", GRAPH);
    let comparison = json(&[&graph, "--moves", "200", "--compare", "--json"]);
    let bound = comparison["lower_bound"].as_f64().unwrap();
    let entries = comparison["algorithms"].as_array().unwrap();
    let auto = entries.iter().find(|e| e["algorithm"] == "auto").unwrap();
    for entry in entries {
        let makespan = entry["makespan"].as_f64().unwrap();
        assert!(makespan >= bound && makespan >= auto["makespan"].as_f64().unwrap(), "{entry}");
    }
    let table = text(&[&graph, "--moves", "200", "--compare"]);
    for name in [
        "single", "greedy", "heft", "peft", "hoft", "prices", "affinity", "etf", "segments", "cut", "sweep",
        "walk", "auto",
    ] {
        assert!(table.contains(name), "{name}: {table}");
    }
}

#[test]
fn a_machine_profile_replaces_the_graphs_machine() {
    let folder = Folder::new("machine");
    let graph = folder.file("graph.json", GRAPH);
    let (_, text) = situ::place::machine::SHIPPED.iter().find(|(name, _)| *name == "h100-sxm-4").unwrap();
    let file = folder.file("four.toml", text);
    for machine in ["h100-sxm-4", &file] {
        let answer = json(&[&graph, "--moves", "100", "--machine", machine, "--json"]);
        assert!(answer["peak_memory"].get("GPU:3").is_some(), "{machine}: {answer:#}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_ends_with_1() {
    let folder = Folder::new("wrong");
    let full = GRAPH
        .replace("1e9}", "1000}")
        .replace(r#""cost": {"cpu": 2e-2, "gpu": 1e-4}"#, r#""cost": {"gpu": 1e-4}"#);
    let cases = [
        (GRAPH.replace(r#""to": 1}"#, r#""to": 9}"#), "edges[0].to: there is no node 9"),
        (GRAPH.replace("\"version\": 1,", "\"version\": 1"), "line 2"),
        (GRAPH.replace(r#""device": "/CPU:0""#, r#""device": "/GPU:3""#), "asks for /GPU:3"),
        (full, "more memory on GPU:0"),
    ];
    for (graph, expected) in cases {
        let path = folder.file("graph.json", &graph);
        let output = place(&[&path, "--moves", "10"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("situ: ") && said.contains(expected), "{said}");
    }
    let missing = place(&["/nowhere/graph.json"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nowhere/graph.json: can't be read"));
    let graph = folder.file("graph.json", GRAPH);
    let unknown = place(&[&graph, "--algorithm", "magic"]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(
        said.contains("magic: there is no such algorithm; there are") && said.contains("segments"),
        "{said}"
    );
    for args in [&["--seconds", "-1"][..], &["--threads", "0"], &["--seconds", "1", "--moves", "3"]] {
        let output = place(&[&[graph.as_str()][..], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_search_with_the_best_answer_so_far() {
    let folder = Folder::new("stop");
    // Two machines' worth of work in pieces that do not divide evenly: the bound is out of reach, so the
    // search goes on.
    let nodes: Vec<String> = (0..40)
        .map(|i| format!(r#"{{"id": {i}, "cost": {{"cpu": {}}}}}"#, 1.0 + f64::from(i % 7) * 0.13))
        .collect();
    let graph = format!(
        r#"{{"version": 1, "devices": [{{"name": "CPU:0", "slots": 3}}], "links": [], "nodes": [{}],
        "edges": [{{"from": 0, "to": 39}}]}}"#,
        nodes.join(",")
    );
    let graph = folder.file("graph.json", &graph);
    let mut child = Command::new(env!("CARGO_BIN_EXE_situ"))
        .args(["place", &graph, "--seconds", "600", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    if child.try_wait().unwrap().is_none() {
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["seconds"].as_f64().unwrap() < 300.0);
}

#[test]
fn control_characters_in_names_reach_no_terminal() {
    let folder = Folder::new("escapes");
    let rude = GRAPH
        .replace("\"matmul\"", r#""\u001b[31mred\u0007\r\nCPU:0 faked""#)
        .replace("GPU:0", r"GPU\u001b:0");
    let rude = rude.replace("\"sum\"", "\"\u{9b}2J\"");
    let graph = folder.file("rude.json", &rude);
    for args in [&[graph.as_str(), "--explain"][..], &[graph.as_str(), "--compare", "--seconds", "0.1"]] {
        let shown = text(args);
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("CPU:0 faked")), "{shown}");
    }
    assert!(text(&[&graph, "--explain"]).contains(r"\u{1b}[31mred"));
    let broken = folder.file("broken.json", &rude.replace("\"edges\"", r#""\u001b]0;title\u0007""#));
    let failed = place(&[&broken, &folder.path("\u{1b}c")]);
    assert!(!failed.status.success());
    let missing = place(&[&folder.path("\u{1b}c")]);
    for errors in [failed.stderr, missing.stderr] {
        let errors = String::from_utf8(errors).unwrap();
        assert!(errors.chars().all(|c| c == '\n' || !c.is_control()), "{errors:?}");
    }
}

#[test]
fn an_answer_replaces_no_link_and_no_folder() {
    let folder = Folder::new("out");
    let graph = folder.file("graph.json", GRAPH);
    let kept = folder.file("kept", "old");
    let failed = place(&[&graph, "--out", folder.0.to_str().unwrap()]);
    assert!(!failed.status.success());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&kept, folder.path("link")).unwrap();
        text(&[&graph, "--out", &folder.path("link")]);
        assert!(std::fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
        assert!(std::fs::read_to_string(&kept).unwrap().contains("makespan"));
    }
}
