//! The memory of one call: arenas, tensors of its own, and what it was given.

use super::plan::{
    Buffer, BufferIndex, Depends, DeviceIndex, ExecutionPlan, Memory, Operand, PlanOutput, Put,
};
use crate::put_rows::NewRows;
use crate::storage::{Checks, DeviceTensor, Storage};
use crate::transfer::{await_checks, open_checks, verdict};
use situ_core::{Caller, Error, Reason, Result};
use situ_device::{Arg, Check, PendingDownload, Region};
use situ_ir::Op;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};

/// Bytes on their way to the host, once they were asked for.
type Sent = Option<Box<dyn PendingDownload>>;

/// A check, and the device that knows how it comes out.
type Kept = (DeviceIndex, Arc<Check>);

/// Everything a call's steps read and write. All of it that can be is reserved before the first step.
#[derive(Debug)]
pub(crate) struct Frame<'c> {
    plan: &'c ExecutionPlan,
    arguments: &'c [&'c DeviceTensor],
    captures: &'c [DeviceTensor],
    variables: &'c [&'c DeviceTensor],
    arenas: SmallVec<[Storage; 1]>,
    own: SmallVec<[Arc<Storage>; 4]>,
    /// What branches have made.
    late: Vec<OnceLock<DeviceTensor>>,
    checks: SmallVec<[OnceLock<Kept>; 1]>,
    sent: SmallVec<[Mutex<Sent>; 1]>,
}

