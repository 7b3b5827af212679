//! How numbers are written into a page: short, and never as what JSON has no word for.

/// Nanoseconds; what is no number or beyond counting is zero.
pub(super) fn nanoseconds(seconds: f64) -> i64 {
    let ns = seconds * 1e9;
    if ns.is_finite() { ns.round() as i64 } else { 0 }
}

/// The middle of some times; none: nothing.
pub(super) fn median(times: &mut [f64]) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}
