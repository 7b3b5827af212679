//! Runs plans.
//!
//! One lane runs on the calling thread, without a lock or a hand-off; several have a worker each. A lane's
//! progress is a counter, and a step waits until the counters it needs are far enough. The first failure
//! stops every lane. A lane of a CPU that owns cores runs on those cores from its first step to its last.

use super::bind::Frame;
use super::compiled::Outcome;
use super::draw::Draw;
use super::plan::{Action, ExecutionPlan, Lane, LaneIndex, Nested, Operand, Step};
use super::record::{Off, Recorder};
use super::workers;
use crate::ledger::PlanCopies;
use crate::runtime::Runtime;
use crate::storage::DeviceTensor;
use crate::transfer;
use situ_core::{Caller, Error, Reason, Result};
use situ_device::{Arg, Call, Device, Region};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a lane looks again and again before it sleeps: hand-offs are mostly shorter.
const SPIN: Duration = Duration::from_micros(20);

/// One call of a plan.
pub(crate) struct Invocation<'c, R> {
    pub(crate) runtime: &'c Runtime,
    pub(crate) plan: &'c ExecutionPlan,
    pub(crate) book: &'c PlanCopies,
    pub(crate) captures: &'c [DeviceTensor],
    pub(crate) arguments: &'c [&'c DeviceTensor],
    pub(crate) variables: &'c [&'c DeviceTensor],
    /// Which streams random ops draw from.
    pub(crate) draw: Draw,
    pub(crate) recorder: &'c R,
    /// Whether it is a block of another plan, of whose steps no recorder is told.
    pub(crate) is_nested: bool,
}

/// What every step is told.
struct Run<'c, R> {
    call: &'c Invocation<'c, R>,
    plan: &'c ExecutionPlan,
    frame: &'c Frame<'c>,
}

pub(crate) fn run<R: Recorder>(call: &Invocation<'_, R>) -> Result<Outcome> {
    let plan = call.plan;
    for &device in &plan.used {
        if plan.devices[device].is_lost() {
            plan.devices[device].device()?;
        }
    }
    let mut frame = Frame::new(plan, call.captures, call.arguments, call.variables);
    frame.reserve()?;
    if R::ON {
        call.recorder.taken(&plan.devices, &plan.used);
    }
    let run = Run { call, plan, frame: &frame };
    match plan.lanes.as_slice() {
        [] => (),
        [only] => run.alone(only)?,
        _ => run.lanes()?,
    }
    if plan.updates.is_empty() && plan.puts.is_empty() {
        let mut outputs = Vec::with_capacity(plan.outputs.len());
        for (result, depends) in &plan.outputs {
            outputs.push(frame.result(result, depends)?);
        }
        return Ok(Outcome { outputs, updates: Vec::new(), rows: Vec::new() });
    }
    // A variable has no way back to what it was: it takes a value only when all went well that the call has
    // done.
    frame.settle()?;
    let mut outputs = Vec::with_capacity(plan.outputs.len());
    for (result, _) in &plan.outputs {
        outputs.push(frame.value(result)?);
    }
    let mut updates = Vec::with_capacity(plan.updates.len());
    for (variable, result) in &plan.updates {
        updates.push((*variable, frame.value(result)?));
    }
    let mut rows = Vec::with_capacity(plan.puts.len());
    for put in &plan.puts {
        rows.push((put.variable, frame.new_rows(put)?));
    }
    Ok(Outcome { outputs, updates, rows })
}

/// The error of a step, with the line of the program that it is for.
#[cold]
fn located(error: Error, step: &Step) -> Error {
    match error {
        Error::Kernel { op, device, why } if step.source.0.is_some() => {
            Error::Kernel { op, device, why: format!("{why} (called at {})", step.source) }
        }
        other => other,
    }
}

/// How far the lanes are.
struct Progress {
    over: Vec<AtomicUsize>,
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
    sleeping: AtomicUsize,
    bell: Mutex<()>,
    rung: Condvar,
}

impl Progress {
    fn step_over(&self, lane: LaneIndex) {
        self.over[lane].fetch_add(1, Ordering::SeqCst);
        self.ring();
    }

    fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(|p| p.into_inner()).get_or_insert(error);
        self.failed.store(true, Ordering::SeqCst);
        self.ring();
    }

    fn ring(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            let _held = self.bell.lock().unwrap_or_else(|p| p.into_inner());
            self.rung.notify_all();
        }
    }

    /// Waits until a lane is that far; false if a lane has failed meanwhile.
    fn wait(&self, lane: LaneIndex, steps: usize) -> bool {
        let there = || self.over[lane].load(Ordering::SeqCst) >= steps;
        let failed = || self.failed.load(Ordering::SeqCst);
        let start = Instant::now();
        while start.elapsed() < SPIN {
            if there() {
                return true;
            }
            if failed() {
                return false;
            }
            std::hint::spin_loop();
        }
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        let mut held = self.bell.lock().unwrap_or_else(|p| p.into_inner());
        while !there() && !failed() {
            held = self.rung.wait(held).unwrap_or_else(|p| p.into_inner());
        }
        drop(held);
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        there()
    }
}

impl<R: Recorder> Run<'_, R> {
    /// Runs the only lane.
    fn alone(&self, lane: &Lane) -> Result<()> {
        let done = AtomicUsize::new(0);
        let steps = || {
            self.caught(lane, &done, || {
                let mut since = 0;
                for (n, step) in lane.steps.iter().enumerate() {
                    // Only for the message of a panic: a plain store.
                    done.store(n, Ordering::Relaxed);
                    since = self.recorded(step, since).map_err(|error| located(error, step))?;
                }
                Ok(())
            })
        };
        let Some(device) = lane.within else { return steps() };
        let _turn = self.plan.devices[device].turn();
        let outcome = Mutex::new(Ok(()));
        self.device(device)?.within(&|| *outcome.lock().unwrap_or_else(|p| p.into_inner()) = steps());
        outcome.into_inner().unwrap_or_else(|p| p.into_inner())
    }

    /// Turns a panic in a lane's step into an error that names it.
    fn caught(&self, lane: &Lane, done: &AtomicUsize, work: impl FnOnce() -> Result<()>) -> Result<()> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let step = lane.steps.get(done.load(Ordering::Relaxed));
            let why = format!("it panicked: {text}");
            Err(match step {
                Some(step) => {
                    let (op, device) = (step.action.name(), self.plan.devices[step.device].id());
                    located(Error::Kernel { op, device, why }, step)
                }
                None => Error::argument("function", why, "this is a defect of the executor"),
            })
        })
    }

    fn lanes(&self) -> Result<()> {
        let lanes = &self.plan.lanes;
        // A lane that holds its device's threads may wait for another lane: all are had before the first
        // begins, and in the order of the devices, so that two calls never wait for each other.
        let mut held: SmallVec<[usize; 4]> = lanes.iter().filter_map(|lane| lane.within).collect();
        held.sort_unstable();
        let _turns: SmallVec<[MutexGuard<'_, ()>; 4]> =
            held.iter().map(|&device| self.plan.devices[device].turn()).collect();
        let progress = Progress {
            over: lanes.iter().map(|_| AtomicUsize::new(0)).collect(),
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
            sleeping: AtomicUsize::new(0),
            bell: Mutex::new(()),
            rung: Condvar::new(),
        };
        let work = |index: usize| {
            let lane = &lanes[index];
            let run = || {
                let over = &progress.over[index];
                if let Err(error) = self.caught(lane, over, || self.lane(index, lane, &progress)) {
                    progress.fail(error);
                }
            };
            match lane.within.map(|device| self.device(device)) {
                None => run(),
                Some(Ok(device)) => device.within(&run),
                Some(Err(error)) => progress.fail(error),
            }
        };
        if !workers::run(lanes.len(), &work) {
            return Err(Error::config(
                "run a function",
                "the system has no thread left for its devices",
                "end other threads",
            ));
        }
        match progress.error.into_inner().unwrap_or_else(|p| p.into_inner()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn lane(&self, index: LaneIndex, lane: &Lane, progress: &Progress) -> Result<()> {
        // The end of a step is the beginning of the next, if that has nothing to wait for: a clock is read
        // once for each.
        let mut since = 0;
        for step in &lane.steps {
            if !step.waits.is_empty() {
                let start = self.now();
                for &(other, steps) in &step.waits {
                    if !progress.wait(other, steps) {
                        return Ok(());
                    }
                }
                if R::ON {
                    self.call.recorder.waited(step.number, start);
                    since = 0;
                }
            }
            if progress.failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            since = self.recorded(step, since).map_err(|error| located(error, step))?;
            progress.step_over(index);
        }
        Ok(())
    }

    #[inline]
    fn now(&self) -> u64 {
        if R::ON { self.call.recorder.now() } else { 0 }
    }

    /// Runs a step, and tells the recorder, if there is one. It began at `since`, if that is no zero. Returns
    /// when it ended.
    #[inline]
    fn recorded(&self, step: &Step, since: u64) -> Result<u64> {
        let start = if since == 0 { self.now() } else { since };
        self.step(step)?;
        Ok(if R::ON { self.call.recorder.ran(step.number, start) } else { 0 })
    }

    #[inline]
    fn device(&self, index: usize) -> Result<&dyn Device> {
        match &self.plan.targets[index] {
            Some(device) => Ok(&**device),
            None => self.plan.devices[index].target(),
        }
    }

    #[inline]
    fn step(&self, step: &Step) -> Result<()> {
        match &step.action {
            Action::Launch { op, kernel, inputs, outputs, workspace } => {
                let mut reads: SmallVec<[Arg<'_>; 4]> = SmallVec::new();
                for operand in inputs {
                    reads.push(self.frame.arg(operand)?);
                }
                let mut writes: SmallVec<[Arg<'_>; 2]> = SmallVec::new();
                for operand in outputs {
                    writes.push(self.frame.arg(operand)?);
                }
                let fresh;
                let op = match op.stream() {
                    Some(stream) => {
                        fresh = op.with_stream(self.call.draw.stream(stream));
                        &fresh
                    }
                    None => op,
                };
                let call = Call {
                    kernel: *kernel,
                    op,
                    inputs: &reads,
                    outputs: &writes,
                    workspace: workspace.map(|w| self.frame.region(w)).transpose()?,
                    caller: step.source.0.map(Caller::from),
                    timing: self.call.recorder.timing(step.number),
                };
                if let Some(check) = self.device(step.device)?.launch(&call)? {
                    self.frame.keep_check(step.check, step.device, op, check)?;
                }
                Ok(())
            }
            Action::BeginDownload { from, to, number, sent } => {
                if self.ask(from, to, *number, *sent)? {
                    self.call.recorder.copied(step.number);
                }
                Ok(())
            }
            Action::Copy { from, to, through, number, sent, .. } => {
                self.copy(from, to, through.as_ref(), *number, *sent)
            }
            Action::Cond { then, otherwise, inputs, outputs } => {
                let test = self.frame.tensor(&inputs[0], Reason::View)?;
                let chosen = if self.holds(&test, step)? { then } else { otherwise };
                let made = self.nested(chosen, &inputs[1..], self.call.draw)?;
                self.bind(outputs, made)
            }
            Action::While { condition, body, inputs, outputs } => {
                let reason = Reason::View;
                let mut state =
                    inputs.iter().map(|o| self.frame.tensor(o, reason)).collect::<Result<Vec<_>>>()?;
                for trip in 0.. {
                    let draw = self.call.draw.of_trip(trip);
                    let goes_on = self.nested_on(condition, &state, draw)?;
                    let Some(test) = goes_on.first() else { return self.bind(outputs, state) };
                    if !self.holds(test, step)? {
                        return self.bind(outputs, state);
                    }
                    state = self.nested_on(body, &state, draw)?;
                }
                Ok(())
            }
        }
    }

    /// The host's memory behind an operand, to be written.
    fn host_memory<'a>(&self, to: &Operand, write: &Region<'a>, bytes: usize) -> Result<&'a mut [u8]> {
        let target = self.plan.buffers[to.buffer].device;
        let host = write.host().ok_or_else(|| transfer::unaddressable(self.plan.devices[target].id()))?;
        // SAFETY: the buffer belongs to the steps of this copy until they are over, one after the other;
        // readers wait for that.
        Ok(unsafe { std::slice::from_raw_parts_mut(host.as_ptr(), bytes) })
    }

    /// Asks a queue for bytes, or has them at once where it can't be asked: then it says so.
    fn ask(&self, from: &Operand, to: &Operand, number: usize, sent: usize) -> Result<bool> {
        let bytes = from.bytes();
        if bytes == 0 {
            return Ok(false);
        }
        let device = self.device(self.plan.buffers[from.buffer].device)?;
        let read = self.frame.region(from.buffer)?;
        let asked = device.begin_download(read, bytes)?;
        if asked.is_none() {
            let clock = Instant::now();
            let write = self.frame.region(to.buffer)?;
            device.download(read, self.host_memory(to, &write, bytes)?)?;
            self.call.book.note_ahead(number, clock.elapsed().as_secs_f64());
        }
        let copied = asked.is_none();
        self.frame.keep_sent(sent, asked);
        Ok(copied)
    }

    /// Copies a dense tensor.
    fn copy(
        &self,
        from: &Operand,
        to: &Operand,
        through: Option<&Operand>,
        number: usize,
        sent: Option<usize>,
    ) -> Result<()> {
        let clock = Instant::now();
        let buffers = &self.plan.buffers;
        let (source, target) = (buffers[from.buffer].device, buffers[to.buffer].device);
        let bytes = from.bytes();
        let write = self.frame.region(to.buffer)?;
        if bytes > 0 {
            if let Some(through) = through {
                let staging = self.frame.region(through.buffer)?;
                let memory = self.host_memory(through, &staging, bytes)?;
                match sent.map(|sent| self.frame.take_sent(sent)) {
                    Some(Some(arriving)) => arriving.finish(memory)?,
                    // The device had nothing to wait for: the bytes are there.
                    Some(None) => (),
                    None => self.device(source)?.download(self.frame.region(from.buffer)?, memory)?,
                }
                self.device(target)?.upload(write, memory)?;
            } else if let Some(sent) = sent {
                if let Some(arriving) = self.frame.take_sent(sent) {
                    arriving.finish(self.host_memory(to, &write, bytes)?)?;
                }
            } else if self.plan.devices[source].is_host() {
                let read = self.frame.region(from.buffer)?;
                // SAFETY: the step that wrote the source is over, and no step writes to it while this one
                // reads.
                let data = unsafe { transfer::host_bytes(&read, bytes) };
                let data = data.ok_or_else(|| transfer::unaddressable(self.plan.devices[source].id()))?;
                self.device(target)?.upload(write, data)?;
            } else if self.plan.devices[target].is_host() {
                let read = self.frame.region(from.buffer)?;
                self.device(source)?.download(read, self.host_memory(to, &write, bytes)?)?;
            } else {
                let read = self.frame.region(from.buffer)?;
                if !self.device(target)?.copy_from_peer(write, read, bytes)? {
                    // One of them was lost and opened again since, on its own.
                    let mut through = crate::host::zeroed("copy", bytes)?;
                    self.device(source)?.download(read, &mut through)?;
                    self.device(target)?.upload(write, &through)?;
                }
            }
        }
        let seconds = clock.elapsed().as_secs_f64();
        self.call.book.note(number, seconds);
        if self.call.is_nested && self.call.runtime.inner.journal.recordings.is_on() {
            self.call.runtime.inner.journal.copied_by_plan(self.call.book, number, seconds);
        }
        Ok(())
    }

    fn holds(&self, test: &DeviceTensor, step: &Step) -> Result<bool> {
        let mut byte = [0];
        let caller = step.source.0.map_or_else(|| Caller::here(), Caller::from);
        transfer::read(&self.call.runtime.inner.journal, test, &mut byte, caller)?;
        // The read has settled what the device had to say: a decision by bad data is none.
        step.depends.as_deref().map_or(Ok(()), |depends| self.frame.known(depends))?;
        Ok(byte[0] != 0)
    }

    fn nested(&self, nested: &Nested, inputs: &[Operand], draw: Draw) -> Result<Vec<DeviceTensor>> {
        let reason = Reason::View;
        let given = inputs.iter().map(|o| self.frame.tensor(o, reason)).collect::<Result<Vec<_>>>()?;
        self.nested_on(nested, &given, draw)
    }

    fn nested_on(&self, nested: &Nested, given: &[DeviceTensor], draw: Draw) -> Result<Vec<DeviceTensor>> {
        let arguments: SmallVec<[&DeviceTensor; 4]> = given.iter().collect();
        let inner = Invocation {
            plan: &nested.plan,
            captures: &[],
            arguments: &arguments,
            variables: &[],
            recorder: &Off,
            runtime: self.call.runtime,
            book: self.call.book,
            draw,
            is_nested: true,
        };
        Ok(run(&inner)?.outputs)
    }

    fn bind(&self, outputs: &[Operand], made: Vec<DeviceTensor>) -> Result<()> {
        // Plans of blocks end with whole tensors on the node's device, so nothing is copied here.
        outputs.iter().zip(made).try_for_each(|(operand, tensor)| self.frame.bind(operand, tensor))
    }
}
