//! The grammar of device names: facts about it, the shared conformance table where it is at hand, errors,
//! laws that hold for every spec, and random texts.

mod conformance;
mod errors;
mod facts;
mod laws;
mod order;
mod random;

use situ_core::device_spec::DeviceSpec;

fn spec(text: &str) -> DeviceSpec {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}
