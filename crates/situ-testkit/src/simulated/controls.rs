//! What a test can do to a simulated GPU while it is in use.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What goes wrong at a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device is lost.
    Lost,
    /// The kernel panics.
    Panic,
}

/// Switches and counters, shared by every logical device opened on one simulated GPU.
#[derive(Debug, Default)]
pub struct Controls {
    lost: Mutex<Option<String>>,
    blocks_left: Mutex<Option<usize>>,
    fault: Mutex<Option<(usize, Fault)>>,
    blocks: AtomicUsize,
    launches: AtomicUsize,
    opened: AtomicUsize,
    peer_copies: AtomicUsize,
}

impl Controls {
    /// The driver says that the device is gone.
    pub fn lose(&self, why: &str) {
        *self.lost.lock().expect("no test panics while it holds this") = Some(why.to_string());
    }

    /// Why the device is lost, once it is.
    pub fn lost(&self) -> Option<String> {
        self.lost.lock().expect("no test panics while it holds this").clone()
    }

    /// Lets `n` more launches go well; the next one does not.
    pub fn fail_launch_after(&self, n: usize, fault: Fault) {
        *self.fault.lock().expect("no test panics while it holds this") = Some((n, fault));
    }

    /// Counts a launch down to the fault that was set, if one was.
    pub(super) fn next_fault(&self) -> Option<Fault> {
        let mut fault = self.fault.lock().expect("no test panics while it holds this");
        match &mut *fault {
            Some((0, _)) => fault.take().map(|(_, fault)| fault),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        }
    }

    /// Lets `n` more blocks be had, then none; `None` ends that.
    pub fn fail_blocks_after(&self, n: Option<usize>) {
        *self.blocks_left.lock().expect("no test panics while it holds this") = n;
    }

    /// Counts a block that is asked for; false if it is refused.
    pub(super) fn grant_block(&self) -> bool {
        self.blocks.fetch_add(1, Relaxed);
        match &mut *self.blocks_left.lock().expect("no test panics while it holds this") {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// Blocks asked for so far.
    pub fn blocks_asked_for(&self) -> usize {
        self.blocks.load(Relaxed)
    }

    /// Kernels launched so far.
    pub fn launches(&self) -> usize {
        self.launches.load(Relaxed)
    }

    pub(super) fn count_launch(&self) {
        self.launches.fetch_add(1, Relaxed);
    }

    /// Logical devices opened so far.
    pub fn opened(&self) -> usize {
        self.opened.load(Relaxed)
    }

    /// Copies between its logical devices without the host so far.
    pub fn peer_copies(&self) -> usize {
        self.peer_copies.load(Relaxed)
    }

    pub(super) fn count_peer_copy(&self) {
        self.peer_copies.fetch_add(1, Relaxed);
    }

    pub(super) fn count_open(&self) {
        self.opened.fetch_add(1, Relaxed);
    }
}
