//! TensorFlow's placer scenarios, as situ has them: the same, different on purpose, or not expressible, each
//! with a reason where it is not the same.
//!
//! The scenarios themselves are data beside the checkout; the table here says how each is expressed and what
//! situ does. That every scenario has a row is tested where the data is there.

mod graph;
mod table;

use graph::Outcome;
use situ_place::Requests;
use std::collections::BTreeSet;
use std::path::Path;
use table::{Mark, Row, SAME_BUT_FOR, rows};

/// What one row says of one strictness, against what situ does.
fn compare(row: &Row, requests: Requests, expected: &str) {
    for (graph, expected) in row.graph.split("||").zip(expected.split("||")) {
        let outcome = graph::place(row.devices, graph, requests, row.algorithm);
        let fits = match &outcome {
            Outcome::Placed(placed) => expected.split_whitespace().all(|word| placed.agrees(word)),
            Outcome::Refused { kind, .. } => expected.trim() == format!("error:{kind}"),
        };
        assert!(fits, "{} ({requests:?}): {graph}: expected {expected}, got {outcome:?}", row.id);
        if let Outcome::Refused { text, .. } = &outcome {
            assert!(row.says.split('|').all(|part| text.contains(part)), "{}: {text}", row.id);
        }
    }
}

#[test]
fn every_scenario_that_can_be_expressed_does_what_the_table_says() {
    let (mut same, mut different, mut absent) = (0, 0, 0);
    for row in rows() {
        match row.mark {
            Mark::Same => same += 1,
            Mark::Different(_) => different += 1,
            Mark::NotExpressible(_) => absent += 1,
        }
        if let Some(expected) = row.hard {
            compare(&row, Requests::Hard, expected);
        }
        if let Some(expected) = row.soft {
            compare(&row, Requests::Soft, expected);
        }
        let runs = row.hard.is_some() || row.soft.is_some();
        assert_eq!(runs, !matches!(row.mark, Mark::NotExpressible(_)), "{}", row.id);
    }
    println!("{same} the same, {different} different on purpose, {absent} not expressible");
    assert_eq!(same + different + absent, 85);
}

#[test]
fn every_row_that_is_not_the_same_says_why_in_one_line() {
    for row in rows() {
        match row.mark {
            Mark::Same => {}
            Mark::Different(why) | Mark::NotExpressible(why) => {
                assert!(why.len() > 20 && !why.contains('\n'), "{}: {why}", row.id);
            }
        }
    }
    assert!(!SAME_BUT_FOR.is_empty());
}

#[test]
fn the_table_has_a_row_for_every_scenario() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/placer_scenarios.tsv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return;
    };
    let ids: BTreeSet<String> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').next())
        .map(|id| id.trim_end_matches('*').to_owned())
        .filter(|id| !id.is_empty())
        .collect();
    let ours: BTreeSet<String> = rows().iter().map(|row| row.id.to_owned()).collect();
    assert_eq!(ids.difference(&ours).collect::<Vec<_>>(), Vec::<&String>::new(), "no row");
    assert_eq!(ours.difference(&ids).collect::<Vec<_>>(), Vec::<&String>::new(), "no such scenario");
}
