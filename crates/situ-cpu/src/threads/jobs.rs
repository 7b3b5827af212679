//! What the threads of a pool share: a job's tasks, dealt to threads, and how threads wait for them and for
//! each other.
//!
//! A job's life: the caller holds `turn`, sets `pending` to the number of tasks, and deals them out: every
//! thread has a [`TaskQueue`] with a run of consecutive tasks and the closure. A thread claims a task by
//! taking it off a queue with a compare-and-swap, and only then reads the queue's closure: `pending` cannot
//! reach zero before the claimed task is done, so the closure is that of the job the task belongs to,
//! whichever that is. A thread takes its own tasks from the front; when it has none left it steals from
//! others, from the back, so that what they touch stays with them as far as possible. A thread that finds
//! nothing takes its finished tasks off `pending`, and touches the job no more.

use super::{IN_TASK, LONG_SPIN, SPIN};
use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A task: the caller's closure with its lifetime erased.
type Closure = *const (dyn Fn(usize) + Sync);

/// Tasks dealt to one thread. What wakes the thread, says what to do and counts it is on one cache line (two:
/// processors fetch them in pairs), so that handing over costs one transfer between cores.
#[repr(align(128))]
struct TaskQueue {
    /// The first task that is left, and the end of them: 32 bits each.
    tasks: AtomicU64,
    closure: UnsafeCell<Closure>,
    /// Whether the thread sleeps, or is about to.
    asleep: AtomicBool,
    /// The thread, once it runs; a caller that takes part has a queue and no entry here.
    thread: OnceLock<Thread>,
}

// SAFETY: every field but `closure` is shareable by itself. `closure` is written only by the holder of `turn`
// while `pending` is zero and read only by threads that hold a claim, which the release/acquire pair on
// `tasks` orders after the write. The closure behind the pointer is `Sync`.
unsafe impl Sync for TaskQueue {}
// SAFETY: as above; nothing in it is tied to a thread.
unsafe impl Send for TaskQueue {}

impl TaskQueue {
    fn new() -> TaskQueue {
        TaskQueue {
            tasks: AtomicU64::new(0),
            closure: UnsafeCell::new(&|_| ()),
            asleep: AtomicBool::new(false),
            thread: OnceLock::new(),
        }
    }

    fn is_empty(&self) -> bool {
        let (first, end) = run_of(self.tasks.load(Ordering::SeqCst));
        first >= end
    }

    /// Takes the first task that is left.
    fn claim_first(&self) -> Option<usize> {
        self.claim(|first, end| (first < end).then(|| (first, word_of(first + 1, end))))
    }

    /// Takes the last task, if so many others are left.
    fn claim_last(&self, others: u32) -> Option<usize> {
        self.claim(|first, end| {
            (end.saturating_sub(first) > others).then(|| (end - 1, word_of(first, end - 1)))
        })
    }

    /// Takes the task that `choose` gives with what is left then.
    ///
    /// That the word may have become another job's meanwhile does no harm: then the task is that job's.
    fn claim(&self, choose: impl Fn(u32, u32) -> Option<(u32, u64)>) -> Option<usize> {
        let mut word = self.tasks.load(Ordering::Acquire);
        loop {
            let (first, end) = run_of(word);
            let (task, left) = choose(first, end)?;
            match self.tasks.compare_exchange_weak(word, left, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(task as usize),
                Err(now) => word = now,
            }
        }
    }
}

fn word_of(first: u32, end: u32) -> u64 {
    (u64::from(first) << 32) | u64::from(end)
}

fn run_of(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Keeps words that different threads write on different cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

/// State shared by the caller and the workers.
pub(super) struct Shared {
    queues: Box<[TaskQueue]>,
    pending: Padded<AtomicUsize>,
    /// Held by the caller whose job is in the pool.
    pub(super) turn: Mutex<()>,
    /// The first panic of the current job; `failed` is its flag, so that tasks need not lock.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    failed: AtomicBool,
    /// Whether the caller sleeps (or is about to) on `done`.
    caller_sleeps: AtomicBool,
    done_lock: Mutex<()>,
    done: Condvar,
    stop: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("pending", &self.pending.0).finish_non_exhaustive()
    }
}

impl Shared {
    /// Room for so many threads, a caller that takes part being the first of them.
    pub(super) fn new(threads: usize) -> Shared {
        Shared {
            queues: (0..threads).map(|_| TaskQueue::new()).collect(),
            pending: Padded::default(),
            turn: Mutex::default(),
            panic: Mutex::default(),
            failed: AtomicBool::new(false),
            caller_sleeps: AtomicBool::new(false),
            done_lock: Mutex::default(),
            done: Condvar::new(),
            stop: AtomicBool::new(false),
        }
    }

