//! What the pool promises, shown.

use super::*;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

fn each_task_runs_once(threads: &Threads, tasks: usize) {
    let runs: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
    threads.run(tasks, &|task| {
        runs[task].fetch_add(1, Ordering::Relaxed);
    });
    assert!(runs.iter().all(|run| run.load(Ordering::Relaxed) == 1));
}

#[test]
fn every_task_runs_exactly_once_with_any_number_of_threads() {
    for count in [0, 1, 2, 3, 5, 8] {
        let threads = Threads::new(count, None).unwrap();
        assert_eq!(threads.count(), count.max(1));
        for tasks in [0, 1, 2, 3, 7, 64, 1000] {
            each_task_runs_once(&threads, tasks);
        }
    }
}

#[test]
fn many_short_jobs_in_a_row_lose_no_task_and_no_write() {
    let threads = Threads::new(3, None).unwrap();
    let mut data = [0u64; 5];
    for round in 1..=20_000u64 {
        let base = data.as_mut_ptr() as usize;
        // SAFETY: task i writes only element i, and `data` outlives the call.
        threads.run(5, &|task| unsafe { *(base as *mut u64).add(task) += 1 });
        assert_eq!(data, [round; 5]);
    }
}

#[test]
fn a_pool_that_has_gone_to_sleep_wakes_up() {
    let threads = Threads::new(2, None).unwrap();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(2));
        each_task_runs_once(&threads, 16);
    }
}

#[test]
fn a_caller_that_waits_long_is_woken() {
    let threads = Threads::new(2, None).unwrap();
    let barrier = Barrier::new(2);
    let caller = std::thread::current().id();
    // Both threads hold one task each; the worker's lasts far longer than any spinning.
    threads.run(2, &|_| {
        barrier.wait();
        if std::thread::current().id() != caller {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_stays_usable() {
    for count in [1, 2, 4] {
        let threads = Threads::new(count, None).unwrap();
        for bad in [0, 5, 63] {
            let result = catch_unwind(AssertUnwindSafe(|| {
                threads.run(64, &|task| assert!(task != bad, "task {task} is bad"));
            }));
            let payload = result.unwrap_err();
            assert_eq!(*payload.downcast_ref::<String>().unwrap(), format!("task {bad} is bad"));
            each_task_runs_once(&threads, 100);
        }
    }
}

#[test]
fn a_run_inside_a_task_runs_inline() {
    let threads = Threads::new(3, None).unwrap();
    let inner_runs = AtomicUsize::new(0);
    threads.run(10, &|_| {
        let me = std::thread::current().id();
        threads.run(10, &|_| {
            assert_eq!(std::thread::current().id(), me);
            inner_runs.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(inner_runs.into_inner(), 100);
}

#[test]
fn callers_at_the_same_time_each_get_all_their_tasks_done() {
    let threads = Threads::new(2, None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| each_task_runs_once(&threads, 9)));
        }
    });
}

#[test]
fn a_thread_is_dealt_neighbouring_tasks_and_the_same_ones_again() {
    let threads = Threads::new(2, None).unwrap();
    let caller = std::thread::current().id();
    for _ in 0..50 {
        // Neither thread is ahead of the other by more than a task, so nobody has time to help.
        let barrier = Barrier::new(2);
        let mine = Mutex::new(vec![]);
        threads.run(8, &|task| {
            barrier.wait();
            if std::thread::current().id() == caller {
                mine.lock().unwrap().push(task);
            }
        });
        assert_eq!(mine.into_inner().unwrap(), [0, 1, 2, 3]);
    }
}

#[test]
fn tasks_of_a_thread_that_is_held_up_are_taken_over() {
    let threads = Threads::new(2, None).unwrap();
    let left = AtomicUsize::new(99);
    // Whoever has the first task waits for all others.
    threads.run(100, &|task| {
        if task == 0 {
            while left.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
        } else {
            left.fetch_sub(1, Ordering::SeqCst);
        }
    });
}

#[cfg(target_os = "linux")]
mod pinned {
    use super::*;

    /// A core this process may use: in a container core 0 need not be one.
    fn some_core() -> usize {
        // SAFETY: an all-zero set is valid, and its size is passed along.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), 0);
            (0..libc::CPU_SETSIZE as usize).find(|core| libc::CPU_ISSET(*core, &set)).unwrap()
        }
    }

    #[test]
    fn tasks_run_on_the_listed_cores_and_never_on_the_caller() {
        let core = some_core();
        let threads = Threads::new(7, Some(&[core, core])).unwrap();
        assert_eq!(threads.count(), 2);
        let seen = Mutex::new(HashSet::new());
        threads.run(50, &|_| {
            // SAFETY: takes no arguments, and only asks.
            let cpu = unsafe { libc::sched_getcpu() };
            seen.lock().unwrap().insert((cpu as usize, std::thread::current().id()));
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.iter().all(|(cpu, _)| *cpu == core));
        assert!(seen.iter().all(|(_, thread)| *thread != std::thread::current().id()));
    }

    #[test]
    fn a_single_task_and_callers_at_once_stay_on_the_listed_core() {
        let core = some_core();
        let threads = Threads::new(1, Some(&[core])).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let me = std::thread::current().id();
                    for _ in 0..100 {
                        threads.run(1, &|_| assert_ne!(std::thread::current().id(), me));
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_on_a_pinned_worker_reaches_the_caller() {
        let threads = Threads::new(1, Some(&[some_core()])).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| threads.run(1, &|_| panic!("no")))).is_err());
        each_task_runs_once(&threads, 3);
    }

    #[test]
    fn work_that_is_led_runs_on_the_cores_and_its_runs_use_all_of_them() {
        let core = some_core();
        let threads = Threads::new(2, Some(&[core, core])).unwrap();
        let me = std::thread::current().id();
        let arrived = AtomicUsize::new(0);
        threads.lead(&|| {
            assert!(threads.is_here() && std::thread::current().id() != me);
            let leader = std::thread::current().id();
            // Both threads are needed to get past this, and one of them is the leader.
            threads.run(2, &|_| {
                arrived.fetch_add(1, Ordering::SeqCst);
                while arrived.load(Ordering::SeqCst) < 2 {
                    std::thread::yield_now();
                }
            });
            threads.lead(&|| assert_eq!(std::thread::current().id(), leader));
        });
        assert!(!threads.is_here());
        assert!(catch_unwind(AssertUnwindSafe(|| threads.lead(&|| panic!("no")))).is_err());
        each_task_runs_once(&threads, 5);
    }

    #[test]
    fn a_core_that_does_not_exist_is_an_error_that_names_it() {
        for core in [1_000_000, libc::CPU_SETSIZE as usize - 1] {
            let error = Threads::new(1, Some(&[core])).unwrap_err();
            assert!(error.to_string().contains(&core.to_string()), "{error}");
        }
        assert!(Threads::new(1, Some(&[])).is_err());
    }
}
