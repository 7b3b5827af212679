//! The rules of placement as ARCHITECTURE.md has them: a table of examples, which tests run as it stands.

use situ_core::{DeviceId, Policy};

const DOCUMENT: &str = include_str!("../../../ARCHITECTURE.md");
const HEADER: &str =
    "| rule | of | scope | placement | fallback | devices | candidates | reason | reported |";

/// What a device of a row is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It can have what is placed.
    Can,
    /// It was opened, and is lost.
    Lost,
    /// It can't be opened.
    Unopened,
    /// It lacks the kernel, or the dtype.
    NoKernel,
    /// It can't do operands of that size.
    TooSmall,
    /// It has no memory left.
    Full,
    /// Nobody may ask it.
    Unasked,
}

/// One rule, by example.
#[derive(Clone, Debug)]
pub struct Row {
    /// The rule in words.
    pub rule: String,
    /// What it is of: `eager`, `function`, `data`, `move`.
    pub of: Vec<String>,
    /// The scope around it; empty: none.
    pub scope: String,
    /// Where its largest input is, if that matters.
    pub home: Option<DeviceId>,
    /// The rules of placement under which it holds: `Auto`, `PreferGpu`, `Manual`.
    pub placement: Vec<String>,
    /// The fallback policies under which it holds.
    pub fallback: Vec<Policy>,
    /// The devices in sight, and the state of each.
    pub devices: Vec<(DeviceId, State)>,
    /// Those that may have it, in their order; none where it is an error.
    pub candidates: Vec<DeviceId>,
    /// The rule's short name and the device that was wanted, `by cost`, or `error` and its kind.
    pub reason: String,
    /// Whether it is a fallback in the ledger, and a person is told of it under `Warn`.
    pub booked: bool,
}

/// Every row of the table.
///
/// # Panics
/// Where a row is not in the words of the table: the document is wrong, or this is.
pub fn rows() -> Vec<Row> {
    let (_, table) =
        DOCUMENT.split_once(HEADER).expect("ARCHITECTURE.md has the table of the placement policy");
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| row(line).unwrap_or_else(|| panic!("not in the words of the table: {line}"))).collect()
}

fn list(cell: &str, any: &[&str]) -> Vec<String> {
    let words = cell.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.flat_map(|word| if word == "any" { any.to_vec() } else { vec![word] }).map(str::to_string).collect()
}

fn device(text: &str) -> Option<DeviceId> {
    let all = (0..8).flat_map(|n| [DeviceId::cpu(n), DeviceId::gpu(n)]);
    all.into_iter().find(|id| id.to_string() == text)
}

fn state(text: &str) -> Option<State> {
    Some(match text {
        "can" => State::Can,
        "lost" => State::Lost,
        "unopened" => State::Unopened,
        "no kernel" => State::NoKernel,
        "too small" => State::TooSmall,
        "full" => State::Full,
        "unasked" => State::Unasked,
        _ => return None,
    })
}

fn policy(text: &str) -> Option<Policy> {
    [Policy::Allow, Policy::Warn, Policy::Forbid].into_iter().find(|p| format!("{p:?}") == text)
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [rule, of, scope, placement, fallback, devices, candidates, reason, reported] = cells[..] else {
        return None;
    };
    let (scope, home) = match scope.strip_prefix('-') {
        Some("") => ("", None),
        Some(home) => ("", Some(device(home.trim().trim_matches(['(', ')']))?)),
        None => (scope.trim_matches('`'), None),
    };
    let pair = |text: &str| {
        let (name, is) = text.trim().split_once(' ')?;
        Some((device(name)?, state(is)?))
    };
    Some(Row {
        rule: rule.to_string(),
        of: list(of, &["eager", "function", "data"]),
        scope: scope.to_string(),
        home,
        placement: list(placement, &["Auto", "PreferGpu", "Manual"]),
        fallback: list(fallback, &["Allow", "Warn", "Forbid"])
            .iter()
            .map(|p| policy(p))
            .collect::<Option<_>>()?,
        devices: devices.split(',').map(pair).collect::<Option<_>>()?,
        candidates: list(candidates, &[]).iter().map(|id| device(id)).collect::<Option<_>>()?,
        reason: reason.to_string(),
        booked: match reported {
            "booked, said" => true,
            "" => false,
            _ => return None,
        },
    })
}
