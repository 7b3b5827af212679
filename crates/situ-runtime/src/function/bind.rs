//! The memory of one call: arenas, tensors of its own, and what it was given.

use super::plan::{BufferIndex, Memory, Operand, Plan, Yield};
use crate::storage::{Checks, DeviceTensor, Storage};
use crate::transfer::open_checks;
use situ_core::{Error, Reason, Result, Shape, TensorType};
use situ_device::{Arg, Arriving, Check, Region};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};

/// Bytes on their way to the host, once they were asked for.
type Sent = Option<Box<dyn Arriving>>;

/// Everything a call's steps read and write. All of it that can be is reserved before the first step.
#[derive(Debug)]
pub(crate) struct Frame<'c> {
    plan: &'c Plan,
    arguments: &'c [&'c DeviceTensor],
    captures: &'c [DeviceTensor],
    variables: &'c [DeviceTensor],
    arenas: SmallVec<[SmallVec<[Storage; 1]>; 2]>,
    own: SmallVec<[OnceLock<DeviceTensor>; 2]>,
    checks: SmallVec<[OnceLock<Arc<Check>>; 1]>,
    sent: SmallVec<[Mutex<Sent>; 1]>,
}

impl<'c> Frame<'c> {
    /// Reserves the memory of a call, or fails before anything has run.
    pub(crate) fn new(
        plan: &'c Plan,
        captures: &'c [DeviceTensor],
        arguments: &'c [&'c DeviceTensor],
        variables: &'c [DeviceTensor],
    ) -> Result<Frame<'c>> {
        let mut arenas = SmallVec::new();
        for (device, chunks) in plan.devices.iter().zip(&plan.arenas) {
            let mut held = SmallVec::new();
            for &bytes in chunks {
                held.push(Storage::new(device.clone(), device.allocate(bytes, "arena")?));
            }
            arenas.push(held);
        }
        let mut own: SmallVec<[OnceLock<DeviceTensor>; 2]> =
            (0..plan.slots).map(|_| OnceLock::new()).collect();
        if plan.slots > 0 {
            for buffer in &plan.buffers {
                if let Memory::Own { slot } = buffer.memory {
                    let device = &plan.devices[buffer.device];
                    // Bytes under a flat shape: each result is a view of it with its own type.
                    let flat = TensorType::new(situ_core::DType::U8, Shape::new(&[buffer.bytes])?);
                    let tensor = device.tensor(flat, buffer.owner, Reason::Requested)?;
                    own[slot] = OnceLock::from(tensor);
                }
            }
        }
        let checks = (0..plan.checks).map(|_| OnceLock::new()).collect();
        let sent = (0..plan.sent).map(|_| Mutex::default()).collect();
        Ok(Frame { plan, arguments, captures, variables, arenas, own, checks, sent })
    }

    fn given(&self, memory: Memory) -> Option<&DeviceTensor> {
        match memory {
            Memory::Argument(n) => self.arguments.get(n).copied(),
            Memory::Capture(n) => self.captures.get(n),
            Memory::Variable(n) => self.variables.get(n),
            Memory::Own { slot } | Memory::Late { slot } => self.own[slot].get(),
            Memory::Arena { .. } => None,
        }
    }

    /// The memory of a buffer.
    #[inline]
    pub(crate) fn region(&self, index: BufferIndex) -> Result<Region<'_>> {
        let buffer = &self.plan.buffers[index];
        if let Memory::Arena { chunk, offset } = buffer.memory {
            let arena = self.arenas[buffer.device][chunk].region();
            return Ok(Region { block: arena.block, offset: arena.offset + offset, bytes: buffer.bytes });
        }
        match self.given(buffer.memory) {
            Some(tensor) => Ok(tensor.arg().region),
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
        let held = self.given(buffer.memory).ok_or_else(|| unbound(buffer.owner))?;
        let mut tensor = held.clone();
        tensor.layout = operand.layout;
        tensor.dtype = operand.dtype;
        tensor.reason = reason;
        tensor.checks = Checks::new();
        Ok(tensor)
    }

    /// Binds what a branch has made.
    pub(crate) fn bind(&self, operand: &Operand, tensor: DeviceTensor) -> Result<()> {
        match self.plan.buffers[operand.buffer].memory {
            Memory::Late { slot } if self.own[slot].set(tensor).is_ok() => Ok(()),
            _ => Err(unbound("branch")),
        }
    }

    /// Keeps the check of a launch.
    pub(crate) fn keep_check(&self, number: Option<usize>, check: Option<Arc<Check>>) {
        if let (Some(number), Some(check)) = (number, check) {
            let _ = self.checks[number].set(check);
        }
    }

    /// Keeps bytes that are on their way; `None`: they have arrived.
    pub(crate) fn keep_sent(&self, place: usize, bytes: Option<Box<dyn Arriving>>) {
        *self.sent[place].lock().unwrap_or_else(|p| p.into_inner()) = bytes;
    }

    /// What was kept there.
    pub(crate) fn take_sent(&self, place: usize) -> Option<Box<dyn Arriving>> {
        self.sent[place].lock().unwrap_or_else(|p| p.into_inner()).take()
    }

    /// A result, with the checks it depends on.
    pub(crate) fn result(&self, result: &Yield) -> Result<DeviceTensor> {
        let mut tensor = self.tensor(&result.operand, result.reason)?;
        tensor.checks.extend(result.checks.iter().filter_map(|&c| self.checks[c].get().cloned()));
        for &source in &result.sources {
            if let Some(given) = self.given(source)
                && !given.checks.is_empty()
            {
                tensor.checks.extend(open_checks(given)?);
            }
        }
        Ok(tensor)
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