impl<'c> Frame<'c> {
    /// The frame of a call that has no memory yet. Apart from [`Frame::reserve`], so that it is made where it
    /// stays: it is large.
    #[inline(always)]
    pub(crate) fn new(
        plan: &'c ExecutionPlan,
        captures: &'c [DeviceTensor],
        arguments: &'c [&'c DeviceTensor],
        variables: &'c [&'c DeviceTensor],
    ) -> Frame<'c> {
        Frame {
            plan,
            arguments,
            captures,
            variables,
            arenas: SmallVec::new(),
            own: SmallVec::new(),
            late: Vec::new(),
            checks: SmallVec::new(),
            sent: SmallVec::new(),
        }
    }

    /// Reserves the memory of the call, or fails before anything has run.
    pub(crate) fn reserve(&mut self) -> Result<()> {
        let plan = self.plan;
        for &(device, bytes) in &plan.arenas {
            let device = &plan.devices[device];
            self.arenas.push(Storage::new(device.clone(), device.allocate(bytes, "arena")?));
        }
        for &buffer in &plan.own {
            let Buffer { device, bytes, owner, .. } = plan.buffers[buffer];
            let device = &plan.devices[device];
            self.own.push(Arc::new(Storage::new(device.clone(), device.allocate(bytes, owner)?)));
        }
        self.late.resize_with(plan.late, OnceLock::new);
        self.checks.resize_with(plan.checks, OnceLock::new);
        self.sent.resize_with(plan.sent, Mutex::default);
        Ok(())
    }

    /// A tensor that the call was given, or that a branch has made.
    fn given(&self, memory: Memory) -> Option<&DeviceTensor> {
        match memory {
            Memory::Argument(n) => self.arguments.get(n).copied(),
            Memory::Capture(n) => self.captures.get(n),
            Memory::Variable(n) => self.variables.get(n).copied(),
            Memory::Late { slot } => self.late[slot].get(),
            Memory::Own { .. } | Memory::Arena { .. } => None,
        }
    }

    /// The memory of a tensor that is no part of an arena.
    fn storage(&self, memory: Memory) -> Option<&Arc<Storage>> {
        match memory {
            Memory::Own { slot } => self.own.get(slot),
            other => self.given(other).map(|tensor| &tensor.storage),
        }
    }

    /// The memory of a buffer.
    #[inline]
    pub(crate) fn region(&self, index: BufferIndex) -> Result<Region<'_>> {
        let buffer = &self.plan.buffers[index];
        if let Memory::Arena { chunk, offset } = buffer.memory {
            let arena = self.arenas[chunk].region();
            return Ok(Region { block: arena.block, offset: arena.offset + offset, bytes: buffer.bytes });
        }
        match self.storage(buffer.memory) {
            Some(storage) => Ok(storage.region()),
            None => Err(unbound(buffer.owner)),
        }
    }

    /// A tensor as a kernel sees it.
    #[inline]
    pub(crate) fn arg<'a>(&'a self, operand: &'a Operand) -> Result<Arg<'a>> {
        Ok(Arg { region: self.region(operand.buffer)?, dtype: operand.dtype, layout: &operand.layout })
    }

    /// A tensor that is no part of an arena, as a tensor.
    pub(crate) fn tensor(&self, operand: &Operand, reason: Reason) -> Result<DeviceTensor> {
        let buffer = &self.plan.buffers[operand.buffer];
        let storage = self.storage(buffer.memory).ok_or_else(|| unbound(buffer.owner))?.clone();
        let Operand { layout, dtype, .. } = *operand;
        Ok(DeviceTensor { storage, layout, dtype, reason, checks: Checks::new() })
    }

    /// Binds what a branch has made.
    pub(crate) fn bind(&self, operand: &Operand, tensor: DeviceTensor) -> Result<()> {
        match self.plan.buffers[operand.buffer].memory {
            Memory::Late { slot } if self.late[slot].set(tensor).is_ok() => Ok(()),
            _ => Err(unbound("branch")),
        }
    }

    /// Keeps the check of a launch, and has the device tell of it where nobody reads what depends on it. A
    /// check that the plan has no place for is an error: nothing that depends on it would carry it.
    pub(crate) fn keep_check(
        &self,
        number: Option<usize>,
        device: DeviceIndex,
        op: &Op,
        check: Arc<Check>,
    ) -> Result<()> {
        let kept = number.and_then(|number| self.checks.get(number));
        if kept.is_some_and(|place| place.set((device, check.clone())).is_ok()) {
            self.plan.devices[device].watch(&check);
            return Ok(());
        }
        Err(Error::Kernel {
            op: op.name(),
            device: self.plan.devices[device].id(),
            why: "it left a check that the plan has no place for: the rule of an op that may find bad data says so".to_string(),
        })
    }

    /// Keeps bytes that are on their way; `None`: they have arrived.
    pub(crate) fn keep_sent(&self, place: usize, bytes: Option<Box<dyn PendingDownload>>) {
        *self.sent[place].lock().unwrap_or_else(|p| p.into_inner()) = bytes;
    }

    /// What was kept there.
    pub(crate) fn take_sent(&self, place: usize) -> Option<Box<dyn PendingDownload>> {
        self.sent[place].lock().unwrap_or_else(|p| p.into_inner()).take()
    }

    /// Waits until every check of the call is settled, and of what it was given: the error of the first that
    /// failed. Where none is open, nobody waits.
    pub(crate) fn settle(&self) -> Result<()> {
        let mut all = Checks::new();
        for &source in &self.plan.sources {
            if let Some(given) = self.given(source)
                && !given.checks.is_empty()
            {
                await_checks(&given.checks, given.logical_device())?;
                all.extend(given.checks.iter().cloned());
            }
        }
        for (device, check) in self.checks.iter().filter_map(OnceLock::get) {
            if check.outcome().is_none() {
                self.plan.devices[*device].device()?.sync()?;
            }
            all.push(check.clone());
        }
        verdict(&all)
    }

    fn own_checks(&self, depends: &Depends) -> impl Iterator<Item = &Arc<Check>> {
        depends.checks.iter().filter_map(|&number| self.checks[number].get()).map(|(_, check)| check)
    }

    /// The error of what is known to have failed so far, of all that something depends on.
    pub(crate) fn known(&self, depends: &Depends) -> Result<()> {
        for &source in &depends.sources {
            self.given(source).map_or(Ok(()), DeviceTensor::poisoned)?;
        }
        match self.own_checks(depends).find(|check| matches!(check.outcome(), Some(Some(_)))) {
            Some(failed) => verdict(std::slice::from_ref(failed)),
            None => Ok(()),
        }
    }

    /// A result with what it depends on: its own checks, and those of what it was made of.
    pub(crate) fn result(&self, result: &PlanOutput, depends: &Depends) -> Result<DeviceTensor> {
        let mut tensor = self.value(result)?;
        for &source in &depends.sources {
            if let Some(given) = self.given(source)
                && !given.checks.is_empty()
            {
                tensor.checks.extend(open_checks(given)?);
            }
        }
        let is_well = |check: &&Arc<Check>| matches!(check.outcome(), Some(None));
        tensor.checks.extend(self.own_checks(depends).filter(|check| !is_well(check)).cloned());
        Ok(tensor)
    }

    /// Rows that a variable's value is to have: they depend on nothing that is open.
    pub(crate) fn new_rows(&self, put: &Put) -> Result<NewRows> {
        Ok(NewRows {
            indices: self.tensor(&put.indices, put.reason)?,
            rows: self.tensor(&put.rows, put.reason)?,
            reason: put.reason,
            name: put.name.clone(),
            caller: put.source.0.map_or_else(Caller::here, Caller::from),
        })
    }

    /// A result that depends on nothing that is open.
    pub(crate) fn value(&self, result: &PlanOutput) -> Result<DeviceTensor> {
        self.tensor(&result.operand, result.reason)
    }
}

#[cold]
fn unbound(owner: &'static str) -> Error {
    Error::argument(
        "function",
        format!("the memory of {owner} is not there when it is needed"),
        "this is a defect of the plan",
    )
}
