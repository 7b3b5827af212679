//! Threads of a pipeline: named, on the cores they were given, ended with the stage that started them.

use crate::stream::Context;
use situ_core::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

/// Threads that are waited for when this is dropped. Whoever owns it tells them to end first.
#[derive(Default)]
pub(crate) struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    /// Starts a thread, which is joined when this is dropped.
    pub(crate) fn start(&mut self, context: &Context, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let cores = context.cores.clone();
        let started = std::thread::Builder::new().name("situ-data".to_string()).spawn(move || {
            if let Some(cores) = &cores {
                pin(cores);
            }
            body();
        });
        match started {
            Ok(handle) => {
                self.0.push(handle);
                Ok(())
            }
            Err(error) => Err(Error::argument(
                "dataset",
                format!("no thread could be started: {error}"),
                "use fewer workers",
            )),
        }
    }

    pub(crate) fn join(&mut self) {
        for thread in self.0.drain(..) {
            // Bodies catch what their closures do; one that panics all the same has ended, which is what was
            // waited for.
            let _ = thread.join();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.join();
    }
}

/// Keeps this thread to some cores. Where the system refuses, it runs anywhere: slower, not wrong.
#[cfg(target_os = "linux")]
fn pin(cores: &[usize]) {
    // SAFETY: the set is plain memory, and cores beyond its size are left out.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &core in cores.iter().filter(|&&core| core < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(core, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_: &[usize]) {}

/// Runs a program's closure; its panic becomes an error.
pub(crate) fn guarded<T>(stage: &'static str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(stage, &*panic)))
}

#[cold]
fn panicked(stage: &'static str, panic: &(dyn Any + Send)) -> Error {
    let said = panic.downcast_ref::<&str>().copied();
    let said =
        said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message");
    Error::argument(stage, format!("the closure panicked: {said}"), "return an error instead")
}
