//! The devices of the machine, what programs see of them, and what they may use.
//!
//! Everything here acts on the current runtime: the process's, unless [`with_runtime`](crate::with_runtime)
//! says otherwise. Devices are named as in scopes: `"GPU:0"`, `"/gpu:0"`, `"GPU"` for any, `""` for all.
//!
//! ```
//! use situ::config;
//!
//! # fn main() -> situ::Result<()> {
//! for gpu in config::list_physical_devices("GPU")? {
//!     println!("{}: {}", gpu.id, gpu.description.hardware);
//! }
//! // At most 1 GiB for the tensors of this process. Allowed whenever no tensor is on the device.
//! config::set_logical_devices("CPU:0", &[situ::LogicalConfig::limit(1 << 30)])?;
//! assert_eq!(config::memory_info("CPU:0")?.limit, Some(1 << 30));
//! # Ok(()) }
//! ```
//!
//! A change that makes devices anew (visibility, limits, cores, threads) is refused while a tensor is alive
//! on one of them or a call is in flight, with an error that says what is alive. Policies, rules and logging
//! can change at any time.

mod devices;
mod name;
mod rules;

pub use devices::{
    list_logical_devices, list_physical_devices, memory_info, set_logical_devices, set_memory_growth,
    set_visible_devices, trim,
};
pub use name::DeviceName;
pub use rules::{
    clear_ledger, ledger, remove_listener, set_copy_policy, set_deterministic, set_fallback_policy,
    set_inter_op_threads, set_intra_op_threads, set_listener, set_log_placement, set_placement_rule,
    set_variants, threads, variants,
};

pub use situ_device::{Description, DeviceClass};
pub use situ_runtime::{
    Cause, CostModel, Entry, LedgerReport, LogicalConfig, LogicalDevice, MemoryInfo, Notice, PhysicalDevice,
    PlacementRule, Topic, Variants, built_for,
};
