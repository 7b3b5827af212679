//! Calibrations kept between runs: one file for each device, driver and version, with the measurements beside
//! the fit.

use super::CostModel;
use super::fit::Sample;
use serde::{Deserialize, Serialize};
use situ_core::{Error, Result, replace_file};
use situ_device::Description;
use std::fmt;
use std::path::{Path, PathBuf};

/// The version of the file, and of the measurements in it.
const VERSION: u32 = 2;

/// A device's calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The version of the file.
    pub version: u32,
    /// What was measured: hardware, driver, threads.
    pub device: String,
    /// What was fitted.
    pub model: CostModel,
    /// What it was fitted to.
    pub samples: Vec<Sample>,
}

/// As much of a file as every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Calibration {
    /// A calibration of a device.
    pub fn new(description: &Description, model: CostModel, samples: Vec<Sample>) -> Calibration {
        Calibration { version: VERSION, device: identity(description), model, samples }
    }
}

/// What a calibration is for. Another driver, or another number of cores, is another device.
pub fn identity(description: &Description) -> String {
    let driver = description.driver.as_deref().unwrap_or("no driver");
    let features = description.features.join(" ");
    let (kind, cores) = (description.kind.name(), description.cores.len());
    format!(
        "{kind}, {}, {driver}, {cores} cores, {features}, situ {}",
        description.hardware,
        env!("CARGO_PKG_VERSION")
    )
}

/// Where calibrations are kept: `SITU_CACHE`, else the user's cache; `None` where there is neither.
pub fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("SITU_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("situ")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("situ")))
        .map(|cache| cache.join("calibration"))
}

fn file(folder: &Path, description: &Description) -> PathBuf {
    let hash = identity(description)
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    folder.join(format!("{}-{hash:016x}.json", description.kind.name().to_lowercase()))
}

/// A calibration that was found and can't be used.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Ignored {
    /// The file that it was found in.
    pub file: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        write!(
            f,
            "the calibration {file} is not used: {}; costs are the built-in ones: delete it, or run `situ calibrate` again",
            self.why
        )
    }
}

/// The calibration of a device, if there is one for this device as it is; one that can't be read, or whose
/// figures make no sense, is an error, so that somebody says so.
pub fn load(folder: &Path, description: &Description) -> std::result::Result<Option<Calibration>, Ignored> {
    let file = file(folder, description);
    let ignored = |why: String| Ignored { file: file.clone(), why };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ignored(format!("it can't be read ({error})"))),
    };
    // One of another version may have other fields.
    if serde_json::from_str::<Versioned>(&text).is_ok_and(|file| file.version != VERSION) {
        return Ok(None);
    }
    let found: Calibration =
        serde_json::from_str(&text).map_err(|error| ignored(format!("it is no calibration ({error})")))?;
    if found.device != identity(description) {
        return Ok(None);
    }
    match found.model.fault() {
        Some(fault) => Err(ignored(fault)),
        None => Ok(Some(found)),
    }
}

/// Keeps a calibration; gives the file.
pub fn save(folder: &Path, description: &Description, calibration: &Calibration) -> Result<PathBuf> {
    let path = file(folder, description);
    let written =
        replace_file(&path, |file| serde_json::to_writer_pretty(file, calibration).map_err(Into::into));
    written.map_err(|error| {
        Error::config(
            format!("keep a calibration in {}", folder.display()),
            error.to_string(),
            "set SITU_CACHE to a folder that can be written",
        )
    })?;
    Ok(path)
}
