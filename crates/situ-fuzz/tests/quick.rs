//! A quick run of every target: its seeds, then mutations of them. `SITU_FUZZ` says how many,
//! `SITU_FUZZ_FROM` where to begin.

use situ_fuzz::{Mutator, TARGETS, target};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// No input of a few kilobytes needs a piece of memory beyond this.
const LARGEST: usize = 64 << 20;

/// The system's allocator, with a note of the largest piece that this thread asked for.
struct Watched;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

fn note(bytes: usize) {
    let _ = ASKED.try_with(|asked| asked.set(asked.get().max(bytes)));
}

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is the one that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

fn from_env(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

fn run(name: &str) {
    let target = target(name).expect("a target of that name");
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty());
    for seed in &seeds {
        assert!((target.run)(seed), "{name} refuses {}", String::from_utf8_lossy(seed));
    }
    let (from, count) = (from_env("SITU_FUZZ_FROM", 0), from_env("SITU_FUZZ", 1500));
    let mut accepted = 0;
    for number in from..from + count {
        let input = Mutator::new(number).change(&seeds);
        ASKED.with(|asked| asked.set(0));
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let shown = || format!("{name}, mutation {number}: {:?}", String::from_utf8_lossy(&input));
        match outcome {
            Ok(fits) => accepted += u64::from(fits),
            Err(_) => panic!("a panic: {}", shown()),
        }
        let asked = ASKED.with(Cell::get);
        assert!(asked <= LARGEST, "{asked} bytes at once: {}", shown());
    }
    println!("{name}: {count} mutations, {accepted} of them accepted");
}

#[test]
fn every_target_is_run_here() {
    let here = include_str!("quick.rs");
    for target in TARGETS {
        assert!(here.contains(&format!("\n    {},\n", target.name)), "{}", target.name);
    }
}

macro_rules! quick {
    ($($name:ident,)*) => {$(
        #[test]
        fn $name() {
            run(stringify!($name));
        }
    )*};
}

quick! {
    device_name,
    graph_text,
    cost_graph,
    machine,
    record,
    pattern,
    calibration,
    npy,
    idx,
    csv,
    checkpoint,
}