    /// Puts one job of at most 2^32 - 1 tasks through the pool. `turn` proves that no other job is in it. A
    /// caller that takes part is the first thread.
    pub(super) fn run_job(
        &self,
        _turn: &MutexGuard<'_, ()>,
        tasks: usize,
        f: &(dyn Fn(usize) + Sync),
        take_part: bool,
    ) {
        // SAFETY: only the lifetime changes. The pointer is used by claimed tasks alone, and this function
        // does not return before every task is done.
        let f = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(f) };
        self.pending.0.store(tasks, Ordering::Relaxed);
        // Consecutive tasks to each, and the same ones to the same thread whenever there are as many: what a
        // task touches is then most often in the cache of the core that touched it last, and streams through
        // memory are long.
        let parts = tasks.min(self.queues.len());
        for (i, queue) in self.queues[..parts].iter().enumerate() {
            let cut = |i: usize| (i * tasks).div_ceil(parts) as u32;
            // SAFETY: `pending` was zero and `turn` is held, so no thread has a claim and nobody else writes.
            unsafe { *queue.closure.get() = f };
            queue.tasks.store(word_of(cut(i), cut(i + 1)), Ordering::SeqCst);
            // A thread that is not seen asleep here sees its tasks before it goes to sleep.
            if queue.asleep.load(Ordering::SeqCst)
                && queue.asleep.swap(false, Ordering::SeqCst)
                && let Some(thread) = queue.thread.get()
            {
                thread.unpark();
            }
        }
        if take_part {
            IN_TASK.set(true);
            self.run_claimed_tasks(0);
            IN_TASK.set(false);
        }
        self.wait_until_done();
        if self.failed.swap(false, Ordering::Relaxed) {
            let payload = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            resume_unwind(payload.unwrap_or_else(|| Box::new("a task panicked")));
        }
    }

    /// Claims and runs tasks until none is left to claim, thread `me`'s own first, then reports them done.
    fn run_claimed_tasks(&self, me: usize) {
        let started = Instant::now();
        let mut finished = 0;
        while let Some(task) = self.queues[me].claim_first() {
            self.run_task(&self.queues[me], task);
            finished += 1;
        }
        // The last task of a thread that is as quick as this one is about to be begun where its memory is
        // near: it is taken away only if it is still there after the time of a task.
        let patience = started.elapsed() / finished.max(1) as u32;
        let threads = self.queues.len();
        for queue in (1..threads).map(|i| &self.queues[(me + i) % threads]) {
            loop {
                let task = queue.claim_last(1).or_else(|| {
                    let gone = spin_until(patience, || queue.is_empty());
                    if gone { None } else { queue.claim_last(0) }
                });
                let Some(task) = task else { break };
                self.run_task(queue, task);
                finished += 1;
            }
        }
        if finished > 0 && self.pending.0.fetch_sub(finished, Ordering::SeqCst) == finished {
            // The job may be gone from here on: only the fields that outlive it are touched.
            if self.caller_sleeps.load(Ordering::SeqCst) {
                drop(self.done_lock.lock().unwrap_or_else(PoisonError::into_inner));
                self.done.notify_all();
            }
        }
    }

    /// Runs a task that was claimed from `queue` and is not yet reported done.
    fn run_task(&self, queue: &TaskQueue, task: usize) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: this thread holds a claim, so the closure is not rewritten, and the caller of `run_job`
        // keeps it alive, until the claim is reported done.
        let f = unsafe { &**queue.closure.get() };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| f(task))) {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
            self.failed.store(true, Ordering::Relaxed);
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

    /// The life of worker `me`.
    pub(super) fn work(&self, me: usize) {
        let queue = &self.queues[me];
        let _ = queue.thread.set(std::thread::current());
        let ready = || !queue.is_empty() || self.stop.load(Ordering::SeqCst);
        let mut patience = SPIN;
        loop {
            if !spin_until(patience, ready) {
                let fell_asleep = Instant::now();
                loop {
                    queue.asleep.store(true, Ordering::SeqCst);
                    if ready() {
                        break;
                    }
                    std::thread::park();
                }
                queue.asleep.store(false, Ordering::SeqCst);
                // Waking up takes as long as a nap: who was woken soon waits longer the next time.
                patience = if fell_asleep.elapsed() < LONG_SPIN { LONG_SPIN } else { SPIN };
            }
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            self.run_claimed_tasks(me);
        }
    }

    /// Ends the life of every worker.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.queues.iter().filter_map(|queue| queue.thread.get()) {
            thread.unpark();
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
