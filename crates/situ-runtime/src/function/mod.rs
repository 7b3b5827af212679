//! Functions: a graph compiled into a plan, and the plan run.
//!
//! `simplify` runs the passes, `candidates` says which devices may run each node, `costing` and `place`
//! choose among them, `lower` writes out every launch and copy, `blocks` places what is inside conditions and
//! loops, `assemble` and `arena` give each step its lane and each buffer its place, and `execute` runs the
//! result: on the calling thread where one CPU does everything, else with a worker for each lane. Promises: a
//! plan's memory is reserved whole before its first step; a failed call changes no variable; nothing is moved
//! that is not a step of the plan.

mod announce;
mod apart;
mod arena;
mod assemble;
mod bind;
mod blocks;
mod candidates;
mod compile;
mod compiled;
mod costing;
mod depends;
mod describe;
mod draw;
mod elsewhere;
mod execute;
mod explain;
mod fit;
mod given;
mod in_place;
mod lower;
mod measure;
mod place;
mod plan;
pub mod plan_record;
mod reach;
mod record;
mod simplify;
mod workers;
mod written_over;

pub use compile::{Program, SimilarVariant};
pub use compiled::{Blueprint, Compiled, Outcome};
pub use describe::{Numbering, PlanDescription, StepDescription, StepKind};
pub use explain::{Alternative, ExplainedCopy, ExplainedMemory, ExplainedOp, Explanation, NodePlace};
pub use measure::Measured;
pub use plan::PlanSummary;
pub use record::{Event, EventKind};
pub(crate) use record::{Recorder, Timed};
pub use situ_place::machine::Profile;
pub use situ_place::{Answer, GraphFile};
