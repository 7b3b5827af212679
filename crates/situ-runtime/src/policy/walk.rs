//! Every row of the table in ARCHITECTURE.md, decided as it stands there.

use super::{Facts, Found, Home, Lacking, Moment, PlacementQuery, after_full, by_name, copy, decide, report};
use crate::config::PlacementRule;
use situ_core::reason::Excess;
use situ_core::{DType, DeviceId, DeviceKind, Error, Policy, Reason, Request, Result, Rule};
use situ_testkit::policy_table::{Row, State, rows};
use std::collections::BTreeSet;

const EXCESS: Excess = Excess::new("bytes in one tensor", 2, 1);

/// The devices of a row.
struct Sketch<'r>(&'r Row);

impl Facts for Sketch<'_> {
    type Means = ();

    fn count(&self) -> usize {
        self.0.devices.len()
    }

    fn id(&self, device: usize) -> DeviceId {
        self.0.devices[device].0
    }

    fn what(&self) -> &'static str {
        "erf"
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn able(&self, device: usize) -> Result<(), Lacking> {
        match self.0.devices[device].1 {
            State::Can | State::Full => Ok(()),
            State::Lost => Err(Lacking::Lost),
            State::Unopened => Err(Lacking::Unopened),
            State::NoKernel => Err(Lacking::Kernel),
            State::TooSmall => Err(Lacking::Size(EXCESS)),
            State::Unasked => panic!("{}: {} was asked", self.0.rule, self.0.devices[device].0),
        }
    }

    fn is_last_resort(&self, device: usize) -> bool {
        self.id(device).kind == DeviceKind::Cpu
    }

    fn failure(&self, device: usize) -> Option<Error> {
        let (id, state) = self.0.devices[device];
        match state {
            State::Lost => Some(Error::DeviceLost { device: id, why: "unplugged".to_string() }),
            State::Unopened => Some(Error::config("open it", "its driver refuses", "look at the driver")),
            _ => None,
        }
    }
}

/// The candidates, and why; what an eager op, a function and data do with the answer is done here, too: where
/// one is full that was chosen, the next is asked for.
fn decided(row: &Row, of: &str, ask: PlacementQuery<'_>) -> Result<(Vec<DeviceId>, Option<Reason>)> {
    let facts = Sketch(row);
    let ids = |found: &Found<()>| found.devices.iter().map(|(d, ())| facts.id(*d)).collect::<Vec<_>>();
    if of == "move" {
        return Ok((vec![facts.id(by_name(ask.request, &facts)?)], Some(Reason::Requested)));
    }
    let found = decide(&ask, &facts)?;
    let full: Vec<DeviceId> = row.devices.iter().filter(|d| d.1 == State::Full).map(|d| d.0).collect();
    if !ids(&found).iter().any(|id| full.contains(id)) {
        return Ok((ids(&found), found.reason));
    }
    let next = after_full(&PlacementQuery { full: &full, ..ask }, &facts);
    let next = next.ok_or(Error::OutOfMemory(Box::default()))?;
    Ok((ids(&next), next.reason))
}

/// A reason as the table has it.
fn in_words(outcome: &Result<(Vec<DeviceId>, Option<Reason>)>) -> String {
    match outcome {
        Ok((_, None)) => "by cost".to_string(),
        Ok((_, Some(reason))) => match reason.wanted() {
            Some(wanted) => format!("{} {wanted}", reason.rule()),
            None => reason.rule().to_string(),
        },
        Err(error) => format!(
            "error {}",
            match error {
                Error::NoSuchDevice(_) => "NoSuchDevice",
                Error::DeviceLost { .. } => "DeviceLost",
                Error::Config(_) => "Config",
                Error::NoKernel(_) => "NoKernel",
                Error::TooLarge(_) => "TooLarge",
                Error::OutOfMemory(_) => "OutOfMemory",
                other => panic!("the policy gives no such error: {other}"),
            }
        ),
    }
}

#[test]
fn every_row_of_the_table_is_decided_as_it_says() -> Result<()> {
    let mut seen = BTreeSet::new();
    for row in rows() {
        let request = Request { spec: row.scope.parse()?, ..Request::default() };
        for (of, placement) in row.of.iter().flat_map(|of| row.placement.iter().map(move |p| (of, p))) {
            for &fallback in &row.fallback {
                let at = format!("{}, {of}, {placement}, {fallback}", row.rule);
                let rule = match placement.as_str() {
                    "Auto" => PlacementRule::Auto,
                    "PreferGpu" => PlacementRule::PreferGpu,
                    "Manual" => PlacementRule::Manual,
                    other => panic!("there is no rule {other}"),
                };
                // As eager.rs, candidates.rs and constant.rs ask.
                let (home, first) = match of.as_str() {
                    "data" => (Some(Home { device: DeviceId::CPU0, with: "the host's data" }), true),
                    "eager" => (row.home.map(stays), rule == PlacementRule::PreferGpu),
                    _ => (row.home.map(stays), false),
                };
                let ask = PlacementQuery { request: &request, rule, fallback, home, first, full: &[] };
                let outcome = decided(&row, of, ask);
                assert_eq!(in_words(&outcome), row.reason, "{at}");
                let Ok((candidates, reason)) = outcome else {
                    assert!(row.candidates.is_empty() && !row.booked, "{at}");
                    continue;
                };
                assert_eq!(candidates, row.candidates, "{at}");
                let moment = if of == "function" { Moment::Planned } else { Moment::Tried };
                let known =
                    reason.map(|reason| report(&reason, &request, fallback, moment)).unwrap_or_default();
                assert_eq!(
                    (known.booked, known.said),
                    (row.booked, row.booked && fallback == Policy::Warn),
                    "{at}"
                );
                seen.extend(reason.map(|reason| reason.rule()));
            }
        }
    }
    // What costs decide is not decided here, and a trace and a view have no say; every other rule has a row.
    let elsewhere = [Rule::Faster, Rule::CheaperThanMoving, Rule::Balanced, Rule::Undecided, Rule::View];
    let here = Rule::ALL.into_iter().filter(|rule| !elsewhere.contains(rule));
    assert_eq!(seen, here.collect(), "each rule of the policy has a row");
    Ok(())
}

fn stays(device: DeviceId) -> Home {
    Home { device, with: "its largest input" }
}

#[test]
fn a_copy_is_made_said_or_forbidden() {
    let forbidden = || Error::copy_forbidden("add", 0, DeviceId::CPU0, DeviceId::gpu(0), 4);
    assert!(matches!(copy(Policy::Allow, forbidden), Ok(false)));
    assert!(matches!(copy(Policy::Warn, forbidden), Ok(true)));
    assert!(matches!(copy(Policy::Forbid, forbidden), Err(Error::CopyForbidden(_))));
}
