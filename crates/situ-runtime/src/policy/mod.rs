//! Where something may be, and why: the one place that decides it, for eager ops, the ops of functions and
//! host data.
//!
//! Pure: from a request, the configuration and what each device can do to candidates with a reason, or to the
//! error that says why there are none. No device is opened here, no lock taken, nothing weighed. What a
//! device can do is asked of [`Facts`], and only where the answer matters: asking may open a GPU that nobody
//! needs. Who weighs candidates: `choose.rs` eagerly, `situ-place` in functions.
//!
//! The rules are the table in ARCHITECTURE.md, under "The placement policy". A test runs every row of it.

mod lacking;
mod report;
#[cfg(test)]
mod walk;

pub(crate) use lacking::Lacking;
pub(crate) use report::{Moment, copy, report};

use crate::config::{Config, PlacementRule};
use situ_core::{DType, DeviceId, DeviceKind, Error, Policy, Reason, Request, Result};
use smallvec::SmallVec;

/// The devices in sight, and what they can do for one thing that is to be placed.
pub(crate) trait Facts {
    /// With what a device does it: a kernel for an op, nothing for data.
    type Means;

    /// How many devices there are.
    fn count(&self) -> usize;

    /// The name of a device, by its position.
    fn id(&self, device: usize) -> DeviceId;

    /// What is placed: the op's name, or `constant`.
    fn what(&self) -> &'static str;

    /// The dtype for which it needs a kernel.
    fn dtype(&self) -> DType;

    /// Whether a device can do it, or what it lacks. May open the device.
    fn able(&self, device: usize) -> std::result::Result<Self::Means, Lacking>;

    /// Whether what others lack goes there first.
    fn is_last_resort(&self, device: usize) -> bool;

    /// What a device that does not answer says of itself.
    fn failure(&self, device: usize) -> Option<Error>;
}

/// Where something stays that no scope is around.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Home {
    pub(crate) device: DeviceId,
    /// With what it stays there: `its largest input`.
    pub(crate) with: &'static str,
}

/// What is asked, by the scopes and by the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacementQuery<'a> {
    pub(crate) request: &'a Request,
    pub(crate) rule: PlacementRule,
    /// The policy of the scope, or else of the configuration.
    pub(crate) fallback: Policy,
    /// Where it stays without a scope, if that is settled: host data with the host, an op under `Manual` with
    /// its largest input.
    pub(crate) home: Option<Home>,
    /// Whether the first that can will do: then the devices behind it are not asked.
    pub(crate) first: bool,
    /// Devices that were tried and had no memory.
    pub(crate) full: &'a [DeviceId],
}

