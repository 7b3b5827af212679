//! Which device an eager op runs on, and why.
//!
//! The rules, in order: the scope, then the fallback policy where the scope can't be met, then the placement rule
//! (`Auto`, `PreferGpu` or `Manual`). The op's inputs are not moved here; only what moving them would take is counted.

use crate::config::{Config, PlacementRule, Table};
use crate::constant::is_local;
use crate::lacking::{self, Lacking};
use crate::logical::{LogicalDevice, copy_seconds};
use crate::storage::DeviceTensor;
use situ_core::error::NoSuchDevice;
use situ_core::{DeviceId, DeviceKind, DeviceType, Error, Policy, Reason, Request, Result, TensorType};
use situ_device::KernelId;
use situ_ir::{Op, Work};
use smallvec::SmallVec;
use std::sync::Arc;

/// A device, its kernel for the op, and why it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice<'t> {
    pub(crate) device: &'t Arc<LogicalDevice>,
    pub(crate) kernel: KernelId,
    pub(crate) reason: Reason,
    /// What the op is expected to take more than on the device that was asked for; for fallbacks.
    pub(crate) extra_seconds: f64,
}

/// An op about to be placed.
pub(crate) struct Candidate<'a> {
    pub(crate) op: &'a Op,
    pub(crate) inputs: &'a [&'a DeviceTensor],
    pub(crate) input_types: &'a [TensorType],
    pub(crate) output_types: &'a [TensorType],
}

impl Candidate<'_> {
    fn kernel(&self, device: &LogicalDevice) -> std::result::Result<KernelId, Lacking> {
        lacking::kernel(device, self.op, self.input_types, self.output_types)
    }

    /// Why this is not on a device that lacks something for it.
    fn reason(&self, lacking: Lacking, wanted: &LogicalDevice) -> Reason {
        lacking.reason(self.op.name(), self.dtype(), wanted.id())
    }

    fn work(&self) -> Work {
        self.op.work(self.input_types, self.output_types)
    }

    /// Seconds until the op is done on that device: what is queued there, copies in, the op itself.
    fn seconds(&self, device: &LogicalDevice, work: &Work) -> f64 {
        device.backlog() + self.moving(device) + device.seconds(work)
    }

    /// Seconds to copy what is elsewhere.
    fn moving(&self, device: &LogicalDevice) -> f64 {
        let mut seconds = 0.0;
        for input in self.inputs {
            let from = input.logical_device();
            if from.id() != device.id() && input.replica_on(device.id()).is_none() {
                seconds += copy_seconds(from, device, input.tensor_type().bytes());
            }
        }
        seconds
    }

    fn dtype(&self) -> situ_core::DType {
        self.op.kernel_dtype(self.input_types, self.output_types)
    }
}

/// Chooses among the visible devices.
pub(crate) fn choose<'t>(
    table: &'t Table,
    config: &Config,
    request: &Request,
    candidate: &Candidate<'_>,
) -> Result<Choice<'t>> {
    if request.spec.is_empty() && config.rule == PlacementRule::Manual {
        return manual(table, config, request, candidate);
    }
    if request.spec.is_empty() {
        return unscoped(table, config.rule, candidate, |_| true);
    }
    if !is_local(request) {
        // Another process's device can't be replaced by one of ours: what it holds is not here.
        return Err(no_such_device(table, request));
    }
    let matching = table.devices.iter().filter(|d| d.id().is_allowed_by(&request.spec));
    let matching: SmallVec<[&Arc<LogicalDevice>; 4]> = matching.collect();
    match matching.as_slice() {
        [] => fallback(table, config, request, candidate, None),
        [only] => match candidate.kernel(only) {
            Ok(kernel) => Ok(Choice { device: only, kernel, reason: Reason::Requested, extra_seconds: 0.0 }),
            Err(lacking) => fallback(table, config, request, candidate, Some((only, lacking))),
        },
        several => {
            let rule = config.rule;
            match unscoped(table, rule, candidate, |d| several.iter().any(|s| s.id() == d.id())) {
                Ok(choice) => Ok(Choice { reason: Reason::Requested, ..choice }),
                Err(error) => match candidate.kernel(several[0]) {
                    Ok(_) => Err(error),
                    Err(lacking) => fallback(table, config, request, candidate, Some((several[0], lacking))),
                },
            }
        }
    }
}

