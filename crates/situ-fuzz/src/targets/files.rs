//! Parsers of files. Each thread has a file of its own for what it is given.

use situ_core::{DType, Result};
use situ_data::{Csv, read_idx, read_npy, write_idx, write_npy};
use situ_device::Description;
use situ_nn::checkpoint::{load_weights, save_weights};
use situ_nn::{Maker, Penalty, Weight};
use situ_runtime::costs::store;
use situ_runtime::{CostModel, Runtime};
use situ_tensor::{current_runtime, ones, tensor, zeros};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A folder of this process and thread, gone with the thread.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let id = format!("situ-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(id.replace(['(', ')'], ""));
        let _ = std::fs::create_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    static FOLDER: Folder = Folder::new();
}

/// Runs `read` on a file with these bytes.
fn with_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    FOLDER.with(|folder| {
        let path = folder.0.join("input");
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        read(&path)
    })
}

/// What `write` puts into a file.
fn written(write: impl FnOnce(&Path) -> Result<()>) -> Vec<u8> {
    FOLDER.with(|folder| {
        let path = folder.0.join("seed");
        write(&path).map(|()| std::fs::read(&path).unwrap_or_default()).unwrap_or_default()
    })
}

pub(super) fn npys() -> Vec<Vec<u8>> {
    let grid = || tensor([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    vec![
        written(|path| write_npy(path, &grid()?)),
        written(|path| write_npy(path, &grid()?.cast(DType::I64)?)),
        written(|path| write_npy(path, &zeros(&[0, 4], DType::Bool)?)),
    ]
}

pub(super) fn npy(bytes: &[u8]) -> bool {
    with_file(bytes, |path| read_npy(path).is_ok())
}

pub(super) fn idxs() -> Vec<Vec<u8>> {
    vec![
        written(|path| write_idx(path, &ones(&[2, 3, 4], DType::U8)?)),
        written(|path| write_idx(path, &ones(&[5], DType::F32)?)),
    ]
}

pub(super) fn idx(bytes: &[u8]) -> bool {
    with_file(bytes, |path| read_idx(path).is_ok())
}

pub(super) fn csvs() -> Vec<Vec<u8>> {
    let texts = ["length,width,kind\n5.1,3.5,a\n4.9,3.0,b\n", "a;b\n\"x\"\"y\";1\n;nan\n02134;1e400\n"];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Every column is asked for in every way.
pub(super) fn csv(bytes: &[u8]) -> bool {
    let mut accepted = false;
    for csv in [Csv::new(), Csv::new().without_header().delimiter(b';')] {
        let Ok(table) = with_file(bytes, |path| csv.read(path)) else { continue };
        accepted = true;
        for name in table.names() {
            let _ = table.floats(&[name]);
            let _ = table.numbers_as(name, DType::I64);
            let _ = table.categories(name);
        }
    }
    accepted
}

fn weights() -> &'static [Weight] {
    static WEIGHTS: OnceLock<Vec<Weight>> = OnceLock::new();
    WEIGHTS.get_or_init(|| {
        let make = || -> Result<Vec<Weight>> {
            let mut maker = Maker::new(0);
            let kernel = maker.weight("kernel", &ones(&[3, 2], DType::F32)?, true, Penalty::default())?;
            let bias = maker.weight("bias", &zeros(&[2], DType::F32)?, true, Penalty::default())?;
            Ok(vec![kernel, bias])
        };
        make().unwrap_or_else(|error| unreachable!("{error}"))
    })
}

pub(super) fn checkpoints() -> Vec<Vec<u8>> {
    vec![written(|path| save_weights(path, weights()))]
}

pub(super) fn checkpoint(bytes: &[u8]) -> bool {
    with_file(bytes, |path| load_weights(path, weights()).is_ok())
}

/// The CPU of this machine: a calibration is for a device.
fn cpu() -> &'static Description {
    static CPU: OnceLock<Description> = OnceLock::new();
    CPU.get_or_init(|| {
        let runtime: Runtime = current_runtime();
        runtime.list_physical_devices(None)[0].description.clone()
    })
}

pub(super) fn calibrations() -> Vec<Vec<u8>> {
    let calibration = store::Calibration::new(cpu(), CostModel::built_in(cpu()), Vec::new());
    vec![serde_json::to_vec(&calibration).unwrap_or_default()]
}

/// A calibration that is accepted gives times that can be added up.
pub(super) fn calibration(bytes: &[u8]) -> bool {
    let found = FOLDER.with(|folder| {
        let path = match store::save(
            &folder.0,
            cpu(),
            &store::Calibration::new(cpu(), CostModel::built_in(cpu()), Vec::new()),
        ) {
            Ok(path) => path,
            Err(error) => panic!("{error}"),
        };
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{error}"));
        store::load(&folder.0, cpu())
    });
    let Ok(Some(found)) = found else { return false };
    for line in &found.model.lines {
        let seconds = line.seconds(1e12, 1e12);
        assert!(seconds.is_finite() && seconds >= 0.0, "{line:?}");
    }
    for link in [&found.model.upload, &found.model.download] {
        let seconds = link.seconds(1 << 40);
        assert!(seconds.is_finite() && seconds > 0.0, "{link:?}");
    }
    true
}
