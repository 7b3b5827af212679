//! What a program did, recorded: tables, traces, findings.
//!
//! All of `situ-observe`, and what needs a training loop beside it: a callback of `fit`.

pub use situ_observe::*;

pub mod tensorboard;