/// The devices an unscoped op may try when `not` has no memory for it, soonest first.
pub(crate) fn next_after_out_of_memory<'t>(
    table: &'t Table,
    candidate: &Candidate<'_>,
    full: &[DeviceId],
) -> Option<Choice<'t>> {
    let choice = unscoped(table, PlacementRule::Auto, candidate, |d| !full.contains(&d.id())).ok()?;
    Some(Choice { reason: Reason::MemoryLimit { full: full[0] }, ..choice })
}

fn unscoped<'t>(
    table: &'t Table,
    rule: PlacementRule,
    candidate: &Candidate<'_>,
    allowed: impl Fn(&LogicalDevice) -> bool,
) -> Result<Choice<'t>> {
    if let [only] = table.devices.as_slice()
        && allowed(only)
    {
        return match candidate.kernel(only) {
            Ok(kernel) => Ok(Choice { device: only, kernel, reason: Reason::OnlyDevice, extra_seconds: 0.0 }),
            Err(_) => Err(nowhere(table, candidate)),
        };
    }
    match rule {
        PlacementRule::PreferGpu => {
            let with_kernel = |kind: DeviceKind| {
                table
                    .devices
                    .iter()
                    .filter(move |d| d.id().kind == kind)
                    .filter(|d| allowed(d))
                    .find_map(|device| Some((device, candidate.kernel(device).ok()?)))
            };
            if let Some((device, kernel)) = with_kernel(DeviceKind::Gpu) {
                return Ok(Choice { device, kernel, reason: Reason::PreferGpu, extra_seconds: 0.0 });
            }
            match with_kernel(DeviceKind::Cpu) {
                Some((device, kernel)) => {
                    let reason = too_large(table, candidate, allowed).unwrap_or(Reason::OnlyDevice);
                    Ok(Choice { device, kernel, reason, extra_seconds: 0.0 })
                }
                None => Err(nowhere(table, candidate)),
            }
        }
        // A scope that leaves a choice, under `Manual` too, leaves it to `Auto`.
        PlacementRule::Auto | PlacementRule::Manual => auto(table, candidate, allowed),
    }
}

/// As if a scope had named the device on which the largest input is.
fn manual<'t>(
    table: &'t Table,
    config: &Config,
    request: &Request,
    candidate: &Candidate<'_>,
) -> Result<Choice<'t>> {
    // Of equals the first.
    let largest = candidate.inputs.iter().rev().max_by_key(|input| input.tensor_type().bytes());
    let home = largest.map_or(DeviceId::CPU0, |input| input.logical_device().id());
    let named = Request { spec: home.spec(), ..request.clone() };
    let choice = choose(table, config, &named, candidate)?;
    let reason = match choice.reason {
        Reason::Requested => Reason::Colocated { with: "its largest input" },
        other => other,
    };
    Ok(Choice { reason, ..choice })
}

fn auto<'t>(
    table: &'t Table,
    candidate: &Candidate<'_>,
    allowed: impl Fn(&LogicalDevice) -> bool,
) -> Result<Choice<'t>> {
    let work = candidate.work();
    // Most eager ops are small and their inputs are on one device. If that device is done before any other could
    // even begin, nothing needs to be asked of the others (and a GPU nobody needs is never opened).
    if let Some(home) = candidate.inputs.first().map(|t| t.logical_device().id()).or(Some(DeviceId::CPU0))
        && let Some(device) = table.find(home).filter(|d| allowed(d))
        && candidate.inputs.iter().all(|t| t.logical_device().id() == home)
    {
        let here = candidate.seconds(device, &work);
        let mut other: Option<(&LogicalDevice, f64)> = None;
        for d in table.devices.iter().filter(|d| d.id() != home && allowed(d)) {
            let begins = d.costs().line(work.class).launch + candidate.moving(d);
            if other.is_none_or(|(_, least)| begins < least) {
                other = Some((d, begins));
            }
        }
        if other.is_none_or(|(_, begins)| here <= begins)
            && let Ok(kernel) = candidate.kernel(device)
        {
            let reason = match other {
                Some((than, begins)) => {
                    let there = than.seconds(&work);
                    let saves = begins - than.costs().line(work.class).launch + there - here;
                    if there < device.seconds(&work) {
                        Reason::CheaperThanMoving { to: than.id(), saves }
                    } else {
                        Reason::Faster { than: than.id(), saves }
                    }
                }
                None => Reason::OnlyDevice,
            };
            return Ok(Choice { device, kernel, reason, extra_seconds: 0.0 });
        }
    }
    let mut best: Option<(&Arc<LogicalDevice>, KernelId, f64)> = None;
    let mut second: Option<(DeviceId, f64)> = None;
    let mut fastest: Option<(DeviceId, f64)> = None;
    for device in table.devices.iter().filter(|d| allowed(d)) {
        let Ok(kernel) = candidate.kernel(device) else { continue };
        let seconds = candidate.seconds(device, &work);
        let compute = device.seconds(&work);
        if fastest.is_none_or(|(_, least)| compute < least) {
            fastest = Some((device.id(), compute));
        }
        match best {
            Some((_, _, least)) if least <= seconds => {
                if second.is_none_or(|(_, s)| seconds < s) {
                    second = Some((device.id(), seconds));
                }
            }
            _ => {
                second = best.map(|(b, _, s)| (b.id(), s)).or(second);
                best = Some((device, kernel, seconds));
            }
        }
    }
    let Some((device, kernel, seconds)) = best else { return Err(nowhere(table, candidate)) };
    let reason = match (second, fastest) {
        (None, _) => too_large(table, candidate, allowed).unwrap_or(Reason::OnlyDevice),
        (Some((_, s)), Some((quickest, _))) if quickest != device.id() => {
            Reason::CheaperThanMoving { to: quickest, saves: s - seconds }
        }
        (Some((than, s)), _) => Reason::Faster { than, saves: s - seconds },
    };
    Ok(Choice { device, kernel, reason, extra_seconds: 0.0 })
}

