//! The ops of situ: what each takes and gives, what it costs, how it is differentiated.
//!
//! Promises: no device is known here; an op is plain data that can be compared, hashed and printed.
//! Leaves to others: kernels (`situ-cpu`, `situ-gpu`), where an op runs (`situ-runtime`).

pub mod gradient;
pub mod graph;
pub mod ops;
pub mod passes;
pub mod work;

pub use gradient::{Application, Builder, Differentiability, Gradients};
pub use graph::{Content, Graph, GraphBuilder, Node, NodeId, Value};
pub use ops::{Op, OpKind, Outputs, Rule};
pub use work::{Work, WorkClass};
