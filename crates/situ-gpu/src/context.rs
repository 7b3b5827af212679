//! A wgpu device and queue on an adapter, which the logical GPUs there share: they see each other's buffers,
//! and are lost together.
//!
//! Promises: several contexts may share an adapter; no error of the driver becomes a panic; a lost device is
//! remembered, because calls on it stay silent. A device that rejected work counts as lost: what that work
//! should have written holds something else, and nobody can tell any more who depends on it. In a fork's
//! child every device is lost. Leaves ordering of work to `stream` and memory limits to the runtime.

use crate::adapters::Adapter;
use crate::borders::Borders;
use crate::clock::Clock;
use crate::fault::Fault;
use situ_core::Process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A wgpu device and queue, with what went wrong on them.
pub(crate) struct Context {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    /// Whether kernels may compute with 64-bit integers.
    pub(crate) int64: bool,
    borders: Borders,
    condition: Arc<Condition>,
    /// Where its driver's threads are.
    home: Process,
}

/// Written by driver callbacks, on whatever thread they run.
#[derive(Default)]
struct Condition {
    lost: AtomicBool,
    why: Mutex<String>,
}

impl Condition {
    /// Remembers that the device is of no more use. The first reason stays.
    fn lose(&self, why: String) {
        let mut known = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.lost.load(Ordering::Relaxed) {
            *known = why;
            self.lost.store(true, Ordering::Release);
        }
    }
}

/// What the child of a fork is told.
const FORKED: &str = "this process was forked from the one that found the GPU, and drivers do not survive a fork; \
    fork before situ is used, or start a new process";

impl Context {
    /// Opens a device of its own on `adapter`.
    pub(crate) fn open(adapter: &Adapter) -> Result<Context, Fault> {
        if !adapter.home.is_current() {
            return Err(Fault::Lost(FORKED.into()));
        }
        let limits = adapter.handle.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("situ"),
            // Launches can be timed where the adapter has a clock, numbers joined where it has subgroups, and
            // 64-bit integers computed with where it has those.
            required_features: adapter.features
                & (Clock::FEATURES | wgpu::Features::SUBGROUP | wgpu::Features::SHADER_INT64),
            required_limits: limits.clone(),
            // The pool above us makes few, large blocks: sub-allocation by wgpu would only add slack.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.handle.request_device(&descriptor))
            .map_err(|e| Fault::Internal(format!("cannot open {}: {e}", adapter.name)))?;
        let condition = Arc::new(Condition::default());
        let seen = condition.clone();
        device.set_device_lost_callback(move |reason, message| {
            seen.lose(format!("{reason:?}: {message}"));
        });
        let seen = condition.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            tracing::error!(%error, "uncaptured GPU error");
            seen.lose(format!(
                "its driver rejected work, and results since then can't be told from garbage: {}",
                describe(&error)
            ));
        }));
        let borders = Borders::uncounted(adapter, &limits);
        let mut context = Context {
            device,
            queue,
            limits,
            int64: adapter.features.contains(wgpu::Features::SHADER_INT64),
            borders,
            condition,
            home: adapter.home,
        };
        context.borders = borders.counted(&context, adapter)?;
        Ok(context)
    }

    /// `Err` once the device is lost.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.loss().map_or(Ok(()), |why| Err(Fault::Lost(why)))
    }

    /// Whether the driver runs kernels on the CPU: loads are dear there, and shared memory is no help.
    pub(crate) fn is_software(&self) -> bool {
        self.borders.software
    }

    /// What it can do in one go.
    pub(crate) fn borders(&self) -> &Borders {
        &self.borders
    }

    /// Why the device is gone for good, once it is.
    pub(crate) fn loss(&self) -> Option<String> {
        if !self.home.is_current() {
            return Some(FORKED.into());
        }
        let lost = self.condition.lost.load(Ordering::Acquire);
        lost.then(|| self.condition.why.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Destroys the device under its users, as a driver reset would.
    #[cfg(test)]
    pub(crate) fn destroy(&self) {
        self.device.destroy();
        let _ = self.device.poll(wgpu::PollType::Poll);
    }

    /// Runs `make`, turning the errors it causes on this thread into a `Fault`. `bytes` is what it allocates.
    pub(crate) fn guarded<T>(&self, bytes: u64, make: impl FnOnce(&wgpu::Device) -> T) -> Result<T, Fault> {
        self.check()?;
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let made = make(&self.device);
        // Scopes nest: the last one pushed is popped first.
        let errors = [validation, internal, memory].map(|scope| pollster::block_on(scope.pop()));
        match errors.into_iter().flatten().next() {
            None => {
                self.check()?;
                Ok(made)
            }
            Some(wgpu::Error::OutOfMemory { .. }) => Err(Fault::OutOfMemory { bytes }),
            Some(error) => Err(Fault::Internal(describe(&error))),
        }
    }

    /// Waits until the work submitted up to `submission` is done and its callbacks have run.
    pub(crate) fn wait(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<(), Fault> {
        let waited = self.device.poll(wgpu::PollType::Wait { submission_index: submission, timeout: None });
        self.check()?;
        waited.map(|_| ()).map_err(|e| Fault::Internal(format!("waiting for the GPU: {e}")))
    }
}

fn describe(error: &wgpu::Error) -> String {
    use std::error::Error;
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