/// Why an op is on the only device that can run it, if others could but for its size.
fn too_large(
    table: &Table,
    candidate: &Candidate<'_>,
    allowed: impl Fn(&LogicalDevice) -> bool,
) -> Option<Reason> {
    table.devices.iter().filter(|d| allowed(d)).find_map(|device| match candidate.kernel(device) {
        Err(lacking @ Lacking::Size(_)) => Some(candidate.reason(lacking, device)),
        _ => None,
    })
}

/// The scope can't be met: `wanted` exists and lacks something, or does not exist at all.
fn fallback<'t>(
    table: &'t Table,
    config: &Config,
    request: &Request,
    candidate: &Candidate<'_>,
    wanted: Option<(&Arc<LogicalDevice>, Lacking)>,
) -> Result<Choice<'t>> {
    let kind = match &request.spec.kind {
        Some(DeviceType::Cpu) => Some(DeviceKind::Cpu),
        Some(DeviceType::Gpu) => Some(DeviceKind::Gpu),
        Some(DeviceType::Custom(_)) => return Err(no_such_device(table, request)),
        None => None,
    };
    if request.fallback.unwrap_or(config.fallback) == Policy::Forbid {
        let Some((wanted, lacking)) = wanted else { return Err(no_such_device(table, request)) };
        let able = table.devices.iter().filter(|d| candidate.kernel(d).is_ok()).map(|d| d.id()).collect();
        return Err(lacking.error(candidate.op.name(), candidate.dtype(), wanted, able));
    }
    let reason = match wanted {
        Some((wanted, lacking)) => candidate.reason(lacking, wanted),
        None => Reason::NoSuchDevice { kind, index: request.spec.index },
    };
    // The same type first, then the CPU.
    let same_type = table.devices.iter().filter(|d| Some(d.id().kind) == kind);
    let cpus = table.devices.iter().filter(|d| d.id().kind == DeviceKind::Cpu);
    for device in same_type.chain(cpus) {
        if wanted.is_some_and(|(w, _)| w.id() == device.id()) {
            continue;
        }
        if let Ok(kernel) = candidate.kernel(device) {
            let work = candidate.work();
            let there = wanted.map_or(0.0, |(w, _)| candidate.seconds(w, &work));
            let extra_seconds = candidate.seconds(device, &work) - there;
            return Ok(Choice { device, kernel, reason, extra_seconds });
        }
    }
    Err(nowhere(table, candidate))
}

#[cold]
fn no_such_device(table: &Table, request: &Request) -> Error {
    Error::NoSuchDevice(Box::new(NoSuchDevice { asked: request.spec.to_string(), available: table.ids() }))
}

#[cold]
fn nowhere(table: &Table, candidate: &Candidate<'_>) -> Error {
    let lacking = table.devices.iter().filter_map(|d| Some((&**d, candidate.kernel(d).err()?)));
    lacking::none_able(candidate.op.name(), candidate.dtype(), lacking)
}
