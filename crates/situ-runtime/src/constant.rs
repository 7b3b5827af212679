//! Host data becoming tensors, and tensors moved by name.

use crate::config::PlacementRule;
use crate::ledger::Cause;
use crate::logical::LogicalDevice;
use crate::notice::Topic;
use crate::runtime::{Inner, State};
use crate::storage::DeviceTensor;
use crate::transfer::{self, Purpose};
use situ_core::error::{NoKernel, NoSuchDevice};
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
        if reason.is_fallback() {
            let policy = request.fallback.unwrap_or(state.config.fallback);
            if policy == Policy::Warn {
                let text = || format!("constant of {ty} is on {}: {reason}", device.id());
                self.notices.say_once(Topic::Fallback, "constant", ty.dtype, device.id(), text);
            }
        }
        transfer::upload(&self.ledger, bytes, ty, device, reason, location)
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
            let gpu = table.devices.iter().find(|d| d.id().kind == DeviceKind::Gpu);
            return Ok(match (state.config.rule, gpu) {
                (PlacementRule::PreferGpu, Some(gpu)) if gpu.dtypes().contains(&ty.dtype) => {
                    (gpu, Reason::PreferGpu)
                }
                _ => (cpu, Reason::Colocated { with: "the host's data" }),
            });
        }
        let wanted = table.devices.iter().find(|d| d.id().is_allowed_by(&request.spec));
        let forbid = request.fallback.unwrap_or(state.config.fallback) == Policy::Forbid;
        match wanted {
            Some(device) if device.dtypes().contains(&ty.dtype) => Ok((device, Reason::Requested)),
            Some(device) if forbid => Err(Error::NoKernel(Box::new(NoKernel {
                op: "constant",
                dtype: ty.dtype,
                device: Some(device.id()),
                have: table
                    .devices
                    .iter()
                    .filter(|d| d.dtypes().contains(&ty.dtype))
                    .map(|d| d.id())
                    .collect(),
            }))),
            Some(device) => {
                Ok((cpu, Reason::NoKernel { op: "constant", dtype: ty.dtype, wanted: device.id() }))
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
                if forbid || !is_local(request) || (kind.is_none() && request.spec.kind.is_some()) {
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
