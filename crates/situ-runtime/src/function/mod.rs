//! Functions: a graph compiled into a plan, and the plan run.
//!
//! `assign` says which device runs each node, `lower` writes out every launch and copy, `arena` gives each buffer its place,
//! and `execute` runs the result: on the calling thread where one CPU does everything, else with a worker for each lane.
//! Promises: a plan's memory is reserved whole before its first step; a failed call changes no variable; nothing is moved
//! that is not a step of the plan.

mod arena;
mod assign;
mod bind;
mod compile;
mod execute;
mod lower;
mod plan;
mod record;
mod workers;

pub use compile::{Compiled, Outcome};
pub use plan::{NodePlace, PlanSummary};
pub use record::{Event, EventKind, Events, Off, Recorder};
