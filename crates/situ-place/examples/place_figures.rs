//! Generated task graphs placed by every algorithm: `place_figures [--seconds S | --moves N] [--only TEXT]
//! [--write DIR]`.
//!
//! Prints, for each graph, what each constructive algorithm reaches, what the portfolio reaches, and the
//! bound.

#[path = "../tests/workloads/mod.rs"]
mod workloads;

use situ_place::{Budget, GraphFile, Problem, place};
use std::time::Instant;
use workloads::layered::layered;
use workloads::tiled::{Copies, Kind, factorisation};
use workloads::transformer::{Shape, transformer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut budget = Budget::seconds(1.0);
    let mut only = String::new();
    let mut write: Option<String> = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--seconds" => budget = Budget::seconds(value.parse()?),
            "--moves" => budget = Budget::moves(value.parse()?),
            "--seed" => budget = budget.seed(value.parse()?),
            "--only" => only = value,
            "--write" => write = Some(value),
            _ => return Err(format!("there is no option {arg}").into()),
        }
    }
    println!(
        "{:30} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7} {:>9} {:>8}",
        "graph",
        "nodes",
        "heft",
        "peft",
        "etf",
        "hoft",
        "affinity",
        "blocks",
        "auto",
        "bound",
        "gain%",
        "gap%",
        "moves",
        "seconds"
    );
    for (name, file) in graphs().into_iter().filter(|(name, _)| name.contains(&only)) {
        let (graph, machine) = file().split();
        let problem = Problem::new(&graph, &machine)?;
        if let Some(dir) = &write {
            std::fs::write(format!("{dir}/{name}.json"), problem.to_file().to_json()?)?;
        }
        print!("{name:30} {:6}", problem.node_count());
        let mut best = f64::INFINITY;
        for algorithm in ["heft", "peft", "etf", "hoft", "affinity", "blocks"] {
            let made = place(algorithm, &problem, &Budget::default()).map_or(f64::INFINITY, |p| p.makespan);
            best = best.min(made);
            print!(" {:10.3}", made * 1e3);
        }
        let begun = Instant::now();
        let auto = place("auto", &problem, &budget)?;
        println!(
            " {:10.3} {:10.3} {:7.2} {:7.2} {:9} {:8.2}",
            auto.makespan * 1e3,
            auto.lower_bound * 1e3,
            (1.0 - auto.makespan / best) * 100.0,
            auto.gap() * 100.0,
            auto.moves,
            begun.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

type Make = Box<dyn Fn() -> GraphFile>;

fn graphs() -> Vec<(String, Make)> {
    let mut list: Vec<(String, Make)> = Vec::new();
    for (cores, gpus) in [(7, 1), (28, 4)] {
        for (kind, sizes) in [
            (Kind::Cholesky, &[5, 8, 12, 20, 30, 40][..]),
            (Kind::Lu, &[5, 10, 20, 30]),
            (Kind::Qr, &[5, 10, 20, 30]),
        ] {
            for &size in sizes {
                for copies in [Copies::Free, Copies::Links, Copies::Priced, Copies::Small] {
                    let name = format!("{kind:?}-{size}-{cores}+{gpus}-{copies:?}").to_lowercase();
                    list.push((name, Box::new(move || factorisation(kind, size, cores, gpus, copies))));
                }
            }
        }
    }
    let plain = Shape { layers: 12, heads: 4, batches: 1, training: false, memory: None, bandwidth: 25e9 };
    let shapes = [
        ("plain", plain),
        ("fast-links", Shape { bandwidth: 300e9, ..plain }),
        ("tight", Shape { memory: Some(800e6), ..plain }),
        ("batches", Shape { batches: 4, memory: Some(1.5e9), ..plain }),
        ("training", Shape { batches: 4, training: true, memory: Some(8e9), ..plain }),
        ("large", Shape { layers: 24, heads: 8, batches: 4, training: true, ..plain }),
    ];
    for count in [4, 8] {
        for (label, shape) in shapes {
            let name = format!("transformer-{label}-{count}");
            list.push((name, Box::new(move || transformer(shape, count))));
        }
    }
    list.push(("layered-10000".to_owned(), Box::new(|| layered(10_000, 1))));
    list
}
