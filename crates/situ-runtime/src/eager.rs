//! One op, now: infer its type, choose its device, bring its inputs there, launch its kernel.

use crate::choose::{self, Candidate, Choice};
use crate::config::Config;
use crate::ledger::Cause;
use crate::logical::LogicalDevice;
use crate::notice::Topic;
use crate::policy::{self, Facts, Moment};
use crate::recording::{DeviceTimes, EagerEntry, Entry, MemoryEntry, nanoseconds, this_thread};
use crate::runtime::{Inner, State};
use crate::storage::{Checks, DeviceTensor, Storage};
use crate::transfer::{self, CopyPurpose};
use situ_core::{Caller, DeviceId, Error, Policy, Reason, Request, Result, TensorType, reason};
use situ_device::{Arg, Call};
use situ_ir::ops::Viewing;
use situ_ir::{Op, Outputs};
use smallvec::SmallVec;
use std::sync::Arc;

/// The outputs of an op after its first: nearly always none.
pub(crate) type More = SmallVec<[DeviceTensor; 0]>;

impl Inner {
    pub(crate) fn eager(
        &self,
        op: &Op,
        inputs: &[&DeviceTensor],
        request: &Request,
        caller: Caller,
    ) -> Result<DeviceTensor> {
        self.eager_all(op, inputs, request, caller, &mut More::new())
    }

    /// The first output; the others are added to `more`.
    pub(crate) fn eager_all(
        &self,
        op: &Op,
        inputs: &[&DeviceTensor],
        request: &Request,
        caller: Caller,
        more: &mut More,
    ) -> Result<DeviceTensor> {
        let input_types: SmallVec<[TensorType; 3]> = inputs.iter().map(|t| t.tensor_type()).collect();
        let output_types = op.infer(&input_types)?;
        if let Some(foreign) =
            inputs.iter().find(|t| !std::ptr::eq(t.logical_device().runtime.as_ptr(), self))
        {
            return Err(foreign_runtime(op, foreign));
        }
        if let [input] = inputs
            && let Some(view) = self.view(op, input, &output_types, request, caller)?
        {
            return Ok(view);
        }
        let state = self.state();
        let config = &state.config;
        let candidate = Candidate {
            devices: &state.table.devices,
            op,
            inputs,
            input_types: &input_types,
            output_types: &output_types,
        };
        let mut choice = choose::choose(config, request, &candidate)?;
        let mut full: SmallVec<[DeviceId; 4]> = SmallVec::new();
        loop {
            self.announce(config, &candidate, request, &choice, caller);
            match self.run_on(&state, &candidate, &choice, request, caller, more) {
                Err(error) if error.is_out_of_memory() => {
                    more.clear();
                    full.push(choice.device.id());
                    choice = choose::after_full(config, request, &candidate, &full).ok_or(error)?;
                }
                // Lost as it was used. What was only there is gone; an op on anything else is placed again,
                // without it.
                Err(error) if error.lost() == Some(choice.device.id()) && candidate.survives(&choice) => {
                    more.clear();
                    choice = choose::choose(config, request, &candidate)?;
                }
                done => return done,
            }
        }
    }

    /// The result of an op that only looks at its input differently.
    fn view(
        &self,
        op: &Op,
        input: &DeviceTensor,
        output_types: &Outputs,
        request: &Request,
        caller: Caller,
    ) -> Result<Option<DeviceTensor>> {
        if let Some(layout) = op.view(&input.layout, &output_types[0]) {
            return Ok(Some(input.view(layout)));
        }
        if op.viewing() != Viewing::OfDense {
            return Ok(None);
        }
        // A view that strides do not allow: dense first, then it is a view.
        let dense = self.eager(&situ_ir::ops::Dense.into(), &[input], request, caller)?;
        let layout = op.view(&dense.layout, &output_types[0]);
        Ok(layout.map(|layout| DeviceTensor { reason: dense.reason, ..dense.view(layout) }))
    }

