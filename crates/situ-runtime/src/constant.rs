//! Host data becoming tensors, and tensors moved by name.

use crate::config::PlacementRule;
use crate::lacking::{self, Lacking};
use crate::ledger::Cause;
use crate::logical::LogicalDevice;
use crate::notice::Topic;
use crate::runtime::{Inner, State};
use crate::storage::DeviceTensor;
use crate::transfer::{self, Purpose};
use situ_core::error::NoSuchDevice;
use situ_core::{DeviceKind, DeviceType, Error, Policy, Reason, Request, Result, TensorType};
use std::panic::Location;
use std::sync::Arc;

impl Inner {
    /// Host data as a tensor, where the scope asks for it; without a scope it stays with the host, unless GPUs
    /// come first.
    pub(crate) fn constant(
        &self,
        bytes: &[u8],
        ty: TensorType,
        request: &Request,
        location: &'static Location<'static>,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let (device, reason) = self.home(&state, ty, request)?;
        self.say_where(&state, device, ty, "constant", reason, request, location);
        let mut made = transfer::upload(&self.ledger, bytes, ty, device, reason, location);
        if request.spec.is_empty() {
            // Nobody asked for the device that is full: any other will do.
            for next in state.table.devices.iter().filter(|d| d.id() != device.id()) {
                match &made {
                    Err(error) if error.is_out_of_memory() && next.dtypes().contains(&ty.dtype) => {
                        let reason = Reason::MemoryLimit { full: device.id() };
                        self.say_where(&state, next, ty, "constant", reason, request, location);
                        made = transfer::upload(&self.ledger, bytes, ty, next, reason, location);
                    }
                    _ => {}
                }
            }
        }
        made
    }

    /// A tensor on a CPU whose bytes, row-major, `write` writes where they will lie. All of them: they are undefined before.
    pub(crate) fn written(
        &self,
        ty: TensorType,
        request: &Request,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let (device, reason) = self.home(&state, ty, request)?;
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
        location: &'static Location<'static>,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let (device, reason) = self.home(&state, tensor.tensor_type(), request)?;
        self.say_where(&state, device, tensor.tensor_type(), "variable", reason, request, location);
        let purpose = Purpose { cause: Cause::Explicit, op: "variable", reason, location };
        transfer::copy(&state.table, &self.ledger, tensor, device, purpose)
    }

    /// Books data that is not where it was asked to be, and says so.
    fn say_where(
        &self,
        state: &State,
        device: &LogicalDevice,
        ty: TensorType,
        what: &'static str,
        reason: Reason,
        request: &Request,
        location: &'static Location<'static>,
    ) {
        let Some(wanted) = reason.wanted() else { return };
        self.ledger.book(Cause::Fallback, wanted, device.id(), what, location, 0, 0.0);
        if request.fallback.unwrap_or(state.config.fallback) == Policy::Warn {
            let text = || {
                let (file, line) = (location.file(), location.line());
                format!("{what} of {ty} is on {}: {reason} ({file}:{line})", device.id())
            };
            self.notices.say_once(Topic::Fallback, what, ty.dtype, wanted, text);
        }
    }

    /// The device for new host data.
    fn home<'t>(
        &self,
        state: &'t State,
        ty: TensorType,
        request: &Request,
    ) -> Result<(&'t Arc<LogicalDevice>, Reason)> {
        let table = &state.table;
        let cpu = table.devices.iter().find(|d| d.id().kind == DeviceKind::Cpu).ok_or_else(|| {
            Error::config("a tensor of host data", "no CPU is visible", "make CPU:0 visible")
        })?;
        if request.spec.is_empty() {
            let with_the_host = Reason::Colocated { with: "the host's data" };
            let gpu = table.devices.iter().find(|d| d.id().kind == DeviceKind::Gpu);
            let Some(gpu) = gpu.filter(|_| state.config.rule == PlacementRule::PreferGpu) else {
                return Ok((cpu, with_the_host));
            };
            return Ok(match lacking::holds(gpu, ty) {
                Ok(()) => (gpu, Reason::PreferGpu),
                Err(lacking @ Lacking::Size(_)) => (cpu, lacking.reason("constant", ty.dtype, gpu.id())),
                Err(_) => (cpu, with_the_host),
            });
        }
        let local = is_local(request);
        let wanted = table.devices.iter().find(|d| local && d.id().is_allowed_by(&request.spec));
        let forbid = request.fallback.unwrap_or(state.config.fallback) == Policy::Forbid;
        match wanted.map(|device| (device, lacking::holds(device, ty))) {
            Some((device, Ok(()))) => Ok((device, Reason::Requested)),
            Some((device, Err(lacking))) if forbid => {
                let able = table.devices.iter().filter(|d| lacking::holds(d, ty).is_ok());
                Err(lacking.error("constant", ty.dtype, device, able.map(|d| d.id()).collect()))
            }
            Some((device, Err(lacking))) => {
                // The same type first, then the CPU.
                let alike = |d: &&Arc<LogicalDevice>| {
                    d.id().kind == device.id().kind && lacking::holds(d, ty).is_ok()
                };
                let instead = table.devices.iter().find(alike).unwrap_or(cpu);
                Ok((instead, lacking.reason("constant", ty.dtype, device.id())))
            }
            None => {
                let same_kind = |d: &&Arc<LogicalDevice>| {
                    let mut spec = request.spec.clone();
                    spec.index = None;
                    d.id().is_allowed_by(&spec)
                };
                let kind = match request.spec.kind {
                    Some(DeviceType::Cpu) => Some(DeviceKind::Cpu),
                    Some(DeviceType::Gpu) => Some(DeviceKind::Gpu),
                    Some(DeviceType::Custom(_)) | None => None,
                };
                if forbid || !local || (kind.is_none() && request.spec.kind.is_some()) {
                    return Err(Error::NoSuchDevice(Box::new(NoSuchDevice {
                        asked: request.spec.to_string(),
                        available: table.ids(),
                    })));
                }
                let device = table.devices.iter().find(same_kind).unwrap_or(cpu);
                Ok((device, Reason::NoSuchDevice { kind, index: request.spec.index }))
            }
        }
    }

    /// A copy on the device that `request` names, which must exist: the program asked for it by name.
    pub(crate) fn to_device(
        &self,
        tensor: &DeviceTensor,
        request: &Request,
        location: &'static Location<'static>,
    ) -> Result<DeviceTensor> {
        let state = self.state();
        let device =
            state.table.devices.iter().find(|d| is_local(request) && d.id().is_allowed_by(&request.spec));
        let device = device.ok_or_else(|| {
            Error::NoSuchDevice(Box::new(NoSuchDevice {
                asked: request.spec.to_string(),
                available: state.table.ids(),
            }))
        })?;
        let ty = tensor.tensor_type();
        if tensor.device() != device.id()
            && let Err(lacking @ Lacking::Size(_)) = lacking::holds(device, ty)
        {
            return Err(lacking.error("to_device", ty.dtype, device, Vec::new()));
        }
        let purpose =
            Purpose { cause: Cause::Explicit, op: "to_device", reason: Reason::Requested, location };
        transfer::copy(&state.table, &self.ledger, tensor, device, purpose)
    }
}

/// Whether the request names this process, or none in particular.
pub(crate) fn is_local(request: &Request) -> bool {
    request.spec.job.as_ref().is_none_or(|job| job.as_str() == "localhost")
        && request.spec.replica.is_none_or(|r| r == 0)
        && request.spec.task.is_none_or(|t| t == 0)
}
