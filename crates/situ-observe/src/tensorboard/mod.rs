//! Records and figures for TensorBoard: scalars over steps, the graph with the device of every op, the times
//! of some calls.
//!
//! Promises: the files are those that TensorBoard 2 reads with no plugin and no TensorFlow.
//! Leaves to others: showing them. The report page (`page`) needs no server.
//!
//! Ten small messages are all that is written, and nothing is read: they are put down byte by byte
//! (`message`), which takes fewer lines than describing them to a library of protocol buffers would.

mod frame;
mod graph;
mod message;
mod profile;
mod stats;

use crate::record::Record;
use message::Message;
use situ_core::{Error, Result, replace_file};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Of each function, the times of so many calls are written: each is a choice in TensorBoard's graph page.
const CALLS: usize = 3;

/// A file of events in a folder that TensorBoard is pointed at: one writer is one run.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_observe::tensorboard::Writer;
/// let folder = std::env::temp_dir().join(format!("situ-tensorboard-{}", std::process::id()));
/// let mut run = Writer::create(&folder)?;
/// for (epoch, loss) in [0.9, 0.5, 0.3].into_iter().enumerate() {
///     run.scalar("loss", epoch as u64, loss)?;
/// }
/// run.finish()?;
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Writer {
    /// Begins a file in a folder, which is made if it is not there.
    pub fn create(folder: impl AsRef<Path>) -> Result<Writer> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let folder = folder.as_ref();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("events.out.tfevents.{}.{}.{number}.situ", now() as u64, std::process::id());
        let path = folder.join(name);
        let file = std::fs::create_dir_all(folder).and_then(|()| File::create_new(&path));
        let file = file.map_err(|error| failed(&path, &error))?;
        let mut writer = Writer { path, out: BufWriter::new(file) };
        writer.event(now(), 0, |event| event.text(3, "brain.Event:2"))?;
        Ok(writer)
    }

    /// Writes one point of a curve.
    pub fn scalar(&mut self, name: &str, step: u64, value: f64) -> Result<()> {
        self.scalar_at(now(), name, step, value)
    }

    fn scalar_at(&mut self, time: f64, name: &str, step: u64, value: f64) -> Result<()> {
        self.event(time, step, |event| {
            event.message(5, |summary| {
                summary.message(1, |point| {
                    point.text(1, name);
                    point.float(2, value as f32);
                });
            });
        })
    }

    /// Writes all that TensorBoard can show of a record: the graphs coloured by device, the times of the
    /// first calls of each function, curves of the time and the bytes of each call and of the memory of each
    /// device, and, for its profiler (a plugin), every kernel and copy.
    pub fn record(&mut self, record: &Record) -> Result<()> {
        self.profile(record)?;
        if !record.plans.is_empty() {
            let graph = graph::of(record);
            self.event(record.began, 0, |event| event.bytes(4, &graph))?;
        }
        for (call, tag) in described(record) {
            let stats = stats::of_call(record, call);
            self.event(record.began + record.calls[call].end, record.calls[call].number, |event| {
                event.message(8, |tagged| {
                    tagged.text(1, &tag);
                    tagged.bytes(2, &stats);
                });
            })?;
        }
        for (name, step, time, value) in stats::curves(record) {
            self.scalar_at(record.began + time, &name, step, value)?;
        }
        Ok(())
    }

    /// The file that the profiler looks for: beside the events, in a folder with the name of the profile.
    fn profile(&self, record: &Record) -> Result<()> {
        let beside = self.path.parent().unwrap_or(Path::new("."));
        let name = format!("{:.0}_{}", record.began, graph::clean(&record.title));
        let folder = beside.join("plugins").join("profile").join(name);
        let path = folder.join("situ.xplane.pb");
        let profile = profile::of(record);
        replace_file(path, |file| file.write_all(&profile))
    }

    /// Writes what is left. Dropping the writer does so too, and tells nobody if it fails.
    pub fn finish(mut self) -> Result<()> {
        self.flush()
    }

    /// Writes what there is so far: a TensorBoard that is open shows it when it looks again.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| failed(&self.path, &error))
    }

    fn event(&mut self, time: f64, step: u64, body: impl FnOnce(&mut Message)) -> Result<()> {
        let mut event = Message::default();
        event.double(1, time);
        event.number(2, step);
        body(&mut event);
        frame::write(&mut self.out, &event.0).map_err(|error| failed(&self.path, &error))
    }
}

impl Record {
    /// Writes it to a folder for TensorBoard.
    pub fn save_tensorboard(&self, folder: impl AsRef<Path>) -> Result<()> {
        let mut writer = Writer::create(folder)?;
        writer.record(self)?;
        writer.finish()
    }
}

/// The calls whose times are written, each with its name.
fn described(record: &Record) -> Vec<(usize, String)> {
    let mut seen = vec![0; record.plans.len()];
    let mut calls = Vec::new();
    for (n, call) in record.calls.iter().enumerate() {
        seen[call.plan] += 1;
        if seen[call.plan] <= CALLS {
            calls.push((n, format!("{} call {}", graph::function(record, call.plan), call.number)));
        }
    }
    calls
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::file(path.display().to_string(), "", error.to_string(), "choose another folder")
}
