//! Small graphs in a line of text, placed by rule.
//!
//! Nodes are separated by `;`, each `name:kernels`, then in any order `@request`, `=group`, `<input`,
//! `<*input` (an input by reference or resource: on the same device) and `+node` (on the same device as).
//! Kernels are letters for C(PU), G(PU) and X (a third type), each with its seconds if they matter: `C1G2`.

use situ_place::{Budget, Device, PlaceError, ProblemBuilder, Requests, place as place_by};
use std::collections::BTreeMap;

/// Where everything went, or why not.
#[derive(Debug)]
pub(crate) enum Outcome {
    Placed(Placed),
    Refused { kind: &'static str, text: String },
}

/// Node → device name.
#[derive(Debug)]
pub(crate) struct Placed(BTreeMap<String, String>);

impl Placed {
    /// `a=C` (any CPU), `a=G:0` (that one), or `a=b` (with another node).
    pub(crate) fn agrees(&self, word: &str) -> bool {
        let (node, wanted) = word.split_once('=').unwrap();
        let device = self.0.get(node).unwrap_or_else(|| panic!("no node {node}"));
        if let Some(other) = self.0.get(wanted) {
            return device == other;
        }
        let name = device.rsplit("device:").next().unwrap();
        match wanted.split_once(':') {
            Some((letter, index)) => name == format!("{}:{index}", type_of(letter)),
            None => name.split(':').next() == Some(type_of(wanted)),
        }
    }
}

fn type_of(letter: &str) -> &'static str {
    match letter {
        "C" => "CPU",
        "G" => "GPU",
        "X" => "XPU",
        _ => panic!("no device type {letter}"),
    }
}

/// Ten CPUs, ten GPUs and one of a third type, unless they are named.
fn devices(names: &str) -> Vec<Device> {
    if names == "none" {
        return Vec::new();
    }
    let mut list: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    if list.is_empty() {
        list = (0..10).flat_map(|i| [format!("CPU:{i}"), format!("GPU:{i}")]).collect();
        list.sort();
        list.push("XPU:0".to_owned());
    }
    let kind = |name: &str| name.rsplit("device:").next().unwrap().split(':').next().unwrap().to_lowercase();
    list.into_iter().map(|name| Device { kind: Some(kind(&name)), ..Device::new(name) }).collect()
}

struct Parsed {
    name: String,
    kernels: Vec<(&'static str, f64)>,
    words: Vec<String>,
}

fn parse(text: &str) -> Parsed {
    let mut words = text.split_whitespace().map(str::to_owned);
    let (name, kernels) =
        words.next().unwrap().split_once(':').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let mut list: Vec<(&'static str, f64)> = Vec::new();
    for letter in kernels.chars() {
        match letter.to_digit(10) {
            Some(digit) => list.last_mut().unwrap().1 = f64::from(digit),
            None => list.push((type_of(&letter.to_string()), 1.0)),
        }
    }
    Parsed { name, kernels: list, words: words.collect() }
}

pub(crate) fn place(names: &str, text: &str, requests: Requests, algorithm: &str) -> Outcome {
    let devices = devices(names);
    let mut b = ProblemBuilder::new();
    b.requests(requests);
    devices.iter().for_each(|d| {
        b.device(d.clone());
    });
    for from in 0..devices.len() {
        for to in (0..devices.len()).filter(|&to| to != from) {
            b.link(from, to, 0.0, 1e9, None);
        }
    }
    let nodes: Vec<Parsed> = text.split(';').filter(|t| !t.trim().is_empty()).map(parse).collect();
    let mut numbers = BTreeMap::new();
    for node in &nodes {
        let number = b.node(node.name.clone(), 0.0);
        numbers.insert(node.name.clone(), number);
        for (i, device) in devices.iter().enumerate() {
            let kind = device.kind().to_uppercase();
            if let Some(kernel) = node.kernels.iter().find(|k| k.0 == kind) {
                b.cost(number, i, kernel.1);
            }
        }
    }
    for node in &nodes {
        let number = numbers[&node.name];
        for word in &node.words {
            let (mark, rest) = word.split_at(1);
            match (mark, rest.strip_prefix('*')) {
                ("@", _) => b.request(number, rest),
                ("=", _) => b.colocate(number, rest),
                ("+", _) => b.together(number, numbers[rest]),
                ("<", None) => b.edge(numbers[rest], number),
                ("<", Some(input)) => {
                    b.edge(numbers[input], number);
                    b.together(number, numbers[input]);
                }
                _ => panic!("{word}"),
            }
        }
    }
    let problem = match b.build() {
        Ok(problem) => problem,
        Err(error) => return Outcome::Refused { kind: "file", text: error.to_string() },
    };
    match place_by(algorithm, &problem, &Budget::moves(200)) {
        Ok(placement) => {
            assert_eq!(placement.reasons.len(), nodes.len());
            let device = |n: usize| problem.device(placement.devices[n]).name.clone();
            Outcome::Placed(Placed(numbers.iter().map(|(name, &n)| (name.clone(), device(n))).collect()))
        }
        Err(error) => {
            let kind = match error {
                PlaceError::NoKernel { .. } => "kernel",
                PlaceError::Request { .. } => "request",
                PlaceError::Colocation { .. } => "colocation",
                PlaceError::NoRoute { .. } => "route",
                PlaceError::Memory(_) => "memory",
                PlaceError::Time { .. } => "time",
                PlaceError::Algorithm { .. } => "algorithm",
                _ => "another",
            };
            Outcome::Refused { kind, text: error.to_string() }
        }
    }
}
