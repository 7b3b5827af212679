//! What the runtime tells a person while a program runs: fallbacks, implicit copies, placements.
//!
//! Goes to standard error unless the program takes it over; a warning that nobody sees is no warning.

use situ_core::{DType, DeviceId};
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, RwLock};

/// One thing said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notice {
    /// What it is about, so that a program can pick.
    pub topic: Topic,
    /// What is said, in one sentence.
    pub text: String,
}

/// What a notice is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Topic {
    /// An op did not run where it was asked to.
    Fallback,
    /// An op needed a copy that nobody asked for.
    Copy,
    /// Where an op was placed, and why.
    Placement,
    /// A function that does what functions should not, such as being traced at every call.
    Function,
    /// Costs of a device that were kept and can't be used.
    Costs,
}

/// Something that is told of notices.
pub type Listener = Box<dyn Fn(&Notice) + Send + Sync>;

/// Where notices go, and what was said already.
#[derive(Default)]
pub(crate) struct Notices {
    listener: RwLock<Option<Arc<Listener>>>,
    said: Mutex<HashSet<(Topic, &'static str, DType, DeviceId)>>,
}

impl Notices {
    pub(crate) fn set_listener(&self, listener: Option<Listener>) {
        let mut held = self.listener.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = std::mem::replace(&mut *held, listener.map(Arc::new));
        drop(held);
        // What a listener holds may speak when it is dropped.
        drop(before);
    }

    pub(crate) fn say(&self, topic: Topic, text: String) {
        let notice = Notice { topic, text };
        // No lock is held while it listens: it may put another in its place, or make the runtime speak.
        let listener = self.listener.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        match listener {
            Some(listener) => listener(&notice),
            None => eprintln!("situ: {}", notice.text),
        }
    }

    /// Says it the first time for this op, dtype and device.
    pub(crate) fn say_once(
        &self,
        topic: Topic,
        op: &'static str,
        dtype: DType,
        device: DeviceId,
        text: impl FnOnce() -> String,
    ) {
        let first = self
            .said
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .insert((topic, op, dtype, device));
        if first {
            self.say(topic, text());
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}
