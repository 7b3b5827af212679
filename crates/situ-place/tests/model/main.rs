//! The model: what a file may say, that every answer obeys it, and what answers promise.

mod algorithms;
mod answers;
mod bounds;
mod files;
mod graphs;
mod machines;
mod rules;
mod soak;
