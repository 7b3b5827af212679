//! What did not go as it might have: retraces, new placements, fallbacks, and what to do about it.

use serde::{Deserialize, Serialize};

/// A function that was compiled again, for another signature.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Retrace {
    /// When it was compiled.
    pub time: f64,
    /// The function: its name, or the line that made it.
    pub function: String,
    /// How often it was traced by then.
    pub traces: usize,
    /// The types it was compiled for.
    pub signature: String,
    /// Why what was there did not do: which argument has another shape or dtype.
    pub cause: String,
    /// How long compiling took, and tracing if it was traced anew.
    pub seconds: f64,
}

/// A function that was placed anew.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Replacement {
    /// When it was placed anew.
    pub time: f64,
    /// The function: its name, or the line that made it.
    pub function: String,
    /// Seconds that a call was expected to take before.
    pub before: f64,
    /// Seconds that a call is expected to take now.
    pub after: f64,
    /// Why: better by what was measured, a changed configuration, a lost device.
    pub cause: String,
}

/// An op that did not run where it was asked to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fallback {
    /// The op that ran elsewhere.
    pub op: String,
    /// The names around its call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The device that was asked for.
    pub wanted: String,
    /// The device that ran it.
    pub device: usize,
    /// Why it ran elsewhere, in words.
    pub reason: String,
    /// How often it ran there.
    pub count: u64,
    /// The line of the program.
    pub source: String,
}

/// What sort of advice a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// An op fell back for want of a kernel or a device.
    Fallback,
    /// A scope keeps an op where it is slower.
    Scope,
    /// The same bytes are copied at every call.
    RepeatedCopy,
    /// A device stands still most of the time.
    Idle,
    /// A function is compiled again and again.
    Retraces,
    /// Predictions are far from what was measured.
    Drift,
    /// A memory limit keeps ops from their best device.
    Memory,
    /// Ops run one by one where a function would run them as one.
    Eager,
    /// An optimizer changes every row of a table for the few that were looked up.
    Rows,
}

impl FindingKind {
    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Fallback => "fallback",
            FindingKind::Scope => "scope",
            FindingKind::RepeatedCopy => "repeated copy",
            FindingKind::Idle => "idle device",
            FindingKind::Retraces => "retraces",
            FindingKind::Drift => "drift",
            FindingKind::Memory => "memory",
            FindingKind::Eager => "eager ops",
            FindingKind::Rows => "rows",
        }
    }
}

/// What would make the program faster.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What sort of advice it is.
    pub kind: FindingKind,
    /// What is the matter and what to do, in one or two sentences.
    pub text: String,
    /// Seconds that it would save at each call, by the placer or by what was measured; zero where nobody can
    /// tell.
    pub gain_seconds: f64,
    /// How many calls of the record it would save that at.
    pub calls: u64,
    /// The plan that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<usize>,
    /// The nodes of that plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<usize>,
    /// The eager ops that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub eager: Vec<usize>,
    /// The other plans of which the same is to be said. Their gains are at most this one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
}

impl Finding {
    /// One that saves nothing that is known, at one call, and is about the program as a whole.
    pub fn new(kind: FindingKind, text: String) -> Finding {
        Finding {
            kind,
            text,
            gain_seconds: 0.0,
            calls: 1,
            plan: None,
            nodes: Vec::new(),
            eager: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Seconds that it would have saved over the whole record.
    pub fn total(&self) -> f64 {
        let others = self.elsewhere.iter().map(|other| other.gain_seconds * other.calls as f64);
        self.gain_seconds * self.calls as f64 + others.sum::<f64>()
    }
}

/// Another plan that a finding holds for.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The plan that it is in.
    pub plan: usize,
    /// Seconds that it would save there at each call.
    pub gain_seconds: f64,
    /// How many calls of it there are in the record.
    pub calls: u64,
}
