//! Runs plans.
//!
//! One lane on one CPU runs on the calling thread, without a lock or a hand-off. Otherwise each lane has a worker; a lane's
//! progress is a counter, and a step waits until the counters it needs are far enough. The first failure stops every lane.

use super::bind::Frame;
use super::compile::Outcome;
use super::plan::{Action, Lane, LaneIndex, Nested, Operand, Plan, Step};
use super::record::{Event, EventKind, Off, Recorder};
use super::workers;
use crate::ledger::{Book, Ledger};
use crate::runtime::Runtime;
use crate::storage::DeviceTensor;
use crate::transfer;
use situ_core::{DeviceKind, Error, Reason, Result};
use situ_device::{Arg, Call, Device};
use situ_ir::Op;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a lane looks again and again before it sleeps: hand-offs are mostly shorter.
const SPIN: Duration = Duration::from_micros(20);

/// What every step is told.
struct Run<'c, R> {
    plan: &'c Plan,
    frame: &'c Frame<'c>,
    ledger: &'c Ledger,
    book: &'c Book,
    runtime: &'c Runtime,
    recorder: &'c R,
    /// The number of the call, from which random streams come.
    call: u64,
}

pub(crate) fn run<R: Recorder>(
    runtime: &Runtime,
    plan: &Plan,
    book: &Book,
    captures: &[DeviceTensor],
    arguments: &[&DeviceTensor],
    variables: &[DeviceTensor],
    call: u64,
    recorder: &R,
) -> Result<Outcome> {
    for device in &plan.devices {
        if device.is_open() {
            device.device()?;
        }
    }
    let frame = Frame::new(plan, captures, arguments, variables)?;
    let run = Run { plan, frame: &frame, ledger: &runtime.inner.ledger, book, runtime, recorder, call };
    if plan.inline {
        for lane in &plan.lanes {
            for step in &lane.steps {
                run.step(step)?;
            }
        }
    } else {
        run.lanes()?;
    }
    let outputs = plan.outputs.iter().map(|y| frame.result(y)).collect::<Result<_>>()?;
    let updates = plan.updates.iter().map(|(v, y)| Ok((*v, frame.result(y)?))).collect::<Result<_>>()?;
    Ok(Outcome { outputs, updates })
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
    fn lanes(&self) -> Result<()> {
        let lanes = &self.plan.lanes;
        let progress = Progress {
            over: lanes.iter().map(|_| AtomicUsize::new(0)).collect(),
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
            sleeping: AtomicUsize::new(0),
            bell: Mutex::new(()),
            rung: Condvar::new(),
        };
        let work = |index: usize| {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                if let Err(error) = self.lane(index, &lanes[index], &progress) {
                    progress.fail(error);
                }
            }));
            if panicked.is_err() {
                progress.fail(Error::argument(
                    "function",
                    "a lane panicked",
                    "this is a defect of the executor",
                ));
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
        for step in &lane.steps {
            if !step.waits.is_empty() {
                let start = self.now();
                for &(other, steps) in &step.waits {
                    if !progress.wait(other, steps) {
                        return Ok(());
                    }
                }
                self.note(step, EventKind::Wait, "wait", start);
            }
            if progress.failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.step(step)?;
            progress.step_over(index);
        }
        Ok(())
    }

    #[inline]
    fn now(&self) -> f64 {
        if R::ON { self.recorder.origin().elapsed().as_secs_f64() } else { 0.0 }
    }

    #[inline]
    fn note(&self, step: &Step, kind: EventKind, name: &'static str, start: f64) {
        if R::ON {
            let device = self.plan.devices[step.device].id();
            let (node, source) = (step.node, step.source);
            self.recorder.take(Event { kind, name, node, device, start, end: self.now(), source });
        }
    }

    fn device(&self, index: usize) -> Result<&dyn Device> {
        self.plan.devices[index].target()
    }

    #[inline]
    fn step(&self, step: &Step) -> Result<()> {
        let start = self.now();
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
                let op = match op {
                    // Each call draws from streams of its own.
                    Op::Random(random) if self.call > 0 => {
                        let mut random = *random;
                        random.stream = random.stream.wrapping_add(self.call << 32);
                        fresh = Op::Random(random);
                        &fresh
                    }
                    op => op,
                };
                let call = Call {
                    kernel: *kernel,
                    op,
                    inputs: &reads,
                    outputs: &writes,
                    workspace: workspace.map(|w| self.frame.region(w)).transpose()?,
                    location: step.source.0,
                };
                let check = self.device(step.device)?.launch(&call)?;
                self.frame.keep_check(step.check, check);
                self.note(step, EventKind::Launch, op.name(), start);
                Ok(())
            }
            Action::Copy { from, to, number } => {
                let source = self.copy(from, to, *number)?;
                let kind = EventKind::Copy { from: self.plan.devices[source].id(), bytes: from.bytes() };
                self.note(step, kind, "copy", start);
                Ok(())
            }
            Action::Cond { then, otherwise, inputs, outputs } => {
                let test = self.frame.tensor(&inputs[0], Reason::View)?;
                let chosen = if self.holds(&test, step)? { then } else { otherwise };
                let made = self.nested(chosen, &inputs[1..])?;
                self.bind(outputs, made)
            }
            Action::While { condition, body, inputs, outputs } => {
                let reason = Reason::View;
                let mut state =
                    inputs.iter().map(|o| self.frame.tensor(o, reason)).collect::<Result<Vec<_>>>()?;
                loop {
                    let goes_on = self.nested_on(condition, &state)?;
                    let Some(test) = goes_on.first() else { return self.bind(outputs, state) };
                    if !self.holds(test, step)? {
                        return self.bind(outputs, state);
                    }
                    state = self.nested_on(body, &state)?;
                }
            }
        }
    }

    /// Copies a dense tensor; gives the device it came from.
    fn copy(&self, from: &Operand, to: &Operand, number: usize) -> Result<usize> {
        let clock = Instant::now();
        let buffers = &self.plan.buffers;
        let (source, target) = (buffers[from.buffer].device, buffers[to.buffer].device);
        let bytes = from.bytes();
        let (read, write) = (self.frame.region(from.buffer)?, self.frame.region(to.buffer)?);
        if bytes > 0 {
            if self.plan.devices[source].id().kind == DeviceKind::Cpu {
                // SAFETY: the step that wrote the source is over, and no step writes to it while this one reads.
                let data = unsafe { transfer::host_bytes(&read, bytes) };
                let data = data.ok_or_else(|| transfer::unaddressable(self.plan.devices[source].id()))?;
                self.device(target)?.upload(write, data)?;
            } else {
                let host =
                    write.host().ok_or_else(|| transfer::unaddressable(self.plan.devices[target].id()))?;
                // SAFETY: the buffer belongs to this step until it is over; readers wait for that.
                let into = unsafe { std::slice::from_raw_parts_mut(host.as_ptr(), bytes) };
                self.device(source)?.download(read, into)?;
            }
        }
        self.book.note(number, clock.elapsed().as_secs_f64());
        Ok(source)
    }

    fn holds(&self, test: &DeviceTensor, step: &Step) -> Result<bool> {
        let mut byte = [0];
        let location = step.source.0.unwrap_or(Location::caller());
        transfer::read(self.ledger, test, &mut byte, location)?;
        Ok(byte[0] != 0)
    }

    fn nested(&self, nested: &Nested, inputs: &[Operand]) -> Result<Vec<DeviceTensor>> {
        let reason = Reason::View;
        let given = inputs.iter().map(|o| self.frame.tensor(o, reason)).collect::<Result<Vec<_>>>()?;
        self.nested_on(nested, &given)
    }

    fn nested_on(&self, nested: &Nested, given: &[DeviceTensor]) -> Result<Vec<DeviceTensor>> {
        let arguments: SmallVec<[&DeviceTensor; 4]> = given.iter().collect();
        Ok(run(self.runtime, &nested.plan, self.book, &[], &arguments, &[], self.call, &Off)?.outputs)
    }

    fn bind(&self, outputs: &[Operand], made: Vec<DeviceTensor>) -> Result<()> {
        for (operand, tensor) in outputs.iter().zip(made) {
            // What a branch gives may be a view of what it was given.
            let location = Location::caller();
            let whole = tensor.layout.is_dense() && tensor.layout.offset() == 0;
            let tensor = if whole { tensor } else { transfer::dense_copy(&tensor, location)? };
            self.frame.bind(operand, tensor)?;
        }
        Ok(())
    }
}
