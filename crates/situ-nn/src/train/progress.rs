//! What fit shows: a bar on a terminal, a line per epoch elsewhere.

use super::Figures;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use situ_core::DeviceId;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often the bar is drawn: each time, losses are read from the device.
const EVERY: Duration = Duration::from_millis(250);

/// What fit shows, on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A bar if standard error is a terminal, else lines.
    #[default]
    Auto,
    /// A bar for each epoch, with loss, metrics, steps a second and the share of the time that each device is
    /// at work.
    Bar,
    /// A line after each epoch.
    Lines,
    /// Nothing is written.
    Silent,
}

pub(super) struct Display {
    kind: Progress,
    bar: Option<ProgressBar>,
    title: String,
    next: Option<Instant>,
}

impl Display {
    pub(super) fn new(kind: Progress) -> Display {
        let kind = match kind {
            Progress::Auto if std::io::stderr().is_terminal() => Progress::Bar,
            Progress::Auto => Progress::Lines,
            chosen => chosen,
        };
        Display { kind, bar: None, title: String::new(), next: None }
    }

    /// An epoch begins, `done` of its batches behind it.
    pub(super) fn begin(&mut self, epoch: u64, epochs: u64, done: u64, batches: Option<u64>) {
        if self.kind == Progress::Silent {
            return;
        }
        self.title = format!("epoch {}/{epochs}", epoch + 1);
        if self.kind == Progress::Bar {
            let bar = match batches {
                Some(count) => ProgressBar::new(count),
                None => ProgressBar::no_length(),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr());
            // The template is a constant, and its parts are known: the plain bar is what an error would
            // leave.
            if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {pos}/{len} {msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(self.title.clone());
            bar.set_position(done);
            self.bar = Some(bar);
            self.next = Some(Instant::now() + EVERY);
        }
    }

    /// Whether anything is shown at all.
    pub(super) fn is_shown(&self) -> bool {
        self.kind != Progress::Silent
    }

    /// Whether it is time to show something.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    /// Shows how far the epoch is. `busy` are the seconds that each device works for one step.
    pub(super) fn show(
        &mut self,
        batch: u64,
        figures: &Figures,
        steps: u64,
        time: Duration,
        busy: &[(DeviceId, f64)],
    ) {
        if let Some(bar) = &self.bar {
            bar.set_message(described(figures, steps, time, busy));
            bar.set_position(batch);
        }
        self.next = Some(Instant::now() + EVERY);
    }

    pub(super) fn validating(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message("validating");
            bar.tick();
        }
    }

    /// An epoch is over.
    pub(super) fn end(&mut self, figures: &Figures, steps: u64, time: Duration, busy: &[(DeviceId, f64)]) {
        if !self.is_shown() {
            return;
        }
        let text = format!("{}, {:.1} s", described(figures, steps, time, busy), time.as_secs_f64());
        if let Some(bar) = self.bar.take() {
            bar.set_position(bar.length().unwrap_or(steps));
            bar.finish_with_message(text);
        } else if self.kind == Progress::Lines {
            eprintln!("{}: {text}", self.title);
        }
        self.next = None;
    }

    pub(super) fn done(&mut self, interrupted: bool) {
        if let Some(bar) = self.bar.take() {
            bar.abandon();
        }
        if interrupted && self.kind != Progress::Silent {
            eprintln!("{}: interrupted", self.title);
        }
    }
}

/// Figures, speed, and the share of the time that each device is at work: what a step takes it, of the time
/// between steps.
fn described(figures: &Figures, steps: u64, time: Duration, busy: &[(DeviceId, f64)]) -> String {
    let step = (time.as_secs_f64() / steps.max(1) as f64).max(1e-12);
    let rate = 1.0 / step;
    let digits = if rate < 10.0 { 1 } else { 0 };
    let mut text = format!("{figures}, {rate:.digits$} steps/s");
    for (device, seconds) in busy {
        // Writing to a string can't fail.
        let _ = write!(text, ", {device} {:.0}% busy", (100.0 * seconds / step).min(100.0));
    }
    text
}
