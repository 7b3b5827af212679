//! Work that waits until somebody asks for its result.

use super::memory::{Held, HeldArg};
use situ_core::{Error, Location, Result};
use situ_device::{Arg, Call, Check, Device, KernelId, Timing};
use situ_ir::Op;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Seconds of a clock that is the device's own: it is not the host's, as that of a real device is not.
fn device_clock() -> f64 {
    static ON: OnceLock<Instant> = OnceLock::new();
    1e4 + ON.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// A launch that has not run yet.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) kernel: KernelId,
    pub(super) op: Op,
    pub(super) inputs: Vec<HeldArg>,
    pub(super) outputs: Vec<HeldArg>,
    pub(super) workspace: Option<Held>,
    pub(super) location: Option<Location>,
    pub(super) check: Option<Arc<Check>>,
    pub(super) timing: Option<Arc<Timing>>,
}

/// One entry of the queue.
#[derive(Debug)]
pub(super) enum Work {
    Launch(Box<Launch>),
    Upload(Held, Vec<u8>),
    /// Bytes asked for, and where they are left.
    Read(Held, usize, Arc<OnceLock<Vec<u8>>>),
}

/// Entries in launch order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Work>,
    /// A failure that is not a matter of data: told to whoever waits next.
    failed: Option<Error>,
}

impl Queue {
    pub(super) fn push(&mut self, work: Work) {
        self.waiting.push_back(work);
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Runs everything, each launch taking at least `delay`.
    pub(super) fn run(&mut self, on: &dyn Device, delay: Duration) -> Result<()> {
        while let Some(work) = self.waiting.pop_front() {
            let done = match &work {
                Work::Upload(to, bytes) => on.upload(to.region(), bytes),
                Work::Read(from, bytes, left) => {
                    let mut read = vec![0; *bytes];
                    on.download(from.region(), &mut read).map(|()| {
                        let _ = left.set(read);
                    })
                }
                Work::Launch(launch) => {
                    let start = Instant::now();
                    std::thread::sleep(delay);
                    let done = launch.run(on);
                    if let Some(timing) = &launch.timing {
                        let end = device_clock();
                        timing.set_span(end - start.elapsed().as_secs_f64(), end);
                        timing.set(start.elapsed().as_secs_f64());
                    }
                    done
                }
            };
            if let Err(error) = done {
                self.failed.get_or_insert(error);
            }
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Launch {
    fn run(&self, on: &dyn Device) -> Result<()> {
        let inputs: Vec<Arg<'_>> = self.inputs.iter().map(HeldArg::arg).collect();
        let outputs: Vec<Arg<'_>> = self.outputs.iter().map(HeldArg::arg).collect();
        let call = Call {
            kernel: self.kernel,
            op: &self.op,
            inputs: &inputs,
            outputs: &outputs,
            workspace: self.workspace.as_ref().map(Held::region),
            caller: self.location.map(Into::into),
            timing: None,
        };
        match (on.launch(&call), &self.check) {
            (Ok(_), Some(check)) => check.settle(None),
            (Ok(_), None) => {}
            (Err(Error::Data(data)), Some(check)) => check.settle(Some((data.fault, data.row))),
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }
}
