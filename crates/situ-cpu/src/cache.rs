//! The size of the last-level cache: beyond it, results are written past the caches.

use std::sync::OnceLock;

/// What is assumed where the system does not say.
const ASSUMED: usize = 32 << 20;

/// Bytes of the last-level cache. The first call asks the system; later calls are a load.
pub fn last_level_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| from_sysfs().unwrap_or(ASSUMED))
}

/// The largest cache of core 0, as Linux lists them.
fn from_sysfs() -> Option<usize> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    caches
        .filter_map(|cache| std::fs::read_to_string(cache.ok()?.path().join("size")).ok())
        .filter_map(|s| parse(&s))
        .max()
}

/// `32768K`, `32M`, `512`.
fn parse(size: &str) -> Option<usize> {
    let size = size.trim();
    let (digits, unit) = match size.as_bytes().last()? {
        b'K' => (&size[..size.len() - 1], 1 << 10),
        b'M' => (&size[..size.len() - 1], 1 << 20),
        _ => (size, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units_and_nonsense_is_none() {
        assert_eq!(parse("32768K\n"), Some(32 << 20));
        assert_eq!(parse("8M"), Some(8 << 20));
        assert_eq!(parse("512"), Some(512));
        assert_eq!(parse("0K"), None);
        assert_eq!(parse(""), None);
        assert_eq!(parse("big"), None);
    }

    #[test]
    fn the_cache_has_a_plausible_size() {
        assert!((1 << 16..1 << 40).contains(&last_level_bytes()));
    }
}