    fn run_on(
        &self,
        state: &State,
        candidate: &Candidate<'_>,
        choice: &Choice<'_>,
        request: &Request,
        caller: Caller,
        more: &mut More,
    ) -> Result<DeviceTensor> {
        let Candidate { op, inputs, input_types, output_types, .. } = candidate;
        let logical = choice.device;
        let device = logical.device()?;
        // Inputs that must be moved or made dense first; most often there are none.
        let mut replaced: SmallVec<[(usize, DeviceTensor); 2]> = SmallVec::new();
        let mut checks = Checks::new();
        for (index, input) in inputs.iter().enumerate() {
            if !input.checks.is_empty() {
                checks.extend(transfer::open_checks(input)?);
            }
            let is_here = input.device() == logical.id();
            if is_here && device.accepts(choice.kernel, op, index, &input.layout) {
                continue;
            }
            let mut here: Option<DeviceTensor> = None;
            if !is_here {
                self.allow_copy(&state.config, op, input, index, logical, request)?;
                let purpose =
                    CopyPurpose { cause: Cause::Implicit, op: op.name(), reason: choice.reason, caller };
                here = Some(transfer::copy(&state.table, &self.journal, input, logical, purpose)?);
            }
            let tensor = here.as_ref().unwrap_or(input);
            if !device.accepts(choice.kernel, op, index, &tensor.layout) {
                here = Some(transfer::dense_copy(tensor, caller)?);
            }
            if let Some(here) = here {
                replaced.push((index, here));
            }
        }
        let mut out = logical.tensor(output_types[0], op.name(), choice.reason)?;
        for ty in &output_types[1..] {
            more.push(logical.tensor(*ty, op.name(), choice.reason)?);
        }
        let scratch = device.workspace(choice.kernel, op, input_types, output_types);
        let workspace = match scratch {
            0 => None,
            bytes => Some(Storage::new(logical.clone(), logical.allocate(bytes, "workspace")?)),
        };
        {
            let recordings = &self.journal.recordings;
            let asked = recordings.is_on().then(|| recordings.device_times());
            let timing = asked.and_then(DeviceTimes::timing).map(Arc::new);
            let mut args: SmallVec<[Arg<'_>; 3]> = SmallVec::new();
            let mut next = replaced.iter().peekable();
            for (index, input) in inputs.iter().enumerate() {
                match next.next_if(|(at, _)| *at == index) {
                    Some((_, tensor)) => args.push(tensor.arg()),
                    None => args.push(input.arg()),
                }
            }
            let mut outputs: SmallVec<[Arg<'_>; 1]> = SmallVec::from_buf([out.arg()]);
            outputs.extend(more.iter().map(DeviceTensor::arg));
            let call = Call {
                kernel: choice.kernel,
                op,
                inputs: &args,
                outputs: &outputs,
                workspace: workspace.as_ref().map(Storage::region),
                caller: Some(caller),
                timing: timing.as_ref(),
            };
            let start = if recordings.is_on() { nanoseconds() } else { 0 };
            let check = device.launch(&call)?;
            if start > 0 {
                let entry = EagerEntry {
                    op: op.name(),
                    name: request.name.clone(),
                    ty: output_types[0],
                    requested: request.spec.clone(),
                    device: logical.id(),
                    reason: choice.reason,
                    location: caller.location(),
                    thread: this_thread(),
                    start,
                    end: nanoseconds(),
                    timing: timing.clone(),
                };
                recordings.take(Entry::Eager(entry));
                recordings.take(Entry::Memory(MemoryEntry::now(logical)));
            }
            if let Some(check) = check {
                logical.watch(&check);
                checks.push(check);
            }
        }
        for other in more.iter_mut() {
            other.checks.clone_from(&checks);
        }
        out.checks = checks;
        Ok(out)
    }

    fn allow_copy(
        &self,
        config: &Config,
        op: &Op,
        input: &DeviceTensor,
        index: usize,
        to: &LogicalDevice,
        request: &Request,
    ) -> Result<()> {
        let policy = request.copies.unwrap_or(config.copies);
        if policy == Policy::Allow || input.replica_on(to.id()).is_some() {
            return Ok(());
        }
        let (from, to, bytes) = (input.device(), to.id(), input.tensor_type().bytes());
        if policy::copy(policy, || Error::copy_forbidden(op.name(), index, from, to, bytes))? {
            self.notices.say_once(Topic::Copy, op.name(), input.dtype, to, || {
                format!(
                    "{} on {to} copies its input {index} ({}) from {from}; keep it there with to_device, or run \
                     the op on {from}",
                    op.name(),
                    reason::bytes(bytes)
                )
            });
        }
        Ok(())
    }

    /// Says what people asked to be told of a placement, and books fallbacks.
    fn announce(
        &self,
        config: &Config,
        candidate: &Candidate<'_>,
        request: &Request,
        choice: &Choice<'_>,
        caller: Caller,
    ) {
        let Choice { device, reason: why, extra_seconds, .. } = choice;
        let (op, ran) = (candidate.op.name(), device.id());
        let line = || caller.location();
        if config.log_placement {
            self.notices.say(Topic::Placement, format!("{op} -> {ran}: {why} ({})", line()));
        }
        let Some(wanted) = why.wanted() else { return };
        let report = policy::report(why, request, request.fallback.unwrap_or(config.fallback), Moment::Tried);
        if report.booked {
            self.journal.ledger.book_fallback(wanted, ran, op, caller.location(), extra_seconds.max(0.0));
        }
        if report.said {
            self.notices.say_once(Topic::Fallback, op, candidate.dtype(), wanted, || {
                let cost = match why {
                    Reason::NoKernel { .. } | Reason::TooLarge { .. } if *extra_seconds > 0.0 => {
                        format!(", about {} longer than there", reason::seconds(*extra_seconds))
                    }
                    _ => String::new(),
                };
                format!("{op} runs on {ran}{cost}: {why} ({})", line())
            });
        }
    }
}

#[cold]
fn foreign_runtime(op: &Op, tensor: &DeviceTensor) -> Error {
    Error::argument(
        op.name(),
        format!("an input on {} belongs to another runtime", tensor.device()),
        "use tensors of one runtime together; read it and make it anew to carry it over",
    )
}
