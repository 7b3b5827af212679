//! What to do when something would happen that the program did not ask for: a fallback, an implicit copy.

use std::fmt;

/// Allow it, say it once, or refuse it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Policy {
    /// Do it; it is still in the ledger.
    Allow,
    /// Do it, and say so once per op, dtype and device: why, and what it costs.
    Warn,
    /// Refuse with an error that lists what would work.
    Forbid,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Policy::Allow => "allow",
            Policy::Warn => "warn",
            Policy::Forbid => "forbid",
        })
    }
}
