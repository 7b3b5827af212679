//! The vocabulary of situ: plain data that every other crate speaks.
//!
//! Promises: no threads are started here, no device is touched, and everything is cheap to copy or clone.
//! Leaves to others: what an op means (`situ-ir`), what a device can do (`situ-device`), where things run
//! (`situ-runtime`).

pub mod budget;
pub mod device;
pub mod device_spec;
pub mod dtype;
pub mod error;
pub mod layout;
pub mod location;
pub mod policy;
pub mod process;
pub mod reason;
pub mod replace_file;
pub mod request;
mod rule;
pub mod scalar;
pub mod scope_name;
pub mod shape;
pub mod visible;

pub use ::half::{bf16, f16};
pub use budget::{Budget, Reservation};
pub use device::{DeviceId, DeviceKind};
pub use device_spec::{DeviceSpec, DeviceType, SpecError};
pub use dtype::{Class, DType, Element};
pub use error::{Error, OutOfMemory, Result};
pub use layout::Layout;
pub use location::{Caller, Location, locate_with};
pub use policy::Policy;
pub use process::Process;
pub use reason::Reason;
pub use replace_file::replace_file;
pub use request::Request;
pub use rule::Rule;
pub use scalar::{Real, Scalar};
pub use scope_name::ScopeName;
pub use shape::{Axes, MAX_RANK, Shape, TensorType};
pub use visible::{visible, visible_lines};
