//! What the runtime does with devices, on the CPU and on simulated GPUs: no test here needs a GPU.

mod allocation_failures;
mod calibration;
mod configure;
mod copies;
mod fallback;
mod fusion;
mod ledger;
mod listening;
mod lost_device;
mod memory;
mod peers;
mod placement;
mod policy;
mod queued_errors;
mod shared_host;
mod variables;
