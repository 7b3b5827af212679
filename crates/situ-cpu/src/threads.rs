//! A fork-join pool of our own: it splits one kernel over cores, and is quick enough for kernels of a few
//! microseconds.
//!
//! What it promises:
//! - [`Threads::run`] returns when every task has run, each exactly once; which thread runs a task is not
//!   defined, so a kernel whose tasks are cut by shape alone gives the same bits with any number of threads.
//! - Without a core list the calling thread takes part, and `count - 1` workers exist. With a core list every
//!   task runs on pinned threads, one per listed core, and the caller waits: its own core is not the pool's
//!   to use. The first of them leads: it takes what callers hand over, one caller after the other, and takes
//!   part in it. [`Threads::lead`] hands over a whole stretch of work, so that the runs within it cost no
//!   hand-off each.
//! - Each thread is dealt a run of neighbouring tasks, the same for every job of as many tasks, and helps
//!   others when it is through: so a core mostly meets memory that it has touched before, and reads long
//!   streams. On two cores that is worth up to half of the time of an op that waits for memory.
//! - Workers spin for a short while after a job and then sleep: a burst of small kernels pays no wake-ups, an
//!   idle pool costs nothing.
//! - One job runs in the pool at a time. A second caller of an unpinned pool runs its tasks inline on its own
//!   thread; a second caller of a pinned pool waits its turn, because the work may not leave those cores.
//! - `run` from inside a task, of this pool or any other, runs inline: that cannot deadlock.
//! - In the child of a fork, where the workers are not, every run is the caller's own, cores or no cores.
//! - A panic in a task skips the tasks not yet begun, is raised again in the caller, and leaves the pool
//!   usable.
//!
//! It leaves to others how work is cut into tasks, and turning panics into errors.

mod jobs;
mod pin;

use jobs::Shared;
use pin::pin_to_core;
use situ_core::Process;
use std::cell::Cell;
use std::io;
use std::sync::mpsc;
use std::sync::{Arc, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a worker looks for the next job before it sleeps, and a caller for the end of its job.
const SPIN: Duration = Duration::from_micros(20);
/// The same for a worker that would have been needed again soon: between the steps of a loop, say, while the
/// next batch is gathered.
const LONG_SPIN: Duration = Duration::from_micros(150);

thread_local! {
    /// Whether this thread is inside a task; see the module's words on nested runs.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
    /// The pool, if any, that this thread leads; only compared.
    static LEADS: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// A fork-join pool. Dropping it joins its workers.
#[derive(Debug)]
pub struct Threads {
    shared: Arc<Shared>,
    /// Where callers hand over to the leader of a pool with a core list.
    leader: Option<Arc<Shared>>,
    workers: Vec<JoinHandle<()>>,
    count: usize,
    /// Where the workers are.
    home: Process,
}

impl Threads {
    /// A pool in which `count` threads (at least one) run tasks.
    ///
    /// With `cores`, there is one worker per listed core, pinned to it, and `count` is the length of the
    /// list. Fails if a thread can't be made or pinned (a core that does not exist, or that this process may
    /// not use).
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicUsize, Ordering};
    /// let threads = situ_cpu::threads::Threads::new(2, None)?;
    /// let sum = AtomicUsize::new(0);
    /// threads.run(100, &|task| { sum.fetch_add(task, Ordering::Relaxed); });
    /// assert_eq!(sum.into_inner(), 4950);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(count: usize, cores: Option<&[usize]>) -> io::Result<Threads> {
        let count = match cores {
            Some([]) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a core list must name at least one core",
                ));
            }
            Some(cores) => cores.len(),
            None => count.max(1),
        };
        let leader = cores.map(|_| Arc::new(Shared::new(1)));
        let home = Process::current();
        let shared = Arc::new(Shared::new(count));
        let mut threads = Threads { shared, leader, workers: Vec::new(), count, home };
        let (started, starts) = mpsc::channel();
        for index in usize::from(threads.leader.is_none())..count {
            let core = cores.map(|cores| cores[index]);
            // The first thread of a core list leads: its jobs are what callers hand over.
            let leads = threads.leader.clone().filter(|_| index == 0);
            let (shared, started) = (threads.shared.clone(), started.clone());
            let worker = std::thread::Builder::new().name(format!("situ-cpu-{index}")).spawn(move || {
                let pinned = core.map_or(Ok(()), pin_to_core);
                let usable = pinned.is_ok();
                // The receiver lives until every worker has reported, or the constructor has failed anyway.
                let _ = started.send(pinned);
                match leads {
                    _ if !usable => (),
                    Some(handed_over) => {
                        LEADS.set(Arc::as_ptr(&shared));
                        handed_over.work(0);
                    }
                    None => {
                        IN_TASK.set(true);
                        shared.work(index);
                    }
                }
            })?;
            threads.workers.push(worker);
        }
        for _ in 0..threads.workers.len() {
            starts.recv().map_err(|_| io::Error::other("a worker thread ended before it started"))??;
        }
        Ok(threads)
    }

    /// How many threads run tasks, the caller included where it takes part.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether tasks run only on the cores of a list.
    pub fn is_pinned(&self) -> bool {
        self.leader.is_some()
    }

    /// Whether work may run on the calling thread: it is the pool's leader, or the pool has no cores of its
    /// own.
    #[inline]
    pub fn is_here(&self) -> bool {
        self.leader.is_none()
            || IN_TASK.get()
            || LEADS.get() == Arc::as_ptr(&self.shared)
            || !self.home.is_current()
    }

    /// Runs `work` where runs of this pool need no hand-off: on its leader, or right here where it has none.
    ///
    /// A panic in it is raised again here.
    pub fn lead(&self, work: &(dyn Fn() + Sync)) {
        match &self.leader {
            Some(leader) if !self.is_here() => {
                let turn = leader.turn.lock().unwrap_or_else(PoisonError::into_inner);
                leader.run_job(&turn, 1, &|_| work(), false);
            }
            _ => work(),
        }
    }

    /// Runs `f(0)`, …, `f(tasks - 1)`, in any order and on any thread of the pool, and returns when all are
    /// done.
    ///
    /// A panic in a task is raised again here.
    pub fn run(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        if !self.is_here() {
            return self.lead(&|| self.run(tasks, f));
        }
        if IN_TASK.get() || self.count == 1 || tasks <= 1 || !self.home.is_current() {
            (0..tasks).for_each(f);
            return;
        }
        let turn = match self.shared.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                (0..tasks).for_each(f);
                return;
            }
        };
        // Tasks are counted in 32 bits; nobody has more, but a wrong answer would be silent.
        let mut first = 0;
        while first < tasks {
            let part = (tasks - first).min(u32::MAX as usize);
            self.shared.run_job(&turn, part, &|task| f(first + task), true);
            first += part;
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if !self.home.is_current() {
            // There is nobody to be stopped, and waiting for them would take for ever.
            return;
        }
        for shared in self.leader.iter().chain([&self.shared]) {
            shared.stop();
        }
        for worker in self.workers.drain(..) {
            // A worker catches every panic of a task, so there is nothing to learn from the result.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
