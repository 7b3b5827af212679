//! The stages of pipelines, a file each.

pub(crate) mod batch;
pub(crate) mod cache;
pub(crate) mod filter;
pub(crate) mod generator;
pub(crate) mod interleave;
pub(crate) mod map;
pub(crate) mod parallel;
pub(crate) mod placed;
pub(crate) mod prefetch;
pub(crate) mod sequence;
pub(crate) mod shuffle;
pub(crate) mod tensors;
