//! The parts of models: their values against plain references, their gradients against differences, and where
//! they run.

mod errors;
mod gpu;
mod gradients;
mod initializers;
mod keras;
mod layers;
mod losses;
mod metrics;
mod names;
mod numbers;
mod scopes;
mod summaries;
