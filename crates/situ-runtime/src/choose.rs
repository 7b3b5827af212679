//! Which device an eager op runs on, and why: `policy` says which may, and of those the one is taken that is
//! done soonest.
//!
//! The op's inputs are not moved here; only what moving them would take is counted.

use crate::able;
use crate::config::{Config, PlacementRule};
use crate::logical::{LogicalDevice, copy_seconds};
use crate::policy::{self, Facts, Found, Home, Lacking, PlacementQuery};
use crate::storage::DeviceTensor;
use situ_core::{DType, DeviceId, Error, Reason, Request, Result, TensorType};
use situ_device::KernelId;
use situ_ir::{Op, Work};
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

/// An op about to be placed on one of these devices.
pub(crate) struct Candidate<'a> {
    pub(crate) devices: &'a [Arc<LogicalDevice>],
    pub(crate) op: &'a Op,
    pub(crate) inputs: &'a [&'a DeviceTensor],
    pub(crate) input_types: &'a [TensorType],
    pub(crate) output_types: &'a [TensorType],
}

impl Facts for Candidate<'_> {
    type Means = KernelId;

    fn count(&self) -> usize {
        self.devices.len()
    }

    fn id(&self, device: usize) -> DeviceId {
        self.devices[device].id()
    }

    fn what(&self) -> &'static str {
        self.op.name()
    }

    fn dtype(&self) -> DType {
        self.op.kernel_dtype(self.input_types, self.output_types)
    }

    fn able(&self, device: usize) -> Result<KernelId, Lacking> {
        self.kernel(&self.devices[device])
    }

    fn is_last_resort(&self, device: usize) -> bool {
        self.devices[device].capabilities().last_resort
    }

    fn failure(&self, device: usize) -> Option<Error> {
        self.devices[device].device().err()
    }
}

impl<'a> Candidate<'a> {
    fn find(&self, id: DeviceId) -> Option<&'a Arc<LogicalDevice>> {
        self.devices.iter().find(|d| d.id() == id)
    }

    fn kernel(&self, device: &LogicalDevice) -> Result<KernelId, Lacking> {
        able::kernel(device, self.op, self.input_types, self.output_types)
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

    /// Whether it can still be run elsewhere when the device of a choice is lost: no input is there alone,
    /// and the device says so itself from now on.
    pub(crate) fn survives(&self, choice: &Choice<'_>) -> bool {
        let gone = choice.device.id();
        choice.device.is_lost() && self.inputs.iter().all(|input| input.logical_device().id() != gone)
    }

    /// Where it stays under `Manual`: with the largest of its inputs, of equals the first.
    fn home(&self) -> Home {
        let largest = self.inputs.iter().rev().max_by_key(|input| input.tensor_type().bytes());
        let device = largest.map_or(DeviceId::CPU0, |input| input.logical_device().id());
        Home { device, with: "its largest input" }
    }
}

fn ask<'a>(config: &Config, request: &'a Request, candidate: &Candidate<'_>) -> PlacementQuery<'a> {
    PlacementQuery {
        home: (config.rule == PlacementRule::Manual).then(|| candidate.home()),
        first: config.rule == PlacementRule::PreferGpu,
        ..PlacementQuery::new(request, config)
    }
}

/// Chooses among the visible devices.
pub(crate) fn choose<'a>(
    config: &Config,
    request: &Request,
    candidate: &Candidate<'a>,
) -> Result<Choice<'a>> {
    let scoped = !request.spec.is_empty();
    let weighed = match config.rule {
        PlacementRule::Auto => true,
        // A scope that leaves a choice, under `Manual` too, leaves it to `Auto`.
        PlacementRule::Manual => scoped,
        PlacementRule::PreferGpu => false,
    };
    if scoped {
        policy::check(request, candidate)?;
    }
    if weighed && let Some(choice) = at_home(candidate, |d| !scoped || d.id().is_allowed_by(&request.spec)) {
        return Ok(if scoped { Choice { reason: Reason::Requested, ..choice } } else { choice });
    }
    let found = policy::decide(&ask(config, request, candidate), candidate)?;
    Ok(soonest(candidate, &found))
}

