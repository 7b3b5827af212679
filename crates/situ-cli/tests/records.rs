//! Records as people use them: written by a command, viewed, asked.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn situ(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_situ")).args(args).output().expect("the program starts")
}

fn text(args: &[&str]) -> String {
    let output = situ(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn error(args: &[&str]) -> String {
    let output = situ(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// A file of this test alone, removed at its end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("situ-cli-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn demo_writes_a_record_and_a_trace_that_can_be_viewed_and_asked() {
    let (record, trace) = (File::new("demo.json"), File::new("trace.json"));
    text(&["demo", "--epochs", "1", "--record", record.path(), "--trace", trace.path()]);
    let seen = text(&["view", record.path(), "--text"]);
    for word in ["situ demo:", "CPU:0", "softmax", "Ops, by time"] {
        assert!(seen.contains(word), "{word} in\n{seen}");
    }
    let json: Value = serde_json::from_str(&text(&["view", record.path(), "--json"])).expect("JSON");
    assert_eq!(json["version"], 2);
    let why = text(&["why", record.path(), "*softmax*"]);
    assert!(why.contains("softmax") && why.contains("CPU:0"), "{why}");
    let trace = std::fs::read_to_string(&trace.0).expect("the trace");
    let trace: Value = serde_json::from_str(&trace).expect("JSON");
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 20));
}

#[test]
fn what_can_not_be_read_or_is_not_there_is_an_error_that_helps() {
    assert!(error(&["view", "no/such/record.json"]).contains("no/such/record.json"));
    let file = File::new("bad.json");
    std::fs::write(&file.0, "{}").expect("written");
    assert!(error(&["why", file.path(), "matmul"]).contains("no version"));
    std::fs::write(&file.0, "{\"version\": 3}").expect("written");
    assert!(error(&["view", file.path()]).contains("up to version 2"));
    let record = File::new("names.json");
    text(&["demo", "--json", "--epochs", "1", "--record", record.path()]);
    let missing = error(&["why", record.path(), "no/such/op"]);
    assert!(missing.contains("no op matches no/such/op") && missing.contains("matmul"), "{missing}");
}

#[test]
fn view_writes_the_page_of_a_record_and_demo_writes_it_with_files_for_tensorboard() {
    let (record, page, again) = (File::new("page.json"), File::new("report.html"), File::new("again.html"));
    let board = std::env::temp_dir().join(format!("situ-cli-{}-board", std::process::id()));
    let folder = board.to_str().expect("a path");
    text(&[
        "demo",
        "--json",
        "--epochs",
        "1",
        "--record",
        record.path(),
        "--report",
        page.path(),
        "--tensorboard",
        folder,
    ]);
    let said = text(&["view", record.path(), "--out", again.path(), "--no-open"]);
    assert!(said.contains(again.path()), "{said}");
    let read = |file: &File| std::fs::read_to_string(&file.0).expect("the page");
    for page in [read(&page), read(&again)] {
        assert!(page.starts_with("<!doctype html>") && page.contains("softmax"));
    }
    let mut names: Vec<String> = std::fs::read_dir(&board)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].starts_with("events.out.tfevents.") && names[1] == "plugins", "{names:?}");
    let _ = std::fs::remove_dir_all(&board);
}

#[test]
fn control_characters_of_a_record_reach_no_terminal() {
    let (record, rude) = (File::new("plain.json"), File::new("rude.json"));
    text(&["demo", "--epochs", "1", "--record", record.path()]);
    let told = std::fs::read_to_string(&record.0).expect("the record");
    // Every name of an op gets an escape sequence and a line of its own.
    let told = told.replace("softmax", "\\u001b[2Jsoft\\r\\nmax\\u0007");
    std::fs::write(&rude.0, told).expect("written");
    let shown = [
        text(&["view", rude.path(), "--text"]),
        text(&["why", rude.path(), "*soft*"]),
        error(&["why", rude.path(), "no-such-op"]),
    ];
    for shown in shown {
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("max")), "{shown}");
    }
}
