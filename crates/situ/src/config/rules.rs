//! Policies, rules, threads, and what is said and kept about placements.

use crate::{Policy, Result, current_runtime};
use situ_runtime::{LedgerReport, Notice, PlacementRule, Variants};

/// What happens when a scope can't be met: the device is not there, or has no kernel for the op and dtype.
/// `Warn` at first. [`fallback_policy`](crate::fallback_policy) sets it for a scope.
///
/// ```
/// use situ::{Policy, config};
///
/// # fn main() -> situ::Result<()> {
/// config::set_fallback_policy(Policy::Forbid)?; // strict placement
/// let x = situ::tensor([1.0f32, 2.0])?;
/// let error = situ::with_device("/GPU:99", || x.exp()).unwrap_err();
/// assert!(error.to_string().contains("GPU:99"));
/// # Ok(()) }
/// ```
pub fn set_fallback_policy(policy: Policy) -> Result<()> {
    current_runtime().set_fallback_policy(policy)
}

/// What happens when an op needs an input that is on another device. `Allow` at first.
/// [`copy_policy`](crate::copy_policy) sets it for a scope.
pub fn set_copy_policy(policy: Policy) -> Result<()> {
    current_runtime().set_copy_policy(policy)
}

/// How ops without a scope find their device. [`PlacementRule::Auto`] at first; [`PlacementRule::PreferGpu`]
/// is TensorFlow's rule; under [`PlacementRule::Manual`] nothing is decided that no scope says.
pub fn set_placement_rule(rule: PlacementRule) -> Result<()> {
    current_runtime().set_placement_rule(rule)
}

/// Whether functions keep the placement they were compiled with, whatever is measured of them later: with it,
/// the same program on the same machine gives the same bits, and training goes on from a checkpoint as if it
/// had never stopped.
pub fn set_deterministic(on: bool) -> Result<()> {
    current_runtime().set_deterministic(on)
}

/// How much of what a function was compiled to is kept: at first 256 variants and 256 MiB for each function.
/// Beyond that, the variants go that were not called for longest, and are compiled again if they are called
/// again.
///
/// ```
/// use situ::config;
///
/// # fn main() -> situ::Result<()> {
/// // A server that sees thousands of lengths, and has the memory for them.
/// config::set_variants(config::Variants::default().with_count(4096).with_bytes(2 << 30))?;
/// assert_eq!(config::variants().count, 4096);
/// # Ok(()) }
/// ```
pub fn set_variants(most: Variants) -> Result<()> {
    current_runtime().set_variants(most)
}

/// How much of what a function was compiled to is kept.
pub fn variants() -> Variants {
    current_runtime().variants()
}

/// Threads within one op on CPU devices; `None`, the default: one per core, or fewer where a control group
/// has no time for as many. Results do not depend on it.
pub fn set_intra_op_threads(threads: Option<usize>) -> Result<()> {
    current_runtime().set_intra_op_threads(threads)
}

/// Ops of a function that run at once on one CPU device; `None`, the default: one. Eager ops run one by one.
pub fn set_inter_op_threads(threads: Option<usize>) -> Result<()> {
    current_runtime().set_inter_op_threads(threads)
}

/// Threads within one op, and ops at once, as configured.
pub fn threads() -> (Option<usize>, Option<usize>) {
    current_runtime().threads()
}

/// Whether every op says where it runs and why: on standard error, or to the [listener](set_listener).
pub fn set_log_placement(on: bool) -> Result<()> {
    current_runtime().set_log_placement(on)
}

/// Takes notices (fallbacks, copies, placements) over from standard error.
///
/// ```
/// use situ::config;
/// use std::sync::{Arc, Mutex};
///
/// # fn main() -> situ::Result<()> {
/// let heard = Arc::new(Mutex::new(Vec::new()));
/// let kept = heard.clone();
/// config::set_listener(move |notice| kept.lock().unwrap().push(notice.text.clone()));
/// config::set_log_placement(true)?;
///
/// situ::with_device("/CPU:0", || situ::tensor([1.0f32])?.exp())?;
/// assert!(heard.lock().unwrap()[0].starts_with("exp -> CPU:0: requested"));
/// # Ok(()) }
/// ```
pub fn set_listener(listener: impl Fn(&Notice) + Send + Sync + 'static) {
    current_runtime().set_listener(Some(Box::new(listener)));
}

/// Gives notices back to standard error.
pub fn remove_listener() {
    current_runtime().set_listener(None);
}

/// Every copy between devices and every fallback so far, by device pair, op and line of the program.
///
/// ```
/// use situ::{DeviceId, config};
///
/// # fn main() -> situ::Result<()> {
/// let x = situ::ones(&[256], situ::DType::F32)?;
/// if let Ok(there) = x.to_device("/GPU:0") {
///     assert_eq!(config::ledger().bytes(DeviceId::CPU0, there.device()), 1024);
/// }
/// println!("{}", config::ledger());
/// # Ok(()) }
/// ```
pub fn ledger() -> LedgerReport {
    current_runtime().ledger()
}

/// Empties the ledger.
pub fn clear_ledger() {
    current_runtime().clear_ledger();
}
