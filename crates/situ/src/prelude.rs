//! What most programs name: `use situ::prelude::*;`.
//!
//! Functions stay out of it: `situ::zeros` and `situ::device` say at the call what they are.

pub use crate::{
    DType, DeviceId, DeviceKind, Error, Function, LogicalConfig, PlacementRule, Policy, Reason, Result,
    Shape, Span, Tape, Tensor, Variable, config, random,
};
