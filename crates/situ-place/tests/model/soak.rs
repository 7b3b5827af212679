//! Random graphs, placed by everything there is: no rule broken, never worse than what the portfolio is made
//! of.
//!
//! 2,000 graphs by default; `SITU_SOAK=100000` says how many (`make soak`). `SITU_SOAK_FROM` says where to
//! begin.

use crate::graphs::random;
use situ_place::algorithms::names;
use situ_place::{
    Answer, Budget, GraphFile, PlaceError, Placement, Problem, check, lower_bound, place, placer,
};
use std::path::Path;
use std::process::Command;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Small and large, loose and tight.
fn graph(seed: u64) -> GraphFile {
    let most = [6, 12, 25, 40, 80][(seed % 5) as usize];
    let tight = [0.0, 0.5, 0.9][(seed / 5 % 3) as usize];
    random(seed + 1_000_000, most, tight)
}

fn problem_of(file: &GraphFile) -> Problem {
    let (graph, machine) = file.clone().split();
    Problem::new(&graph, &machine).unwrap()
}

/// An answer that the checker accepts, or none for want of memory.
fn checked(name: &str, seed: u64, file: &GraphFile, problem: &Problem) -> Option<Placement> {
    let budget = Budget::moves(150).seed(seed);
    match placer(name).unwrap().place(problem, &budget) {
        Ok(placement) => {
            if let Err(error) = check(file, &Answer::new(problem, &placement)) {
                panic!("seed {seed}, {name}: {error}");
            }
            assert_eq!(placement.reasons.len(), problem.node_count(), "seed {seed}, {name}");
            assert!(placement.lower_bound <= placement.makespan, "seed {seed}, {name}");
            Some(placement)
        }
        Err(PlaceError::Memory(short)) => {
            assert!(short.missing() > 0.0, "seed {seed}, {name}: {short}");
            assert!(!short.devices.is_empty(), "seed {seed}, {name}: {short}");
            None
        }
        // An algorithm may have no answer where another has one.
        Err(PlaceError::Algorithm { .. }) if name != "auto" => None,
        Err(error) => panic!("seed {seed}, {name}: {error}"),
    }
}

#[test]
fn no_answer_breaks_a_rule_and_the_portfolio_is_never_worse_than_its_parts() {
    let (from, count) = (number("SITU_SOAK_FROM", 0), number("SITU_SOAK", 2000));
    let mut answered = 0;
    for seed in from..from + count {
        let file = graph(seed);
        let problem = problem_of(&file);
        let auto = checked("auto", seed, &file, &problem);
        answered += u64::from(auto.is_some());
        // An answer's bound is never above its own makespan; the bound of a longer one, or of none, might be.
        let longer = [1.02, 1.3, f64::INFINITY][(seed / 7 % 3) as usize];
        let known = auto.as_ref().map_or(f64::INFINITY, |a| a.makespan * longer);
        let bound = lower_bound(&problem, known);
        for name in names().filter(|&name| name != "auto" && name != "rules") {
            let Some(part) = checked(name, seed, &file, &problem) else { continue };
            let Some(auto) = &auto else { panic!("seed {seed}: {name} has an answer, auto has none") };
            let allowed = part.makespan * (1.0 + 1e-12);
            // What sweep and walk find depends on their luck.
            if name != "sweep" && name != "walk" {
                assert!(auto.makespan <= allowed, "seed {seed}: {name} has {}", part.makespan);
            }
            assert!(
                auto.lower_bound.max(bound) <= allowed,
                "seed {seed}: {name} is below a bound of {bound} with {}",
                part.makespan
            );
        }
        if (seed + 1) % 10_000 == 0 {
            println!("{} graphs", seed + 1 - from);
        }
    }
    assert!(answered * 10 > count * 8, "only {answered} of {count} had an answer");
}

#[test]
fn the_independent_program_accepts_a_sample_of_answers() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/check_placement.py");
    let python = Command::new("python3").arg("--version").output().is_ok();
    if !tool.exists() || !python {
        println!("skipped: no python3, or no {}", tool.display());
        return;
    }
    let folder = std::env::temp_dir().join(format!("situ-place-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (graph_file, answer_file) = (folder.join("graph.json"), folder.join("answer.json"));
    let mut checked = 0;
    for seed in 0..24 {
        let file = graph(seed * 37);
        let problem = problem_of(&file);
        let Ok(placement) = place("auto", &problem, &Budget::moves(500).seed(seed)) else { continue };
        std::fs::write(&graph_file, file.to_json().unwrap()).unwrap();
        std::fs::write(&answer_file, Answer::new(&problem, &placement).to_json().unwrap()).unwrap();
        let output = Command::new("python3").arg(&tool).args([&graph_file, &answer_file]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "seed {seed}: {said} {}", String::from_utf8_lossy(&output.stderr));
        checked += 1;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(checked > 15, "only {checked} answers");
}