impl<'a> PlacementQuery<'a> {
    pub(crate) fn new(request: &'a Request, config: &Config) -> PlacementQuery<'a> {
        PlacementQuery {
            request,
            rule: config.rule,
            fallback: request.fallback.unwrap_or(config.fallback),
            home: None,
            first: false,
            full: &[],
        }
    }

    /// Whether nothing is weighed: no scope is around and it has a home.
    fn stays(&self) -> Option<Home> {
        self.home.filter(|_| self.rule != PlacementRule::PreferGpu)
    }
}

/// The devices that may have it.
#[derive(Clone, Debug)]
pub(crate) struct Found<M> {
    /// By position, in the order in which they come first; never empty.
    pub(crate) devices: SmallVec<[(usize, M); 4]>,
    /// Why these; `None`: several can, and costs decide.
    pub(crate) reason: Option<Reason>,
}

/// The candidates of something that is to be placed.
pub(crate) fn decide<F: Facts>(ask: &PlacementQuery<'_>, facts: &F) -> Result<Found<F::Means>> {
    let spec = &ask.request.spec;
    if !spec.is_empty() {
        let kind = check(ask.request, facts)?;
        let absent = Reason::NoSuchDevice { kind, index: spec.index };
        return demanded(ask, facts, kind, absent, |id| id.is_allowed_by(spec));
    }
    let Some(home) = ask.stays() else { return unasked(ask, facts) };
    let DeviceId { kind, index } = home.device;
    let absent = Reason::NoSuchDevice { kind: Some(kind), index: Some(index.into()) };
    let mut found = demanded(ask, facts, Some(kind), absent, |id| id == home.device)?;
    if found.reason == Some(Reason::Requested) {
        found.reason = Some(Reason::Colocated { with: home.with });
    }
    Ok(found)
}

/// The first device that a call such as `to_device` names and that can have it: there is no other for it.
pub(crate) fn by_name<F: Facts>(request: &Request, facts: &F) -> Result<usize> {
    check(request, facts)?;
    let mut lacking = None;
    for device in (0..facts.count()).filter(|&d| facts.id(d).is_allowed_by(&request.spec)) {
        match facts.able(device) {
            Ok(_) => return Ok(device),
            Err(lacks) => lacking = lacking.or(Some((device, lacks))),
        }
    }
    Err(match lacking {
        Some((device, lacks)) => lacks.error(facts, device, Vec::new()),
        None => no_such_device(request, facts),
    })
}

/// The candidates that are left when devices were tried and had no memory; `None` where they were asked for,
/// or nobody else can.
pub(crate) fn after_full<F: Facts>(ask: &PlacementQuery<'_>, facts: &F) -> Option<Found<F::Means>> {
    let full = *ask.full.first()?;
    if !ask.request.spec.is_empty() || ask.rule == PlacementRule::Manual {
        return None;
    }
    let found = unasked(ask, facts).ok()?;
    Some(Found { reason: Some(Reason::MemoryLimit { full }), ..found })
}

/// The type of device that a request names; an error where it can mean none of this process, whatever the
/// policy.
pub(crate) fn check(request: &Request, facts: &impl Facts) -> Result<Option<DeviceKind>> {
    let spec = &request.spec;
    let is_local = spec.job.as_ref().is_none_or(|job| job.as_str() == "localhost")
        && spec.replica.is_none_or(|r| r == 0)
        && spec.task.is_none_or(|t| t == 0);
    match &spec.kind {
        // Another process's device can't be replaced by one of ours: what it holds is not here.
        _ if !is_local => Err(no_such_device(request, facts)),
        Some(named) => DeviceKind::of_type(named).map(Some).ok_or_else(|| no_such_device(request, facts)),
        None => Ok(None),
    }
}

/// The positions of the devices in the order in which they come first.
fn in_order<F: Facts>(ask: &PlacementQuery<'_>, facts: &F) -> impl Iterator<Item = usize> {
    let gpus_first = ask.rule == PlacementRule::PreferGpu;
    let comes_first = move |d: usize| !gpus_first || facts.id(d).kind == DeviceKind::Gpu;
    [true, false]
        .into_iter()
        .flat_map(move |first| (0..facts.count()).filter(move |&d| comes_first(d) == first))
}

/// Devices that were asked for, or the fallback.
fn demanded<F: Facts>(
    ask: &PlacementQuery<'_>,
    facts: &F,
    kind: Option<DeviceKind>,
    absent: Reason,
    named: impl Fn(DeviceId) -> bool,
) -> Result<Found<F::Means>> {
    let mut devices = SmallVec::new();
    let mut wanted: Option<(usize, Lacking)> = None;
    for device in in_order(ask, facts).filter(|&d| named(facts.id(d))) {
        match facts.able(device) {
            Ok(means) => {
                devices.push((device, means));
                if ask.first {
                    break;
                }
            }
            Err(lacks) => wanted = wanted.or(Some((device, lacks))),
        }
    }
    if !devices.is_empty() {
        return Ok(Found { devices, reason: Some(Reason::Requested) });
    }
    if ask.fallback == Policy::Forbid {
        let Some((device, lacks)) = wanted else { return Err(no_such_device(ask.request, facts)) };
        let able = (0..facts.count()).filter(|&d| facts.able(d).is_ok()).map(|d| facts.id(d));
        return Err(lacks.error(facts, device, able.collect()));
    }
    let reason = wanted.map_or(absent, |(device, lacks)| lacks.reason(facts, device));
    // The same type first, then a CPU or whatever else is there for that, then whoever can.
    let rank = |device: usize| match device {
        device if Some(facts.id(device).kind) == kind => 0,
        device if facts.is_last_resort(device) => 1,
        _ => 2,
    };
    let others = |place| (0..facts.count()).filter(move |&d| rank(d) == place);
    for device in (0..3).flat_map(others).filter(|&d| !named(facts.id(d))) {
        if let Ok(means) = facts.able(device) {
            return Ok(Found { devices: smallvec::smallvec![(device, means)], reason: Some(reason) });
        }
    }
    Err(lacking::nobody(facts))
}

/// Devices for what nobody asked anything of.
fn unasked<F: Facts>(ask: &PlacementQuery<'_>, facts: &F) -> Result<Found<F::Means>> {
    let mut devices: SmallVec<[(usize, F::Means); 4]> = SmallVec::new();
    let mut left_out: Option<(usize, Lacking)> = None;
    for device in in_order(ask, facts).filter(|&d| !ask.full.contains(&facts.id(d))) {
        match facts.able(device) {
            Ok(means) => {
                devices.push((device, means));
                if ask.first {
                    break;
                }
            }
            Err(lacks @ Lacking::Size(_)) => left_out = left_out.or(Some((device, lacks))),
            Err(_) => {}
        }
    }
    let Some(&(foremost, _)) = devices.first() else { return Err(lacking::nobody(facts)) };
    let kind = |device: usize| facts.id(device).kind;
    // Where a device of its type is left, size decided nothing.
    let too_large = left_out.filter(|(out, _)| devices.iter().all(|(d, _)| kind(*d) != kind(*out)));
    let by_rule = ask.rule == PlacementRule::PreferGpu && ask.first && kind(foremost) == DeviceKind::Gpu;
    let reason = match (too_large, ask.home) {
        (Some((device, lacks)), _) => Some(lacks.reason(facts, device)),
        _ if by_rule => Some(Reason::PreferGpu),
        (None, Some(home)) => Some(Reason::Colocated { with: home.with }),
        (None, None) if devices.len() == 1 => Some(Reason::OnlyDevice),
        (None, None) => None,
    };
    Ok(Found { devices, reason })
}

#[cold]
pub(crate) fn no_such_device(request: &Request, facts: &impl Facts) -> Error {
    let available = (0..facts.count()).map(|d| facts.id(d)).collect();
    Error::no_such_device(request.spec.to_string(), available)
}
