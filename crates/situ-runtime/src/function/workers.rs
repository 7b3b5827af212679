//! Threads that run the lanes of plans. They are kept for the next call, and there are as many as lanes ever
//! ran at once.

use situ_core::Process;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex};

/// A job handed to a worker: which part of whose work.
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    part: usize,
    done: *const Latch,
}

// SAFETY: what the pointers lead to outlives the job: `run` waits for the latch before it returns.
unsafe impl Send for Job {}

/// Counts jobs down.
#[derive(Default)]
struct Latch {
    left: Mutex<usize>,
    all_done: Condvar,
}

impl Latch {
    fn count_down(&self) {
        let mut left = self.left.lock().unwrap_or_else(|p| p.into_inner());
        *left -= 1;
        // Notified under the lock: the waiter may free the latch as soon as the lock is released.
        self.all_done.notify_all();
    }

    fn wait(&self) {
        let mut left = self.left.lock().unwrap_or_else(|p| p.into_inner());
        while *left > 0 {
            left = self.all_done.wait(left).unwrap_or_else(|p| p.into_inner());
        }
    }
}

/// Workers without a job, and the process that they are in.
static IDLE: Mutex<(Option<Process>, Vec<Sender<Job>>)> = Mutex::new((None, Vec::new()));

/// Takes an idle worker.
fn take_idle() -> Option<Sender<Job>> {
    let mut idle = IDLE.lock().unwrap_or_else(|p| p.into_inner());
    if !idle.0.is_some_and(Process::is_current) {
        // A fork's child has none of its parent's threads.
        *idle = (Some(Process::current()), Vec::new());
    }
    idle.1.pop()
}

/// Gives workers back.
fn give_back(workers: impl IntoIterator<Item = Sender<Job>>) {
    IDLE.lock().unwrap_or_else(|p| p.into_inner()).1.extend(workers);
}

/// Starts a worker; `None` where the system has no thread left.
fn start() -> Option<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let own = sender.clone();
    let work = move || {
        while let Ok(job) = jobs.recv() {
            // SAFETY: the caller of `run` keeps both alive until the latch is down.
            let (work, done) = unsafe { (&*job.work, &*job.done) };
            // The work reports its own failures; a panic must not cost the others their latch.
            let _ = catch_unwind(AssertUnwindSafe(|| work(job.part)));
            give_back([own.clone()]);
            done.count_down();
        }
    };
    std::thread::Builder::new().name("situ-lane".to_string()).spawn(work).ok().map(|_| sender)
}

/// Calls `work(0)` to `work(parts − 1)`, all at once: part 0 on this thread, the others on workers. Returns
/// when all are done; false, with nothing begun, where the system has no threads for them.
pub(crate) fn run(parts: usize, work: &(dyn Fn(usize) + Sync)) -> bool {
    let mut crew = Vec::with_capacity(parts.saturating_sub(1));
    while crew.len() + 1 < parts {
        let next = take_idle().or_else(start);
        match next {
            Some(worker) => crew.push(worker),
            None => {
                give_back(crew);
                return false;
            }
        }
    }
    let done = Latch { left: Mutex::new(crew.len()), all_done: Condvar::new() };
    // SAFETY: only the lifetime is forgotten; this function does not return before every job is done with it.
    let work_for_jobs: *const (dyn Fn(usize) + Sync + 'static) =
        unsafe { std::mem::transmute(std::ptr::from_ref(work)) };
    for (index, worker) in crew.iter().enumerate() {
        let job = Job { work: work_for_jobs, part: index + 1, done: &raw const done };
        if let Err(failed) = worker.send(job) {
            // A worker never ends while its sender is held here; if one did, its part is done on this thread.
            work(failed.0.part);
            done.count_down();
        }
    }
    let own = catch_unwind(AssertUnwindSafe(|| work(0)));
    done.wait();
    if let Err(panic) = own {
        std::panic::resume_unwind(panic);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_parts_run_at_once_and_a_panic_in_one_does_not_stop_the_next_call() {
        for _ in 0..50 {
            let arrived = AtomicUsize::new(0);
            let together = run(3, &|_| {
                arrived.fetch_add(1, Ordering::SeqCst);
                while arrived.load(Ordering::SeqCst) < 3 {
                    std::thread::yield_now();
                }
            });
            assert!(together && arrived.into_inner() == 3);
        }
        let count = AtomicUsize::new(0);
        run(2, &|part| {
            count.fetch_add(1, Ordering::SeqCst);
            assert!(part == 0, "part {part} fails on purpose");
        });
        assert_eq!(count.into_inner(), 2);
    }
}
