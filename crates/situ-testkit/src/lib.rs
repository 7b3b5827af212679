//! What tests situ: the op suite, simulated devices, and runtimes to run them on.
//!
//! - [`mod@array`], [`input`], [`numbers`]: plain data, the ways to lay it out, and the values worth trying;
//! - [`suite`]: one list of cases for every op, each with a naive reference, run on any device;
//! - [`simulated`]: GPUs that are not there, with set memories, missing kernels, delays and faults;
//! - [`machines`]: runtimes made of the real devices and of simulated ones;
//! - [`policy_table`]: the rules of placement as ARCHITECTURE.md has them;
//! - [`program`]: a longer program whose every intermediate value is known;
//! - [`recipes`]: random programs, to be followed eagerly or as functions.
//!
//! Promises: references share no code with the kernels they judge; nothing here is used outside tests.

pub mod array;
pub mod input;
pub mod machines;
pub mod numbers;
pub mod policy_table;
pub mod program;
pub mod recipes;
pub mod simulated;
pub mod suite;
