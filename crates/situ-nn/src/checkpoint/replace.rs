//! Replacing a file so that the old one or the new one is there at any moment.

use situ_core::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Lets `write` fill a file beside `path`, brings it to the disk, and puts it in the place of `path`.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    let beside = partial(path)?;
    let failed = |doing: &str, e: io::Error| unwritten(path, format!("{doing}: {e}"));
    let filled = || -> Result<()> {
        let file = File::create(&beside).map_err(|e| failed("making a file beside it", e))?;
        let mut writer = BufWriter::with_capacity(1 << 20, &file);
        write(&mut writer).and_then(|()| writer.flush()).map_err(|e| failed("writing it", e))?;
        drop(writer);
        file.sync_all().map_err(|e| failed("bringing it to the disk", e))?;
        fs::rename(&beside, path).map_err(|e| failed("putting it in its place", e))?;
        // The name is on the disk when its folder is. Not every system lets a folder be opened.
        if cfg!(unix) {
            File::open(folder(path))
                .and_then(|f| f.sync_all())
                .map_err(|e| failed("bringing its folder to the disk", e))?;
        }
        Ok(())
    };
    let done = filled();
    if done.is_err() {
        // What is left of a failed attempt is of no use; the error is about the attempt.
        let _ = fs::remove_file(&beside);
    }
    done
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that is written first: one name for each path, so that what a killed program left is written over by the next.
fn partial(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(unwritten(path, "the path has no file name".into()));
    };
    let folder = folder(path);
    fs::create_dir_all(folder).map_err(|e| unwritten(path, format!("making its folder: {e}")))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".partial");
    Ok(folder.join(hidden))
}

pub(super) fn unwritten(path: &Path, why: String) -> Error {
    Error::file(path.to_string_lossy(), "", why, "the file that was there before is as it was")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_for(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("situ-replace-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = folder_for("failed");
        let path = folder.join("kept");
        fs::write(&path, "old").unwrap();
        let failed = replace(&path, |file| {
            file.write_all(b"ne")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        replace(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_file_may_be_read_by_whom_any_new_file_may_be() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder_for("permissions");
        let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode();
        fs::write(folder.join("ordinary"), "").unwrap();
        replace(&folder.join("saved"), |file| file.write_all(b"new")).unwrap();
        assert_eq!(mode("saved"), mode("ordinary"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_path_that_can_not_be_is_an_error_that_names_it() {
        let error = replace(Path::new("/"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("no file name"), "{error}");
    }
}
