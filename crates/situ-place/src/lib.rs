//! Where each op runs: the cost model, the placement algorithms, their bounds, and the reasons.
//!
//! Promised: a placement is a pure function of the problem, the seed and a budget in moves, repeatable bit
//! for bit; every answer obeys the model of the cost-graph file (slots, compute groups, links, memory,
//! requests, colocation), carries a lower bound that no schedule can beat, and a [`Reason`] for every node.
//!
//! # From a runtime
//! Build a [`Problem`] once per graph with a [`ProblemBuilder`], keep it, and place it with [`Budget::moves`]
//! so that the same program is always placed the same way. When measured times replace modelled ones, tell
//! the problem by [`Problem::set_cost`] and place it again with [`Budget::starting_from`] the placement that
//! is running: the constructive algorithms are then left out, the answer is never worse than keeping that
//! placement, and few moves suffice. [`simulate()`] gives the running placement's makespan at the new costs:
//! compare the two to decide whether the change is worth it. A placement that no longer fits the memory is
//! replaced from scratch. [`Placement::reasons`] says why each node is where it is; [`delta`] and [`deltas`]
//! say what other devices would change. Errors are data: [`PlaceError`].
//!
//! ```
//! # use situ_place::{Budget, Device, ProblemBuilder, place, simulate};
//! # let mut b = ProblemBuilder::new();
//! # let (cpu, gpu) = (b.device(Device::new("CPU:0")), b.device(Device::new("GPU:0")));
//! # let node = b.node("matmul", 0.0);
//! # b.cost(node, cpu, 3e-3);
//! # b.cost(node, gpu, 1e-3);
//! # let mut problem = b.build()?;
//! let running = place("auto", &problem, &Budget::default())?;
//! problem.set_cost(node, gpu, 5e-3); // as measured
//! let kept = simulate(&problem, &running.schedule())?.makespan;
//! let better = place("auto", &problem, &Budget::moves(100).starting_from(&running))?;
//! assert!(better.makespan < 0.97 * kept && better.device_of(node) == cpu);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Left to others: what an op is, what it costs, and running the plan. Nothing here sees a tensor or a
//! kernel.
//!
//! ```
//! use situ_place::{Budget, Device, ProblemBuilder};
//!
//! let mut b = ProblemBuilder::new();
//! let cpu = b.device(Device::new("CPU:0"));
//! let gpu = b.device(Device::new("GPU:0").memory(1e9));
//! b.link(cpu, gpu, 8e-6, 12e9, None);
//! b.link(gpu, cpu, 8e-6, 12e9, None);
//! let load = b.node("load", 4e6);
//! b.cost(load, cpu, 1e-4);
//! let matmul = b.node("matmul", 4e6);
//! b.cost(matmul, cpu, 2e-2);
//! b.cost(matmul, gpu, 1e-4);
//! b.edge(load, matmul);
//! let problem = b.build()?;
//!
//! let placement = situ_place::place("rules", &problem, &Budget::default())?;
//! assert_eq!(placement.device_of(matmul), gpu);
//! assert_eq!(placement.transfers.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod algorithms;
pub mod answer;
mod bounds;
mod busy;
pub mod check;
mod coarse;
pub mod cost_graph;
mod critical;
mod dominators;
mod engine;
pub mod error;
pub mod explain;
mod fill;
pub mod json;
mod list;
pub mod machine;
mod orders;
mod partial;
pub mod placement;
pub mod placer;
mod portfolio;
pub mod problem;
mod random;
mod ranks;
pub mod reason;
mod remaining_budget;
mod search;
pub mod simulate;
mod sweep;
mod timer;

pub use algorithms::{place, placer};
pub use answer::Answer;
pub use bounds::lower_bound;
pub use check::check;
pub use cost_graph::{CostGraph, Edge, GraphFile, Node};
pub use error::{GraphError, PlaceError};
pub use explain::{Delta, delta, deltas};
pub use machine::{Device, Link, Machine};
pub use placement::{Placement, Schedule, Transfer};
pub use placer::{Budget, Placer, Progress};
pub use problem::{Problem, ProblemBuilder, Requests};
pub use reason::{Reason, text as reason_text};
pub use simulate::{Timeline, simulate};

/// The number of a device in its [`Problem`]: the order in which devices were added.
pub type DeviceIndex = usize;
/// The number of a node in its [`Problem`]: the order in which nodes were added.
pub type NodeIndex = usize;
