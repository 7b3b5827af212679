//! The op suite on every device, and what it says about repeatability.

mod determinism;
mod devices;
mod gradients;
mod random;
