//! Opening a page in the browser that the system prefers.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// Opens a page and goes on; where there is no screen to show it on, or nothing that could, it says so and
/// that is all.
pub(crate) fn open(page: &Path) -> Result<()> {
    let page = page.canonicalize().with_context(|| page.display().to_string())?;
    let linux = cfg!(all(unix, not(target_os = "macos")));
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if linux && !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
        eprintln!("situ: there is no screen here: open the page in a browser");
        return Ok(());
    }
    let mut command = if linux {
        Command::new("xdg-open")
    } else if cfg!(target_os = "macos") {
        Command::new("open")
    } else {
        Command::new("explorer")
    };
    let quiet = command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = quiet.spawn() {
        eprintln!("situ: no browser could be started ({error}): open the page in one");
    }
    Ok(())
}
