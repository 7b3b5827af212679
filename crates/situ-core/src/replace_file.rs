//! Writing a file so that the old one or the new one, whole, is at its path at any moment.
//!
//! Promises: the content is written to a file of its own beside the path, brought to the disk, and renamed. A
//! failure leaves what was there. A link is followed: what it points to is replaced, the link stays. What is
//! no ordinary file (a folder, a device, a pipe) is never replaced. Two writers of one path leave the file of
//! one of them. What a killed program left is removed by the next writer of that path. Leaves to others: the
//! content, and files that grow while a program runs.

use crate::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

/// Links that lead to links are followed this far, as Linux does.
const MAX_LINKS: usize = 40;
/// Names tried for the file beside, before something is said to be wrong with the folder.
const MAX_NAMES: usize = 64;
const ENDING: &str = ".partial";

/// Lets `write` fill a file beside `path`, brings it to the disk, and puts it in the place of `path`. Folders
/// are made as needed.
pub fn replace_file(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    let asked = path.as_ref();
    let unwritten = |why: String| {
        Error::file(
            asked.to_string_lossy(),
            "",
            why,
            "what was there before is as it was; choose another place",
        )
    };
    let failed = |doing: &str, e: io::Error| unwritten(format!("{doing}: {e}"));
    let path = destination(asked).map_err(unwritten)?;
    let Some(name) = path.file_name() else { return Err(unwritten("the path has no file name".into())) };
    let folder = folder(&path);
    fs::create_dir_all(folder).map_err(|e| failed("making its folder", e))?;
    let before = fs::metadata(&path).ok();
    let beside = TemporaryFile::new(folder, name).map_err(|e| failed("making a file beside it", e))?;
    let mut writer = BufWriter::with_capacity(1 << 20, &beside.file);
    write(&mut writer).and_then(|()| writer.flush()).map_err(|e| failed("writing it", e))?;
    drop(writer);
    if let Some(before) = before {
        // Whoever was kept from reading the old file is kept from reading the new one.
        beside
            .file
            .set_permissions(before.permissions())
            .map_err(|e| failed("giving it its permissions", e))?;
    }
    beside.file.sync_all().map_err(|e| failed("bringing it to the disk", e))?;
    beside.put(&path).map_err(|e| failed("putting it in its place", e))?;
    // The name is on the disk when its folder is. Not every system lets a folder be opened.
    if cfg!(unix) {
        File::open(folder).and_then(|f| f.sync_all()).map_err(|e| {
            Error::file(
                asked.to_string_lossy(),
                "",
                format!("bringing its folder to the disk: {e}"),
                "the new file is in its place, and may be lost if power fails",
            )
        })?;
    }
    Ok(())
}

/// The file to replace: `path`, or what it links to. An error where that is no ordinary file.
fn destination(path: &Path) -> std::result::Result<PathBuf, String> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let kind = match fs::symlink_metadata(&path) {
            Ok(found) => found.file_type(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(path),
            Err(e) => return Err(e.to_string()),
        };
        if kind.is_file() {
            return Ok(path);
        }
        if kind.is_dir() {
            return Err("there is a folder of that name".into());
        }
        if !kind.is_symlink() {
            return Err("what is there is a device or a pipe, not a file".into());
        }
        let target = fs::read_link(&path).map_err(|e| format!("following the link: {e}"))?;
        // A relative target counts from the link's folder; an absolute one replaces the whole path.
        path = folder(&path).join(target);
    }
    Err("its links lead in a circle".into())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that is written first. Locked for as long as its writer lives, and removed unless it was put in
/// its place.
struct TemporaryFile {
    file: File,
    path: PathBuf,
    placed: bool,
}

impl TemporaryFile {
    fn new(folder: &Path, name: &std::ffi::OsStr) -> io::Result<TemporaryFile> {
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        remove_left_over(folder, &prefix);
        for _ in 0..MAX_NAMES {
            let mut hidden = prefix.clone();
            hidden.push(format!("{}-{:x}{ENDING}", std::process::id(), arbitrary()));
            let path = folder.join(hidden);
            // Neither a file nor a link that somebody has put there is opened.
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(e),
            };
            match file.try_lock() {
                // Another writer took it for left over before it was locked.
                Err(TryLockError::WouldBlock) => continue,
                // A file system without locks: nothing there is ever taken for left over.
                Err(TryLockError::Error(_)) => {}
                Ok(()) if !path.exists() => continue,
                Ok(()) => {}
            }
            return Ok(TemporaryFile { file, path, placed: false });
        }
        Err(io::Error::other("no name was free"))
    }

    fn put(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.placed {
            // What is left of a failed attempt is of no use; the error is about the attempt.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes what writers of this name left that are no more: their locks went with them.
fn remove_left_over(folder: &Path, prefix: &std::ffi::OsStr) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let prefix = prefix.as_encoded_bytes();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_partial =
            name.strip_prefix(prefix).and_then(|n| n.strip_suffix(ENDING.as_bytes())).is_some_and(is_ours);
        if !is_partial || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether this is the middle of a name that [`TemporaryFile::new`] gives: a process and a number.
fn is_ours(middle: &[u8]) -> bool {
    let Some(dash) = middle.iter().position(|&b| b == b'-') else { return false };
    let (process, number) = (&middle[..dash], &middle[dash + 1..]);
    !process.is_empty()
        && process.iter().all(u8::is_ascii_digit)
        && !number.is_empty()
        && number.iter().all(u8::is_ascii_hexdigit)
}

/// A number that no other call is likely to have: by the clock, and by how often it was asked for.
fn arbitrary() -> u64 {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
    (nanos ^ ASKED.fetch_add(1, Relaxed).rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests;
