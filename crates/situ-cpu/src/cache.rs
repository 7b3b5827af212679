//! The sizes of the caches: products are cut by the second level, and results beyond the last are written
//! past them all.

use std::path::Path;
use std::sync::OnceLock;

/// Bytes of caches, those that core 0 reads data through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Caches {
    second: usize,
    last: usize,
}

/// What is assumed where the system does not say.
const ASSUMED: Caches = Caches { second: 512 << 10, last: 32 << 20 };

/// Bytes of the last-level cache. The first call asks the system; later calls are a load.
pub fn last_level_bytes() -> usize {
    caches().last
}

/// Bytes of a core's second-level cache. The first call asks the system; later calls are a load.
pub fn second_level_bytes() -> usize {
    caches().second
}

fn caches() -> Caches {
    static CACHES: OnceLock<Caches> = OnceLock::new();
    *CACHES.get_or_init(|| from_sysfs(Path::new("/sys/devices/system/cpu/cpu0/cache")))
}

/// The caches as Linux lists them, a folder each.
fn from_sysfs(folder: &Path) -> Caches {
    let field = |cache: &Path, name: &str| std::fs::read_to_string(cache.join(name)).ok();
    let listed = std::fs::read_dir(folder).into_iter().flatten().filter_map(|cache| {
        let cache = cache.ok()?.path();
        let level: usize = field(&cache, "level")?.trim().parse().ok()?;
        let holds_data = field(&cache, "type")?.trim() != "Instruction";
        Some((level, parse(&field(&cache, "size")?)?)).filter(|_| holds_data)
    });
    let listed: Vec<(usize, usize)> = listed.collect();
    Caches {
        second: listed.iter().find(|(level, _)| *level == 2).map_or(ASSUMED.second, |(_, bytes)| *bytes),
        last: listed.iter().max().map_or(ASSUMED.last, |(_, bytes)| *bytes),
    }
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
    fn caches_have_plausible_sizes() {
        assert!((1 << 16..1 << 40).contains(&last_level_bytes()));
        assert!((1 << 14..1 << 30).contains(&second_level_bytes()));
    }

    #[test]
    fn a_system_that_does_not_say_is_given_common_sizes() {
        assert_eq!(from_sysfs(Path::new("/nowhere")), ASSUMED);
    }

    #[test]
    fn levels_are_told_apart_and_instructions_left_out() {
        let folder = std::env::temp_dir().join(format!("situ-caches-{}", std::process::id()));
        for (index, (level, kind, size)) in [
            ("1", "Data", "48K"),
            ("1", "Instruction", "64M"),
            ("2", "Unified", "2048K"),
            ("3", "Unified", "30M"),
        ]
        .into_iter()
        .enumerate()
        {
            let cache = folder.join(format!("index{index}"));
            std::fs::create_dir_all(&cache).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                std::fs::write(cache.join(name), format!("{text}\n")).unwrap();
            }
        }
        let found = from_sysfs(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Caches { second: 2 << 20, last: 30 << 20 });
    }
}
