//! What is booked in the ledger and said to people of a placement, and whether a copy is allowed that nobody
//! asked for.

use situ_core::{Error, Policy, Reason, Request, Result};

/// When a device was found full or too small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// When it was tried, for an op or for data.
    Tried,
    /// While a function was planned: a limit met by placement, which is its work.
    Planned,
}

/// Whether a placement is reported as a fallback, and to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FallbackReport {
    /// Whether it is a fallback in the ledger.
    pub(crate) booked: bool,
    /// Whether a person is told, the first time.
    pub(crate) said: bool,
}

/// What becomes known of something that is where it is for this reason.
#[inline]
pub(crate) fn report(reason: &Reason, request: &Request, fallback: Policy, moment: Moment) -> FallbackReport {
    let fell = reason.rule().is_fallback(!request.spec.is_empty(), moment == Moment::Tried);
    FallbackReport { booked: fell, said: fell && fallback == Policy::Warn }
}

/// Whether a copy is to be spoken of that nobody asked for; an error where it is forbidden.
#[inline]
pub(crate) fn copy(policy: Policy, forbidden: impl FnOnce() -> Error) -> Result<bool> {
    match policy {
        Policy::Allow => Ok(false),
        Policy::Warn => Ok(true),
        Policy::Forbid => Err(forbidden()),
    }
}
