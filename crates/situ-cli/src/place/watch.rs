//! How a search is going, on standard error where that is a terminal, and Ctrl-C.

use situ::place::{Budget, Progress};
use situ::reason::seconds;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A search that is watched.
pub(super) struct Watching {
    stop: Arc<AtomicBool>,
    is_terminal: bool,
}

/// From here on Ctrl-C asks the search to stop; a second one ends the program.
pub(super) fn start() -> Watching {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // Without a handler Ctrl-C ends the program at once: less polite, still right.
    let _ = ctrlc::set_handler(handler);
    Watching { stop, is_terminal: std::io::stderr().is_terminal() }
}

impl Watching {
    /// The budget, watched.
    pub(super) fn over(&self, budget: Budget) -> Budget {
        let budget = budget.stop_when(self.stop.clone());
        if self.is_terminal { budget.watch(show) } else { budget }
    }

    pub(super) fn end(&self) {
        if self.is_terminal {
            eprint!("\r\x1b[K");
        }
    }
}

fn show(progress: &Progress) {
    let gap = (progress.makespan / progress.lower_bound - 1.0) * 100.0;
    let line = format!(
        "{:6.1} s  makespan {}  at most {gap:.2}% above the best  {} moves",
        progress.seconds,
        seconds(progress.makespan),
        progress.moves
    );
    eprint!("\r{line}\x1b[K");
    let _ = std::io::stderr().flush();
}
