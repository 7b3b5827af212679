//! Host data becoming tensors, and tensors moved by name. Where they go is decided in `policy`.

use crate::able;
use crate::ledger::Cause;
use crate::logical::LogicalDevice;
use crate::notice::Topic;
use crate::policy::{self, Facts, Found, Home, Lacking, Moment, PlacementQuery};
use crate::runtime::{Inner, State};
use crate::storage::DeviceTensor;
use crate::transfer::{self, CopyPurpose};
use situ_core::{Caller, DType, DeviceId, Error, Reason, Request, Result, TensorType};
use smallvec::SmallVec;
use std::sync::Arc;

/// Where host data stays without a scope.
const WITH_THE_HOST: Home = Home { device: DeviceId::CPU0, with: "the host's data" };

/// A tensor that is to be made on one of these devices, or moved to it.
struct Data<'a> {
    devices: &'a [Arc<LogicalDevice>],
    /// What it is: `constant`, `variable`, `to_device`.
    what: &'static str,
    ty: TensorType,
    /// Whether a device must have kernels for it: not where a program moves it by name.
    used: bool,
    /// Where it is already.
    there: Option<DeviceId>,
}

impl Facts for Data<'_> {
    type Means = ();

    fn count(&self) -> usize {
        self.devices.len()
    }

    fn id(&self, device: usize) -> DeviceId {
        self.devices[device].id()
    }

    fn what(&self) -> &'static str {
        self.what
    }

    fn dtype(&self) -> DType {
        self.ty.dtype
    }

    fn able(&self, device: usize) -> Result<(), Lacking> {
        match &self.devices[device] {
            device if self.there == Some(device.id()) => Ok(()),
            device if self.used => able::holds(device, self.ty),
            device => able::fits(device, self.ty.bytes()),
        }
    }

    fn is_last_resort(&self, device: usize) -> bool {
        self.devices[device].capabilities().last_resort
    }

    fn failure(&self, device: usize) -> Option<Error> {
        self.devices[device].device().err()
    }
}

impl<'a> Data<'a> {
    /// New data of a program.
    fn new(state: &'a State, what: &'static str, ty: TensorType) -> Data<'a> {
        Data { devices: &state.table.devices, what, ty, used: true, there: None }
    }

    fn first(&self, found: &Found<()>) -> (&'a Arc<LogicalDevice>, Reason) {
        let reason = found.reason.unwrap_or(Reason::Colocated { with: WITH_THE_HOST.with });
        (&self.devices[found.devices[0].0], reason)
    }
}

fn ask<'a>(state: &State, request: &'a Request) -> PlacementQuery<'a> {
    PlacementQuery { home: Some(WITH_THE_HOST), first: true, ..PlacementQuery::new(request, &state.config) }
}

impl Inner {
    /// Host data as a tensor, where the scope asks for it; without a scope it stays with the host, unless
    /// GPUs come first.
    pub(crate) fn constant(
        &self,
        bytes: &[u8],
        ty: TensorType,
        request: &Request,
        caller: Caller,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let data = Data::new(&state, "constant", ty);
        self.made(&state, &data, request, caller, |device, reason| {
            transfer::upload(&self.journal, bytes, ty, device, reason, caller)
        })
    }

    /// A tensor on a CPU whose bytes, row-major, `write` writes where they will lie. All of them: they are
    /// undefined before.
    pub(crate) fn written(
        &self,
        ty: TensorType,
        request: &Request,
        caller: Caller,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let data = Data::new(&state, "constant", ty);
        let ask = ask(&state, request);
        let (device, reason) = data.first(&policy::decide(&ask, &data)?);
        self.say_where(&data, device, reason, &ask, caller);
        let out = device.tensor(ty, "constant", reason)?;
        drop(state);
        if ty.bytes() > 0 {
            let host = out.storage.region().host().ok_or_else(|| transfer::unaddressable(out.device()))?;
            // SAFETY: the memory was just allocated for `out`, which nobody else has seen yet.
            write(unsafe { std::slice::from_raw_parts_mut(host.as_ptr(), ty.bytes()) })?;
        }
        Ok(out)
    }

    /// A tensor where new host data would be put under this request: how a variable gets its device.
    pub(crate) fn place(
        &self,
        tensor: &DeviceTensor,
        request: &Request,
        caller: Caller,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let data = Data::new(&state, "variable", tensor.tensor_type());
        self.made(&state, &data, request, caller, |device, reason| {
            let purpose = CopyPurpose { cause: Cause::Explicit, op: "variable", reason, caller };
            transfer::copy(&state.table, &self.journal, tensor, device, purpose)
        })
    }

    /// Data made where it may be. Where nobody asked for a device that turns out to be full, it is made on
    /// the next; where a device is lost in the attempt, on another if that is allowed.
    fn made(
        &self,
        state: &State,
        data: &Data<'_>,
        request: &Request,
        caller: Caller,
        make: impl Fn(&Arc<LogicalDevice>, Reason) -> Result<DeviceTensor>,
    ) -> Result<DeviceTensor> {
        let ask = ask(state, request);
        let mut found = policy::decide(&ask, data)?;
        let mut full: SmallVec<[DeviceId; 4]> = SmallVec::new();
        loop {
            let (device, reason) = data.first(&found);
            self.say_where(data, device, reason, &ask, caller);
            match make(device, reason) {
                Err(error) if error.is_out_of_memory() => {
                    full.push(device.id());
                    found = policy::after_full(&PlacementQuery { full: &full, ..ask }, data).ok_or(error)?;
                }
                Err(error) if error.lost() == Some(device.id()) && device.is_lost() => {
                    found = policy::decide(&ask, data)?;
                }
                done => return done,
            }
        }
    }

    /// Books data that is not where it was asked to be, and says so.
    fn say_where(
        &self,
        data: &Data<'_>,
        device: &LogicalDevice,
        reason: Reason,
        ask: &PlacementQuery<'_>,
        caller: Caller,
    ) {
        let Some(wanted) = reason.wanted() else { return };
        let Data { what, ty, .. } = *data;
        let report = policy::report(&reason, ask.request, ask.fallback, Moment::Tried);
        if report.booked {
            self.journal.fell_back(wanted, device.id(), what, reason, caller.location());
        }
        if report.said {
            self.notices.say_once(Topic::Fallback, what, ty.dtype, wanted, || {
                format!("{what} of {ty} is on {}: {reason} ({})", device.id(), caller.location())
            });
        }
    }

    /// A copy on the device that `request` names, which must exist: the program asked for it by name.
    pub(crate) fn to_device(
        &self,
        tensor: &DeviceTensor,
        request: &Request,
        caller: Caller,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let there = Some(tensor.device());
        let data = Data { used: false, there, ..Data::new(&state, "to_device", tensor.tensor_type()) };
        let device = &state.table.devices[policy::by_name(request, &data)?];
        let purpose =
            CopyPurpose { cause: Cause::Explicit, op: "to_device", reason: Reason::Requested, caller };
        transfer::copy(&state.table, &self.journal, tensor, device, purpose)
    }
}
