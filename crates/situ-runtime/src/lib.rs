//! The runtime of situ: which devices there are, what memory they have, where an op runs, and what was moved.
//!
//! Promises: every op has a [`situ_core::Reason`]; every copy and fallback is in the ledger; every byte of a
//! tensor is under its device's limit; a failed op leaves every live tensor valid. Leaves to others: the
//! tensors and scopes that users write (`situ-tensor`), kernels (`situ-cpu`, `situ-gpu`).

mod able;
mod blocks;
mod choose;
mod config;
mod configure;
mod constant;
pub mod costs;
pub mod custom;
mod eager;
pub mod function;
mod host;
mod journal;
mod ledger;
mod logical;
mod notice;
mod pieces;
mod policy;
mod pool;
mod put_rows;
pub mod recording;
mod runtime;
mod storage;
mod transfer;

pub use config::{LogicalConfig, PlacementRule, Variants};
pub use configure::PhysicalDevice;
pub use costs::CostModel;
pub use host::{host_out_of_memory, zeroed};
pub use ledger::{Cause, Entry, LedgerReport, Route};
pub use logical::LogicalDevice;
pub use notice::{Listener, Notice, Topic};
pub use pool::MemoryInfo;
pub use put_rows::{NewRows, Ready};
pub use runtime::{Builder, Owner, Runtime, built_for, discover};
pub use situ_core::Request;
pub use storage::DeviceTensor;
