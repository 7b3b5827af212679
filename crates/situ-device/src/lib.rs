//! The seam between situ and its devices.
//!
//! A device crate implements [`Physical`] (what the machine has) and [`Device`] (what a program computes on),
//! and fills a [`Registry`] with its kernels. The runtime sees nothing else of it. How a device crate is
//! found: `situ_cpu::physical() -> Arc<dyn Physical>` and `situ_gpu::physical() -> Vec<Arc<dyn Physical>>`
//! (best first).
//!
//! Promises of a device: work is done in the order in which it was launched; a failed call changes nothing
//! that a live tensor can see; no input, however wrong, makes it panic. Leaves to the runtime: choosing the
//! device, limits and pools, copies between devices, the ledger.

pub mod call;
pub mod capabilities;
pub mod check;
pub mod device;
pub mod lack;
pub mod memory;
pub mod registry;
pub mod timing;

pub use call::{Arg, Call, KernelId};
pub use capabilities::Capabilities;
pub use check::Check;
pub use device::{Description, Device, DeviceClass, Open, PendingDownload, Physical};
pub use lack::{Lack, Sizes};
pub use memory::{Block, Region};
pub use registry::Registry;
pub use timing::{TimedPass, Timing};
