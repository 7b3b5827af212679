//! What is at a path before, while and after it is written.

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("situ-replace-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(path: &Path, text: &str) -> Result<()> {
    replace_file(path, |file| file.write_all(text.as_bytes()))
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("failed");
    let path = folder.at("kept");
    fs::write(&path, "old").unwrap();
    let failed = replace_file(&path, |file| {
        file.write_all(b"ne")?;
        Err(io::Error::other("the disk is full"))
    });
    assert!(failed.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(folder.names(), ["kept"]);
    put(&path, "new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(folder.names(), ["kept"]);
}

#[test]
fn a_path_that_can_not_be_is_an_error_that_names_it() {
    let error = put(Path::new("/"), "").unwrap_err().to_string();
    assert!(error.contains("folder"), "{error}");
    let folder = Folder::new("folder");
    fs::create_dir(folder.at("sub")).unwrap();
    let error = put(&folder.at("sub"), "").unwrap_err().to_string();
    assert!(error.contains("sub") && error.contains("folder"), "{error}");
    assert!(put(&folder.at("sub").join(".."), "").is_err());
}

#[test]
fn folders_are_made() {
    let folder = Folder::new("deep");
    let path = folder.at("a").join("b").join("c");
    put(&path, "x").unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "x");
}

#[test]
fn writers_at_once_leave_one_whole_file() {
    let folder = Folder::new("writers");
    let path = folder.at("shared");
    put(&path, &"0".repeat(100_000)).unwrap();
    std::thread::scope(|scope| {
        for digit in ["1", "2", "3"] {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..40 {
                    put(path, &digit.repeat(100_000)).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let seen = fs::read(&path).unwrap();
            assert_eq!(seen.len(), 100_000);
            assert!(seen.iter().all(|&b| b == seen[0]));
        }
    });
    assert_eq!(folder.names(), ["shared"]);
}

#[test]
fn what_a_killed_writer_left_is_removed_and_nothing_else_is() {
    let folder = Folder::new("left");
    for name in [".a.123-ff.partial", ".a.txt.partial", ".b.123-ff.partial", ".a.me-too.partial"] {
        fs::write(folder.at(name), "half").unwrap();
    }
    // One that is being written is locked.
    let alive = File::create(folder.at(".a.124-ff.partial")).unwrap();
    alive.lock().unwrap();
    put(&folder.at("a"), "whole").unwrap();
    let kept = [".a.124-ff.partial", ".a.me-too.partial", ".a.txt.partial", ".b.123-ff.partial", "a"];
    assert_eq!(folder.names(), kept);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_file_may_be_read_by_whom_any_may_be_and_an_old_one_by_whom_it_could() {
        let folder = Folder::new("permissions");
        fs::write(folder.at("ordinary"), "").unwrap();
        put(&folder.at("saved"), "new").unwrap();
        assert_eq!(mode(&folder.at("saved")), mode(&folder.at("ordinary")));
        fs::set_permissions(folder.at("saved"), fs::Permissions::from_mode(0o600)).unwrap();
        put(&folder.at("saved"), "newer").unwrap();
        assert_eq!(mode(&folder.at("saved")), 0o600);
    }

    #[test]
    fn a_link_stays_and_what_it_points_to_is_replaced() {
        let folder = Folder::new("links");
        fs::create_dir(folder.at("run3")).unwrap();
        fs::write(folder.at("run3").join("weights"), "old").unwrap();
        symlink("run3/weights", folder.at("latest")).unwrap();
        symlink("latest", folder.at("second")).unwrap();
        symlink("missing", folder.at("dangling")).unwrap();
        symlink("circle", folder.at("circle")).unwrap();
        put(&folder.at("second"), "new").unwrap();
        assert_eq!(fs::read_to_string(folder.at("run3").join("weights")).unwrap(), "new");
        assert_eq!(fs::read_link(folder.at("latest")).unwrap(), Path::new("run3/weights"));
        assert_eq!(fs::read_link(folder.at("second")).unwrap(), Path::new("latest"));
        put(&folder.at("dangling"), "made").unwrap();
        assert_eq!(fs::read_to_string(folder.at("missing")).unwrap(), "made");
        let error = put(&folder.at("circle"), "").unwrap_err().to_string();
        assert!(error.contains("circle"), "{error}");
    }

    #[test]
    fn a_pipe_is_refused_and_stays() {
        let folder = Folder::new("pipe");
        let path = folder.at("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no mkfifo");
            return;
        }
        let error = put(&path, "x").unwrap_err().to_string();
        assert!(error.contains("pipe"), "{error}");
        assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
        // A device through a link is a device.
        symlink("/dev/null", folder.at("null")).unwrap();
        assert!(put(&folder.at("null"), "x").is_err());
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_planted_link_beside_the_path_is_not_followed() {
        let folder = Folder::new("planted");
        fs::write(folder.at("victim"), "precious").unwrap();
        symlink("victim", folder.at(".saved.1-1.partial")).unwrap();
        symlink("victim", folder.at(".saved.partial")).unwrap();
        put(&folder.at("saved"), "new").unwrap();
        assert_eq!(fs::read_to_string(folder.at("victim")).unwrap(), "precious");
        assert_eq!(fs::read_to_string(folder.at("saved")).unwrap(), "new");
    }
}
