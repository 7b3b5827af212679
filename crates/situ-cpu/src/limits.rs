//! What the control groups around the process allow it: bytes of memory and time on processors.
//!
//! A group's limits hold for all groups within it, so every group from the process's own up to the top of
//! what is mounted is asked, under version 1 and version 2, and the least counts. What can't be read is no
//! limit. Reads files below a root alone, which tests give.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The least of all limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes that the process may hold.
    pub(crate) memory: Option<usize>,
    /// Processors that there is time for, rounded up: with time for one and a half, two threads work most of
    /// it.
    pub(crate) cpus: Option<usize>,
}

/// A mounted tree of groups.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// Where it is.
    at: PathBuf,
    /// Which group its top is.
    top: PathBuf,
    /// The controllers of a tree of version 1; `None`: version 2, which has all of them.
    controllers: Option<Vec<String>>,
}

/// The process's group in one tree.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    path: PathBuf,
    /// As for a mount.
    controllers: Option<Vec<String>>,
}

impl Limits {
    /// The limits of this process on the system whose files are below `root`.
    pub(crate) fn read(root: &Path) -> Limits {
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let mounts = mounts(&text("proc/self/mountinfo"));
        let mut least = Limits::default();
        for group in groups(&text("proc/self/cgroup")) {
            for mount in mounts.iter().filter(|mount| mount.holds(&group)) {
                let top = below(root, &mount.at);
                for folder in folders(&top, &within(&mount.top, &group.path)) {
                    let memory = group.has("memory").then(|| memory_of(&folder)).flatten();
                    let cpus = group.has("cpu").then(|| cpus_of(&folder)).flatten();
                    least.meet(memory, cpus);
                }
            }
        }
        least
    }

    fn meet(&mut self, memory: Option<usize>, cpus: Option<usize>) {
        self.memory = [self.memory, memory].into_iter().flatten().min();
        self.cpus = [self.cpus, cpus].into_iter().flatten().min();
    }
}

impl Group {
    /// Whether a controller is one of its tree's.
    fn has(&self, controller: &str) -> bool {
        self.controllers.as_ref().is_none_or(|list| list.iter().any(|name| name == controller))
    }
}

impl Mount {
    fn holds(&self, group: &Group) -> bool {
        match (&self.controllers, &group.controllers) {
            (None, None) => true,
            (Some(here), Some(asked)) => asked.iter().any(|name| here.contains(name)),
            _ => false,
        }
    }
}

/// `/proc/self/cgroup`: `0::/a/b` under version 2, `4:cpu,cpuacct:/a/b` for each tree of version 1.
fn groups(text: &str) -> Vec<Group> {
    let group = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let list = controllers.split(',').map(str::to_string).collect();
        Some(Group { path: PathBuf::from(path), controllers: (!controllers.is_empty()).then_some(list) })
    };
    text.lines().filter_map(group).collect()
}

/// `/proc/self/mountinfo`: the lines of control groups. The root of the mount is the fourth field, the place
/// the fifth; behind a dash are the type of file system, its source and its options, which name a tree's
/// controllers under version 1.
fn mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (before, behind) = line.split_once(" - ")?;
        let mut fields = before.split(' ');
        let (top, at) = (fields.nth(3)?, fields.next()?);
        let mut behind = behind.split(' ');
        let controllers = match behind.next()? {
            "cgroup2" => None,
            "cgroup" => Some(behind.nth(1)?.split(',').map(str::to_string).collect()),
            _ => return None,
        };
        Some(Mount { at: PathBuf::from(at), top: PathBuf::from(top), controllers })
    };
    text.lines().filter_map(mount).collect()
}

/// A group's path from the top of a mount on. One that is not below it, as in a container that is told of its
/// host's names, is the top itself, as far as can be seen from here.
fn within(top: &Path, group: &Path) -> PathBuf {
    let rest = group.strip_prefix(top).unwrap_or(Path::new(""));
    let plain = rest.components().all(|c| matches!(c, Component::Normal(_)));
    if plain { rest.to_path_buf() } else { PathBuf::new() }
}

fn below(root: &Path, absolute: &Path) -> PathBuf {
    root.join(absolute.strip_prefix("/").unwrap_or(absolute))
}

/// The folders of a group and of all groups around it, up to the top.
fn folders(top: &Path, group: &Path) -> Vec<PathBuf> {
    group.ancestors().map(|ancestor| top.join(ancestor)).collect()
}

/// A number in a file of a group; `max`, or nothing, is none.
fn number(folder: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}

fn memory_of(folder: &Path) -> Option<usize> {
    let bytes = number(folder, "memory.max").or_else(|| number(folder, "memory.limit_in_bytes"))?;
    usize::try_from(bytes).ok()
}

