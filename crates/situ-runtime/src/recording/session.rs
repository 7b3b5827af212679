//! Who is recording, and what they have so far.

use super::entry::{CopyEntry, Entry, FallbackEntry};
use super::{nanoseconds, this_thread};
use crate::ledger::{Cause, Route};
use crate::runtime::Runtime;
use situ_core::{DeviceId, Location, Reason};
use situ_device::Timing;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

/// How much devices are asked of how long launches took, by their own clocks. The later ask for more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum DeviceTimes {
    /// Nothing: only the host's clock is read.
    Unasked,
    /// The times of passes: what a queue runs as one is timed as one, which costs it next to nothing.
    #[default]
    Passes,
    /// The time of each launch, which then needs a pass of its own.
    Launches,
}

impl DeviceTimes {
    /// What a device is to fill in for one launch, if it is asked at all.
    pub(crate) fn timing(self) -> Option<Timing> {
        match self {
            DeviceTimes::Unasked => None,
            DeviceTimes::Passes => Some(Timing::with_others()),
            DeviceTimes::Launches => Some(Timing::default()),
        }
    }
}

/// What a recording asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// What devices are asked for.
    pub device_times: DeviceTimes,
    /// How many events are kept: beyond that, the oldest go.
    pub capacity: usize,
    /// Whether only what the thread that began it does is recorded.
    pub this_thread: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { device_times: DeviceTimes::default(), capacity: 200_000, this_thread: false }
    }
}

/// Those who are recording. Nearly always nobody.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    on: AtomicBool,
    sessions: RwLock<Vec<Arc<Session>>>,
}

#[derive(Debug)]
struct Session {
    options: Options,
    thread: u64,
    start: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Entry>,
    events: usize,
    dropped: u64,
}

impl Session {
    fn take(&self, entry: Entry) {
        if self.options.this_thread && entry.thread() != self.thread {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.events += entry.events();
        kept.entries.push_back(entry);
        while kept.events > self.options.capacity
            && kept.entries.len() > 1
            && let Some(oldest) = kept.entries.pop_front()
        {
            let events = oldest.events();
            kept.events -= events;
            kept.dropped += events as u64;
        }
    }
}

impl Recordings {
    /// Whether anybody is.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// The most that anybody wants of the devices' own times.
    pub(crate) fn device_times(&self) -> DeviceTimes {
        let wanted = |session: &Arc<Session>| session.options.device_times;
        self.sessions().iter().map(wanted).max().unwrap_or(DeviceTimes::Unasked)
    }

    fn sessions(&self) -> std::sync::RwLockReadGuard<'_, Vec<Arc<Session>>> {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an entry to everybody.
    pub(crate) fn take(&self, entry: Entry) {
        let sessions = self.sessions();
        for session in sessions.iter().skip(1) {
            session.take(entry.clone());
        }
        if let Some(first) = sessions.first() {
            first.take(entry);
        }
    }

    /// Gives everybody a copy that no step of a function stands for.
    #[cold]
    pub(crate) fn copied(
        &self,
        cause: Cause,
        (from, to, route): (DeviceId, DeviceId, Route),
        op: &'static str,
        location: Location,
        bytes: usize,
        seconds: f64,
    ) {
        let (end, thread) = (nanoseconds(), this_thread());
        let start = end.saturating_sub((seconds * 1e9) as u64);
        self.take(Entry::Copy(CopyEntry { cause, from, to, route, op, location, bytes, thread, start, end }));
    }

    /// Gives everybody a fallback that no other entry tells of.
    #[cold]
    pub(crate) fn fell_back(
        &self,
        wanted: DeviceId,
        device: DeviceId,
        op: &'static str,
        reason: Reason,
        location: Location,
    ) {
        let (time, thread) = (nanoseconds(), this_thread());
        self.take(Entry::Fallback(FallbackEntry { wanted, device, op, reason, location, thread, time }));
    }

    fn begin(&self, options: Options) -> Arc<Session> {
        let session = Arc::new(Session {
            options,
            thread: this_thread(),
            start: nanoseconds(),
            kept: Mutex::default(),
        });
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        sessions.push(session.clone());
        self.on.store(true, Relaxed);
        session
    }

    fn end(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|other| !Arc::ptr_eq(other, session));
        self.on.store(!sessions.is_empty(), Relaxed);
    }
}

/// A recording under way: it ends when this is finished or dropped.
#[derive(Debug)]
#[must_use = "a recording ends when it is dropped: finish it to have what it recorded"]
pub struct Recording {
    runtime: Runtime,
    session: Arc<Session>,
    began: SystemTime,
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// What was asked for.
    pub options: Options,
    /// When it began, by the calendar.
    pub began: SystemTime,
    /// When it began, in nanoseconds of the process, as all entries are.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What happened, in the order in which it was over.
    pub entries: Vec<Entry>,
    /// How many events had no room.
    pub dropped: u64,
}

impl Recording {
    pub(crate) fn begin(runtime: &Runtime, options: Options) -> Recording {
        let session = runtime.inner.journal.recordings.begin(options);
        Recording { runtime: runtime.clone(), session, began: SystemTime::now() }
    }

    /// Ends it. Where devices were asked for their times, their queues are waited for: they know then.
    pub fn finish(self) -> Recorded {
        let state = self.runtime.inner.state();
        if self.session.options.device_times != DeviceTimes::Unasked {
            let queues = state.table.devices.iter().filter(|d| d.is_queued() && d.is_open());
            for queue in queues {
                // What went wrong in queued work is told to whoever reads its results.
                let _ = queue.device().and_then(|device| device.sync());
            }
        }
        drop(state);
        let end = nanoseconds();
        self.runtime.inner.journal.recordings.end(&self.session);
        let kept = std::mem::take(&mut *self.session.kept.lock().unwrap_or_else(PoisonError::into_inner));
        Recorded {
            options: self.session.options,
            began: self.began,
            start: self.session.start,
            end,
            entries: kept.entries.into(),
            dropped: kept.dropped,
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.runtime.inner.journal.recordings.end(&self.session);
    }
}
