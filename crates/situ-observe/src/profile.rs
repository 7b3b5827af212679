//! Recording a part of a program.

use crate::findings;
use crate::gather::gather;
use crate::record::Record;
use situ_core::Result;
use situ_runtime::Runtime;
use situ_runtime::recording::{DeviceTimes, Options, Recording};
use situ_tensor::current_runtime;

/// Runs `body` and records what it does: every op, copy and wait on every device, the memory, and why each op
/// is where it is.
///
/// All that the program does on the current runtime meanwhile is recorded, whichever thread does it. GPUs are
/// asked for the times of their passes, which costs next to nothing; [`Profiler::detailed`] asks for those of
/// each kernel.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Function, tensor};
/// let f = Function::new(|x| x.exp()?.sum(&[])).named("sum of exp");
/// let x = tensor([1.0f32, 2.0, 3.0])?;
/// let (sum, record) = situ_observe::profile(|| f.call(&x))?;
/// assert_eq!(record.plans[0].function, "sum of exp");
/// assert_eq!(record.calls.len(), 1);
/// println!("{} -> {}", record.tables(), sum.item::<f32>()?);
/// # Ok(()) }
/// ```
pub fn profile<T>(body: impl FnOnce() -> Result<T>) -> Result<(T, Record)> {
    Profiler::new().run(body)
}

/// How to record.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// let profiler = situ_observe::Profiler::new().title("three sums").capacity(10_000);
/// let (_, record) = profiler.run(|| (0..3).try_for_each(|_| {
///     situ_tensor::tensor([1.0f32, 2.0])?.sum(&[]).map(drop)
/// }))?;
/// assert_eq!(record.title, "three sums");
/// assert_eq!(record.eager[0].count, 3);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    title: String,
    options: Options,
    runtime: Option<Runtime>,
}

impl Profiler {
    /// One that records everything, passes of GPUs by their own clocks.
    pub fn new() -> Profiler {
        Profiler::default()
    }

    /// What the record is to be called.
    pub fn title(self, title: impl Into<String>) -> Profiler {
        Profiler { title: title.into(), ..self }
    }

    /// How many events are kept at most; beyond that, the oldest go, and are counted.
    pub fn capacity(self, events: usize) -> Profiler {
        Profiler { options: Options { capacity: events, ..self.options }, ..self }
    }

    /// Asks GPUs for the time of each kernel, which then needs a pass of its own: more is known, and the
    /// program may be slower.
    pub fn detailed(self) -> Profiler {
        Profiler { options: Options { device_times: DeviceTimes::Launches, ..self.options }, ..self }
    }

    /// Leaves the devices' clocks alone: of a GPU, only the times at which the host launched kernels are
    /// known.
    pub fn host_times(self) -> Profiler {
        Profiler { options: Options { device_times: DeviceTimes::Unasked, ..self.options }, ..self }
    }

    /// Records only what the calling thread does.
    pub fn this_thread(self) -> Profiler {
        Profiler { options: Options { this_thread: true, ..self.options }, ..self }
    }

    /// Records another runtime than the thread's current one.
    pub fn runtime(self, runtime: &Runtime) -> Profiler {
        Profiler { runtime: Some(runtime.clone()), ..self }
    }

    /// Begins to record.
    pub fn start(&self) -> Profiling {
        let runtime = self.runtime.clone().unwrap_or_else(current_runtime);
        let recording = runtime.record(self.options);
        Profiling { title: self.title.clone(), runtime, recording }
    }

    /// Runs `body` and records what it does.
    pub fn run<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<(T, Record)> {
        let profiling = self.start();
        let value = body()?;
        Ok((value, profiling.finish()))
    }
}

/// A profile under way: for what does not fit into a closure.
#[derive(Debug)]
#[must_use = "a profile ends when it is dropped: finish it to have its record"]
pub struct Profiling {
    title: String,
    runtime: Runtime,
    recording: Recording,
}

impl Profiling {
    /// Ends it without looking for what could be better.
    pub(crate) fn record(self) -> Record {
        gather(&self.runtime, self.recording.finish(), self.title)
    }

    /// Ends it. This waits for the devices, describes every plan that ran and looks for what could be better,
    /// which takes a few milliseconds for each plan.
    pub fn finish(self) -> Record {
        let mut record = self.record();
        record.findings = findings::find(&record);
        record
    }
}
