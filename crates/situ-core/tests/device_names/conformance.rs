//! The shared table of cases, which lies beside a checkout and not in it.

use std::path::Path;

use crate::facts::{FACTS, HOST, outcome};
use crate::{order, spec};

/// Rows of the shared table that DESIGN overrules, and why.
const DESIGN_WINS: &[(&str, &str, &str)] =
    &[("split", "gpu:3", "the leading slash is optional, so this is /gpu:3")];

#[test]
fn every_row_of_the_shared_conformance_table_holds_unless_design_overrules_it() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/device_name_cases.tsv");
    let Ok(table) = std::fs::read_to_string(&path) else {
        println!("skipped: ../shared is absent");
        return;
    };
    let mut checked = 0;
    let mut overruled = 0;
    for line in table.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let mut columns = line.split('\t');
        let [op, a, b, expected] = [(); 4].map(|()| columns.next().unwrap_or("").trim());
        if op == "compare" {
            order::partial_names_sort_before_complete_ones_then_field_by_field();
            order::texts_that_are_no_names_sort_first();
            checked += 1;
            continue;
        }
        for a in
            a.split([',', '|']).map(str::trim).filter(|_| op != "format").chain((op == "format").then_some(a))
        {
            if let Some((_, _, why)) = DESIGN_WINS.iter().find(|(o, name, _)| (*o, *name) == (op, a)) {
                println!("overruled: {op} {a}: {why}");
                assert!(!outcome(op, a, b).starts_with("ERR"), "{op} {a}: no longer overruled");
                overruled += 1;
                continue;
            }
            check_row(op, a, b, expected);
            checked += 1;
        }
    }
    assert!(checked >= 50, "only {checked} cases in {}", path.display());
    assert_eq!(overruled, DESIGN_WINS.len(), "an overruled row is gone from the table");
}

/// One case of the shared table, whose columns are partly prose.
fn check_row(op: &str, a: &str, b: &str, expected: &str) {
    if let Some(base) = op.strip_prefix("canonicalize(base=").and_then(|rest| rest.strip_suffix(')')) {
        return assert_eq!(spec(a).canonicalize(&spec(base)), Ok(spec(expected)), "{op} {a}");
    }
    match (op, a, b) {
        ("canonicalize", "any", "base not fully specified") => {
            for name in ["", "CPU:0", HOST] {
                for base in ["", "/job:foo", "/job:foo/replica:1/task:2/gpu"] {
                    assert_eq!(outcome(op, name, base), "ERR incomplete", "{name} {base}");
                }
            }
            return;
        }
        ("canonicalize", _, "") => return assert_eq!(outcome(op, a, HOST), "ERR malformed", "{a}"),
        ("merge_unset", ..) => {
            let both = expected.strip_prefix("a<-b:").and_then(|rest| rest.split_once("; b<-a:"));
            let (onto_a, onto_b) = both.unwrap_or_else(|| panic!("{op}: cannot read {expected:?}"));
            assert_eq!(spec(a).merge_unset(&spec(b)), spec(onto_a.trim()));
            assert_eq!(spec(b).merge_unset(&spec(a)), spec(onto_b.trim()));
            return;
        }
        _ => {}
    }
    let b = b.replace("...", "/job:work/replica:1/task:2/");
    let found = outcome(op, a, &b);
    let context = format!("{op} {a:?} {b:?}: {found:?}, and the table says {expected:?}");
    let assignments: Vec<&str> = expected.split_whitespace().filter(|word| word.contains('=')).collect();
    if expected.starts_with("ERR") {
        assert!(found.starts_with("ERR"), "{context}");
        if expected.contains("incompatible") {
            assert_eq!(found, expected, "{context}");
        }
    } else if let Some(truth) = ["true", "false"].iter().find(|truth| expected.starts_with(**truth)) {
        assert_eq!(found, *truth, "{context}");
    } else if expected == "(empty)" || expected == "everything unset" {
        assert_eq!(found, "", "{context}");
    } else if expected.starts_with('/') {
        assert_eq!(spec(&found), spec(expected), "{context}");
    } else if !assignments.is_empty() {
        let found: Vec<&str> = found.split_whitespace().collect();
        assert!(assignments.iter().all(|assignment| found.contains(assignment)), "{context}");
        if expected.ends_with(" only") {
            assert_eq!(found, assignments, "{context}");
        }
    } else {
        // Prose: the exact outcome is among the facts above, where it is checked.
        assert!(FACTS.iter().any(|fact| (fact.0, fact.1) == (op, a)), "state this row as a fact: {context}");
        assert!(!found.starts_with("ERR"), "{context}");
    }
}
