//! A fork-join pool of our own: it splits one kernel over cores, and is quick enough for kernels of a few microseconds.
//!
//! What it promises:
//! - [`Threads::run`] returns when every task has run, each exactly once; which thread runs a task is not defined, so a
//!   kernel whose tasks are cut by shape alone gives the same bits with any number of threads.
//! - Without a core list the calling thread takes part, and `count - 1` workers exist. With a core list every task runs
//!   on pinned threads, one per listed core, and the caller waits: its own core is not the pool's to use. The first of them
//!   leads: it takes what callers hand over, one caller after the other, and takes part in it. [`Threads::lead`] hands over
//!   a whole stretch of work, so that the runs within it cost no hand-off each.
//! - Workers spin for a short while after a job and then sleep: a burst of small kernels pays no wake-ups, an idle pool
//!   costs nothing.
//! - One job runs in the pool at a time. A second caller of an unpinned pool runs its tasks inline on its own thread;
//!   a second caller of a pinned pool waits its turn, because the work may not leave those cores.
//! - `run` from inside a task, of this pool or any other, runs inline: that cannot deadlock.
//! - In the child of a fork, where the workers are not, every run is the caller's own, cores or no cores.
//! - A panic in a task skips the tasks not yet begun, is raised again in the caller, and leaves the pool usable.
//!
//! It leaves to others how work is cut into tasks, and turning panics into errors.

use situ_core::Process;
use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a worker looks for the next job before it sleeps, and a caller for the end of its job.
const SPIN: Duration = Duration::from_micros(20);
/// The same for a worker that would have been needed again soon: between the steps of a loop, say, while the next batch is gathered.
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
    /// With `cores`, there is one worker per listed core, pinned to it, and `count` is the length of the list.
    /// Fails if a thread can't be made or pinned (a core that does not exist, or that this process may not use).
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
        let leader: Option<Arc<Shared>> = cores.map(|_| Arc::default());
        let home = Process::current();
        let mut threads = Threads { shared: Arc::default(), leader, workers: Vec::new(), count, home };
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
                        handed_over.work();
                    }
                    None => {
                        IN_TASK.set(true);
                        shared.work();
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

    /// Whether work may run on the calling thread: it is the pool's leader, or the pool has no cores of its own.
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

    /// Runs `f(0)`, …, `f(tasks - 1)`, in any order and on any thread of the pool, and returns when all are done.
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
        // A ticket counts tasks in 32 bits; nobody has more, but a wrong answer would be silent.
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
            shared.stop.store(true, Ordering::SeqCst);
            drop(shared.sleep.lock().unwrap_or_else(PoisonError::into_inner));
            shared.wake.notify_all();
        }
        for worker in self.workers.drain(..) {
            // A worker catches every panic of a task, so there is nothing to learn from the result.
            let _ = worker.join();
        }
    }
}

/// What the current job is. Read by a thread only after it has claimed one of the job's tasks.
struct Job {
    /// The caller's closure with its lifetime erased.
    f: *const (dyn Fn(usize) + Sync),
    tasks: u32,
}

/// Keeps words that different threads write on different cache lines (two lines: processors fetch them in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

/// State shared by the caller and the workers.
///
/// A job's life: the caller holds `turn`, writes `job`, sets `pending` to the number of tasks, and publishes the ticket
/// `(generation, tasks left to claim)`. A thread claims a task by taking one off the ticket with a compare-and-swap, and only
/// then reads `job`: `pending` cannot reach zero before the claimed task is done, so the job is still the one the ticket
/// belonged to. A thread that finds the ticket empty takes its finished tasks off `pending`, and touches the job no more.
struct Shared {
    ticket: Padded<AtomicU64>,
    pending: Padded<AtomicUsize>,
    job: Padded<std::cell::UnsafeCell<Job>>,
    /// Held by the caller whose job is in the pool.
    turn: Mutex<()>,
    /// The first panic of the current job; `failed` is its flag, so that tasks need not lock.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    failed: AtomicBool,
    /// Workers asleep (or about to be) on `wake`.
    sleepers: AtomicUsize,
    sleep: Mutex<()>,
    wake: Condvar,
    /// Whether the caller sleeps (or is about to) on `done`.
    caller_sleeps: AtomicBool,
    done_lock: Mutex<()>,
    done: Condvar,
    stop: AtomicBool,
}

// SAFETY: every field but `job` is shareable by itself. `job` is written only by the holder of `turn` while `pending` is
// zero and read only by threads that hold a claim, which the ticket's release/acquire pair orders after the write.
// The closure behind the pointer is `Sync`.
unsafe impl Sync for Shared {}
// SAFETY: as above; nothing in it is tied to a thread.
unsafe impl Send for Shared {}