/// The next choice for an op when those in `full` had no memory for it, if it may go elsewhere.
pub(crate) fn after_full<'a>(
    config: &Config,
    request: &Request,
    candidate: &Candidate<'a>,
    full: &[DeviceId],
) -> Option<Choice<'a>> {
    let found = policy::after_full(&PlacementQuery { full, ..ask(config, request, candidate) }, candidate)?;
    Some(soonest(candidate, &found))
}

/// The device on which all inputs are, if it is done before any other could even begin. Most eager ops are
/// small and their inputs are on one device: then nothing needs to be asked of the others (and a GPU nobody
/// needs is never opened).
fn at_home<'a>(candidate: &Candidate<'a>, allowed: impl Fn(&LogicalDevice) -> bool) -> Option<Choice<'a>> {
    let home = candidate.inputs.first().map_or(DeviceId::CPU0, |t| t.logical_device().id());
    let device = candidate.find(home).filter(|d| allowed(d))?;
    if candidate.inputs.iter().any(|t| t.logical_device().id() != home) {
        return None;
    }
    let mut others = candidate.devices.iter().filter(|d| d.id() != home && allowed(d)).peekable();
    let reason = if others.peek().is_none() {
        Reason::OnlyDevice
    } else {
        let work = candidate.work();
        let here = candidate.seconds(device, &work);
        let mut other: Option<(&LogicalDevice, f64)> = None;
        for d in others {
            let begins = d.costs().line(work.class).launch + candidate.moving(d);
            if other.is_none_or(|(_, least)| begins < least) {
                other = Some((d, begins));
            }
        }
        let (than, begins) = other.filter(|(_, begins)| here <= *begins)?;
        let there = than.seconds(&work);
        let saves = begins - than.costs().line(work.class).launch + there - here;
        if there < device.seconds(&work) {
            Reason::CheaperThanMoving { to: than.id(), saves }
        } else {
            Reason::Faster { than: than.id(), saves }
        }
    };
    let kernel = candidate.kernel(device).ok()?;
    Some(Choice { device, kernel, reason, extra_seconds: 0.0 })
}

/// The candidate that is done soonest: the least of queued work, copies in and compute.
fn soonest<'a>(candidate: &Candidate<'a>, found: &Found<KernelId>) -> Choice<'a> {
    let devices = candidate.devices;
    let (first, kernel) = found.devices[0];
    if let ([_], Some(reason @ Reason::Requested)) = (found.devices.as_slice(), found.reason) {
        return Choice { device: &devices[first], kernel, reason, extra_seconds: 0.0 };
    }
    let work = candidate.work();
    let mut best = (&devices[first], kernel, candidate.seconds(&devices[first], &work));
    let mut second: Option<(DeviceId, f64)> = None;
    let mut fastest = (best.0.id(), best.0.seconds(&work));
    for &(device, kernel) in &found.devices[1..] {
        let device = &devices[device];
        let (seconds, compute) = (candidate.seconds(device, &work), device.seconds(&work));
        if compute < fastest.1 {
            fastest = (device.id(), compute);
        }
        if seconds < best.2 {
            second = Some((best.0.id(), best.2));
            best = (device, kernel, seconds);
        } else if second.is_none_or(|(_, s)| seconds < s) {
            second = Some((device.id(), seconds));
        }
    }
    let (device, kernel, seconds) = best;
    let reason = found.reason.unwrap_or(match second {
        None => Reason::OnlyDevice,
        Some((_, s)) if fastest.0 != device.id() => {
            Reason::CheaperThanMoving { to: fastest.0, saves: s - seconds }
        }
        Some((than, s)) => Reason::Faster { than, saves: s - seconds },
    });
    let instead_of = |wanted| candidate.find(wanted).map_or(0.0, |wanted| candidate.seconds(wanted, &work));
    let extra_seconds = reason.wanted().map_or(0.0, |wanted| seconds - instead_of(wanted));
    Choice { device, kernel, reason, extra_seconds }
}
