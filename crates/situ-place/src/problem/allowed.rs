//! Which devices each colocation group may run on: where all its members can, and where their requests say.

use super::{NodeRow, Requests, Unit};
use crate::error::{NodeName, PlaceError};
use crate::machine::Device;
use situ_core::{DeviceKind, DeviceSpec, DeviceType};

/// A request that had to give way (only under [`Requests::Soft`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relaxed {
    /// What was asked for.
    pub asked: String,
    /// The first device of that name, if there is one: then it can't run the node, or the group.
    pub wanted: Option<u16>,
    /// The kind that was asked for, if it is one that runtimes have.
    pub kind: Option<DeviceKind>,
    /// The index that was asked for.
    pub index: Option<u32>,
}

pub(super) struct Facts<'a> {
    pub devices: &'a [Device],
    pub kinds: &'a [String],
    pub nodes: &'a [NodeRow],
    pub costs: &'a [f64],
    /// Per node, its request as parsed.
    pub specs: &'a [Option<DeviceSpec>],
    pub requests: Requests,
}

/// What a device's own name says, for requests to match; none for a name outside the grammar.
pub(super) fn device_spec(device: &Device) -> Option<DeviceSpec> {
    device.name.parse().ok().or_else(|| custom(&device.name))
}

/// A type that stands alone, without `device:` before it, as files may write it: `tpu:0`.
fn custom(text: &str) -> Option<DeviceSpec> {
    format!("/device:{}", text.trim_start_matches('/')).parse().ok()
}

/// Reads a request. A bare custom type is understood where there are such devices, so that a misspelt
/// `/GPUU:0` stays an error.
pub(super) fn parse(text: &str, devices: &[Option<DeviceSpec>]) -> Result<DeviceSpec, situ_core::SpecError> {
    text.parse().or_else(|error| {
        let is_there = |spec: &DeviceSpec| devices.iter().flatten().any(|d| same_type(&spec.kind, &d.kind));
        custom(text).filter(is_there).ok_or(error)
    })
}

fn same_type(a: &Option<DeviceType>, b: &Option<DeviceType>) -> bool {
    match (a, b) {
        (None, _) => true,
        (Some(a), Some(b)) => a.as_str().eq_ignore_ascii_case(b.as_str()),
        (Some(_), None) => false,
    }
}

fn matches(asked: &DeviceSpec, device: &DeviceSpec) -> bool {
    fn field<T: PartialEq>(asked: &Option<T>, has: &Option<T>) -> bool {
        asked.is_none() || asked == has
    }
    field(&asked.job, &device.job)
        && field(&asked.replica, &device.replica)
        && field(&asked.task, &device.task)
        && same_type(&asked.kind, &device.kind)
        && field(&asked.index, &device.index)
}

impl Facts<'_> {
    fn can_run(&self, node: u32) -> Vec<u16> {
        let count = self.devices.len();
        (0..count as u16).filter(|&d| self.costs[node as usize * count + d as usize].is_finite()).collect()
    }

    fn asked(&self, node: u32, specs: &[Option<DeviceSpec>]) -> Option<Vec<u16>> {
        let asked = self.specs[node as usize].as_ref()?;
        let fits = |d: &u16| match &specs[*d as usize] {
            Some(spec) => matches(asked, spec),
            None => asked.is_empty(),
        };
        Some((0..self.devices.len() as u16).filter(fits).collect())
    }

    fn names(&self, devices: &[u16]) -> Vec<String> {
        devices.iter().map(|&d| self.devices[d as usize].name.clone()).collect()
    }

    fn name(&self, node: u32) -> NodeName {
        let row = &self.nodes[node as usize];
        NodeName { id: row.id, name: row.name.clone() }
    }

    /// The devices of one group, or why there are none.
    pub(super) fn resolve(&self, unit: &mut Unit, specs: &[Option<DeviceSpec>]) -> Result<(), PlaceError> {
        let mut runs: Option<Vec<u16>> = None;
        for &node in &unit.members {
            let here = self.can_run(node);
            if here.is_empty() {
                let devices = self.devices.iter().map(|d| d.name.clone()).collect();
                return Err(PlaceError::NoKernel { node: self.name(node), devices });
            }
            let both = match runs.take() {
                None => here.clone(),
                Some(before) => {
                    let both = intersect(&before, &here);
                    if both.is_empty() {
                        return Err(self.clash(unit, node, &before, &here, "can run"));
                    }
                    both
                }
            };
            runs = Some(both);
        }
        let runs = runs.unwrap_or_default();
        unit.allowed = runs.as_slice().into();
        for &node in &unit.members {
            let Some(asked) = self.asked(node, specs) else { continue };
            let narrowed = intersect(&unit.allowed, &asked);
            if !narrowed.is_empty() {
                unit.allowed = narrowed.into();
                continue;
            }
            let text = self.nodes[node as usize].request.clone().unwrap_or_default();
            if self.requests == Requests::Hard {
                if !intersect(&runs, &asked).is_empty() {
                    return Err(self.clash(unit, node, &unit.allowed, &asked, "is asked for"));
                }
                return Err(PlaceError::Request {
                    node: self.name(node),
                    asked: text,
                    can: self.names(&runs),
                });
            }
            let (wanted, spec) = (asked.first().copied(), self.specs[node as usize].as_ref());
            let kind = spec.and_then(|spec| spec.kind.as_ref()).and_then(DeviceKind::of_type);
            let index = spec.and_then(|spec| spec.index);
            if let Some(devices) = self.give_way(node, &unit.allowed, specs) {
                unit.allowed = devices.into();
                unit.relaxed.get_or_insert(Relaxed { asked: text, wanted, kind, index });
            } else {
                return Err(PlaceError::Request {
                    node: self.name(node),
                    asked: text,
                    can: self.names(&runs),
                });
            }
        }
        Ok(())
    }

    /// Where a request that can't be met leads instead: the same type first, then a CPU, then any device. A
    /// job, replica or task is never given up: another process is not a substitute.
    fn give_way(&self, node: u32, among: &[u16], specs: &[Option<DeviceSpec>]) -> Option<Vec<u16>> {
        let asked = self.specs[node as usize].as_ref()?;
        let place = DeviceSpec { kind: None, index: None, ..asked.clone() };
        let there = |d: &u16| match &specs[*d as usize] {
            Some(spec) => matches(&place, spec),
            None => place.is_empty(),
        };
        let among: Vec<u16> = among.iter().copied().filter(there).collect();
        let of_kind = |kind: &str| -> Vec<u16> {
            among.iter().copied().filter(|&d| self.kinds[d as usize].eq_ignore_ascii_case(kind)).collect()
        };
        let same = asked.kind.as_ref().map_or_else(Vec::new, |kind| of_kind(kind.as_str()));
        let cpu = of_kind("cpu");
        [same, cpu, among].into_iter().find(|devices| !devices.is_empty())
    }

    fn clash(&self, unit: &Unit, node: u32, before: &[u16], here: &[u16], verb: &str) -> PlaceError {
        let first = unit.members[0];
        PlaceError::Colocation {
            group: unit.label.clone().unwrap_or_else(|| "of colocated nodes".to_owned()),
            first: self.name(first),
            second: self.name(node),
            why: format!(
                "the group so far {verb} on {}, {} on {}",
                self.names(before).join(", "),
                self.name(node),
                self.names(here).join(", ")
            ),
        }
    }
}

fn intersect(a: &[u16], b: &[u16]) -> Vec<u16> {
    a.iter().copied().filter(|d| b.contains(d)).collect()
}