impl Default for Shared {
    fn default() -> Shared {
        let no_job = Job { f: &|_| (), tasks: 0 };
        Shared {
            ticket: Padded::default(),
            pending: Padded::default(),
            job: Padded(std::cell::UnsafeCell::new(no_job)),
            turn: Mutex::default(),
            panic: Mutex::default(),
            failed: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            sleep: Mutex::default(),
            wake: Condvar::new(),
            caller_sleeps: AtomicBool::new(false),
            done_lock: Mutex::default(),
            done: Condvar::new(),
            stop: AtomicBool::new(false),
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("pending", &self.pending.0).finish_non_exhaustive()
    }
}

impl Shared {
    /// Puts one job through the pool. `turn` proves that no other job is in it.
    fn run_job(&self, _turn: &MutexGuard<'_, ()>, tasks: usize, f: &(dyn Fn(usize) + Sync), take_part: bool) {
        // SAFETY: only the lifetime changes. The pointer is used by claimed tasks alone, and this function does not
        // return before every task is done.
        let f = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(f) };
        // SAFETY: `pending` is zero and `turn` is held, so no thread has a claim and nobody else writes.
        unsafe { *self.job.0.get() = Job { f, tasks: tasks as u32 } };
        self.pending.0.store(tasks, Ordering::Relaxed);
        let generation = (self.ticket.0.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.ticket.0.store((generation << 32) | tasks as u64, Ordering::SeqCst);
        self.wake_workers(if take_part { tasks - 1 } else { tasks });
        if take_part {
            IN_TASK.set(true);
            self.run_claimed_tasks();
            IN_TASK.set(false);
        }
        self.wait_until_done();
        if self.failed.swap(false, Ordering::Relaxed) {
            let payload = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            resume_unwind(payload.unwrap_or_else(|| Box::new("a task panicked")));
        }
    }

    /// Wakes at most `wanted` sleeping workers. The ticket is published, so a worker not counted here will see it.
    fn wake_workers(&self, wanted: usize) {
        let sleepers = self.sleepers.load(Ordering::SeqCst);
        if sleepers == 0 {
            return;
        }
        drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
        if wanted >= sleepers {
            self.wake.notify_all();
        } else {
            (0..wanted).for_each(|_| self.wake.notify_one());
        }
    }

    /// Claims and runs tasks until none is left to claim, then reports them done.
    fn run_claimed_tasks(&self) {
        let mut finished = 0;
        while let Some(left) = self.claim() {
            // SAFETY: this thread holds a claim, so the job is not rewritten until the claim is reported done.
            let job = unsafe { &*self.job.0.get() };
            if !self.failed.load(Ordering::Relaxed) {
                // SAFETY: the caller of `run_job` keeps the closure alive until the claim is reported done.
                let f = unsafe { &*job.f };
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| f((job.tasks - left) as usize))) {
                    self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
                    self.failed.store(true, Ordering::Relaxed);
                }
            }
            finished += 1;
        }
        if finished > 0 && self.pending.0.fetch_sub(finished, Ordering::SeqCst) == finished {
            // The job may be gone from here on: only the fields that outlive it are touched.
            if self.caller_sleeps.load(Ordering::SeqCst) {
                drop(self.done_lock.lock().unwrap_or_else(PoisonError::into_inner));
                self.done.notify_all();
            }
        }
    }

    /// Takes one task off the ticket; returns how many were left before.
    fn claim(&self) -> Option<u32> {
        let mut ticket = self.ticket.0.load(Ordering::Acquire);
        loop {
            let left = ticket as u32;
            if left == 0 {
                return None;
            }
            match self.ticket.0.compare_exchange_weak(
                ticket,
                ticket - 1,
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(left),
                Err(now) => ticket = now,
            }
        }
    }

    fn wait_until_done(&self) {
        if spin_until(SPIN, || self.pending.0.load(Ordering::Acquire) == 0) {
            return;
        }
        self.caller_sleeps.store(true, Ordering::SeqCst);
        let mut guard = self.done_lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.pending.0.load(Ordering::SeqCst) != 0 {
            guard = self.done.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        self.caller_sleeps.store(false, Ordering::SeqCst);
    }

    /// The life of a worker.
    fn work(&self) {
        let ready = || self.ticket.0.load(Ordering::SeqCst) as u32 != 0 || self.stop.load(Ordering::SeqCst);
        let mut patience = SPIN;
        loop {
            if !spin_until(patience, ready) {
                let asleep = Instant::now();
                let mut guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                while !ready() {
                    guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
                }
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
                // Waking up takes as long as a nap: who was woken soon waits longer the next time.
                patience = if asleep.elapsed() < LONG_SPIN { LONG_SPIN } else { SPIN };
            }
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            self.run_claimed_tasks();
        }
    }
}

/// Spins until `ready`, for `patience` at most; says whether it became ready.
fn spin_until(patience: Duration, ready: impl Fn() -> bool) -> bool {
    // Reading the clock costs as much as several looks at the flag.
    const LOOKS_PER_CLOCK_READ: u32 = 32;
    let mut started = None;
    loop {
        for _ in 0..LOOKS_PER_CLOCK_READ {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        let now = Instant::now();
        if now - *started.get_or_insert(now) >= patience {
            return false;
        }
    }
}

/// Pins the calling thread to one core.
#[cfg(target_os = "linux")]
fn pin_to_core(core: usize) -> io::Result<()> {
    let refused = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot pin a thread to core {core}: {error}"))
    };
    if core >= libc::CPU_SETSIZE as usize {
        return Err(refused(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    // SAFETY: an all-zero `cpu_set_t` is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `core` is below CPU_SETSIZE, checked above.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: thread 0 is the caller, and the size is that of the set.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    if result == 0 { Ok(()) } else { Err(refused(io::Error::last_os_error())) }
}

/// Only Linux lets us pin threads; elsewhere a core list is refused rather than quietly ignored.
#[cfg(not(target_os = "linux"))]
fn pin_to_core(core: usize) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("cannot pin a thread to core {core}: not on this system"),
    ))
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