fn cpus_of(folder: &Path) -> Option<usize> {
    let (quota, period) = match fs::read_to_string(folder.join("cpu.max")) {
        Ok(text) => {
            let mut fields = text.split_whitespace();
            let quota = fields.next()?.parse().ok()?;
            (quota, fields.next().map_or(Some(100_000), |period| period.parse().ok())?)
        }
        // No limit is a quota of -1, which is no u64.
        Err(_) => (number(folder, "cpu.cfs_quota_us")?, number(folder, "cpu.cfs_period_us")?),
    };
    processors(quota, period)
}

/// Processors that there is time for, if a process may work `quota` of every `period`.
fn processors(quota: u64, period: u64) -> Option<usize> {
    if period == 0 {
        return None;
    }
    usize::try_from(quota.div_ceil(period)).ok().map(|cpus| cpus.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// A system made up of files, gone when dropped.
    struct System(PathBuf);

    impl System {
        fn of(files: &[(&str, &str)]) -> System {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let name = format!("situ-limits-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
            let root = std::env::temp_dir().join(name);
            for (path, text) in files {
                let file = root.join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            System(root)
        }

        fn limits(&self) -> (Option<usize>, Option<usize>) {
            let Limits { memory, cpus } = Limits::read(&self.0);
            (memory, cpus)
        }
    }

    impl Drop for System {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const UNIFIED: (&str, &str) = (
        "proc/self/mountinfo",
        "23 28 0:21 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
    );

    const SPLIT: &str = "\
        33 32 0:29 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
        34 32 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n\
        35 32 0:31 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n";

    #[test]
    fn without_groups_there_is_no_limit() {
        assert_eq!(System::of(&[]).limits(), (None, None));
        let unlimited = System::of(&[
            UNIFIED,
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
            ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(unlimited.limits(), (None, None));
        let broken =
            System::of(&[("proc/self/cgroup", "0:\n:::\nx"), ("proc/self/mountinfo", " - \na - cgroup")]);
        assert_eq!(broken.limits(), (None, None));
    }

    #[test]
    fn the_least_limit_of_all_groups_around_the_process_counts() {
        let nested = |own: &'static str, parent: &'static str, top: &'static str| {
            System::of(&[
                UNIFIED,
                ("proc/self/cgroup", "0::/a/b/c\n"),
                ("sys/fs/cgroup/a/b/c/memory.max", own),
                ("sys/fs/cgroup/a/b/memory.max", parent),
                ("sys/fs/cgroup/a/memory.max", top),
                ("sys/fs/cgroup/other/memory.max", "1"),
            ])
            .limits()
            .0
        };
        assert_eq!(nested("max", "2048\n", "max"), Some(2048));
        assert_eq!(nested("4096", "2048", "8192"), Some(2048));
        assert_eq!(nested("1024", "2048", "8192"), Some(1024));
        assert_eq!(nested("max", "max", "512"), Some(512));
    }

    #[test]
    fn processor_time_is_rounded_up_to_whole_processors() {
        for (text, cpus) in [
            ("200000 100000", Some(2)),
            ("150000 100000", Some(2)),
            ("50000 100000", Some(1)),
            ("1000 100000", Some(1)),
            ("6400000 100000", Some(64)),
            ("25000 10000\n", Some(3)),
            ("200000", Some(2)),
            ("max 100000", None),
            ("200000 0", None),
            ("", None),
        ] {
            let system =
                System::of(&[UNIFIED, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", text)]);
            assert_eq!(system.limits().1, cpus, "{text:?}");
        }
        let nested = System::of(&[
            UNIFIED,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "400000 100000"),
            ("sys/fs/cgroup/a/cpu.max", "250000 100000"),
        ]);
        assert_eq!(nested.limits().1, Some(3));
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller() {
        let system = System::of(&[
            ("proc/self/mountinfo", SPLIT),
            ("proc/self/cgroup", "9:memory:/jobs/one\n4:cpu,cpuacct:/jobs/one\n1:name=systemd:/user\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "350000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"),
            // Of another controller's tree: no limit of ours.
            ("sys/fs/cgroup/systemd/user/memory.limit_in_bytes", "1"),
        ]);
        assert_eq!(system.limits(), (Some(1 << 30), Some(4)));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_top_whatever_it_is_called_outside() {
        let docker = System::of(&[
            (
                "proc/self/mountinfo",
                "36 32 0:29 /docker/42 /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory\n",
            ),
            ("proc/self/cgroup", "9:memory:/docker/42/inner\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "300"),
            ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "200"),
        ]);
        assert_eq!(docker.limits().0, Some(200));
        for path in ["0::/../../elsewhere\n", "0::/kubepods/pod1/ctr\n"] {
            let outside = System::of(&[
                UNIFIED,
                ("proc/self/cgroup", path),
                ("sys/fs/cgroup/memory.max", "700"),
                ("sys/fs/elsewhere/memory.max", "1"),
            ]);
            assert_eq!(outside.limits().0, Some(700), "{path}");
        }
    }
}
