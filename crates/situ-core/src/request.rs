//! What a program asks of the ops it calls: the scopes around a call, already merged.

use crate::{DeviceSpec, Policy, ScopeName};

/// The device and the policies asked for at a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Request {
    /// Which devices; the empty spec asks for none in particular.
    pub spec: DeviceSpec,
    /// What to do when the device can't run the op; `None`: as the runtime is configured.
    pub fallback: Option<Policy>,
    /// What to do when an input must be copied; `None`: as the runtime is configured.
    pub copies: Option<Policy>,
    /// The names around the call: no part of what is asked for.
    pub name: ScopeName,
}
