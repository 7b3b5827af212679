//! Calibration: measured, fitted, kept, found again, and used.

use situ_core::Result;
use situ_runtime::Runtime;
use situ_runtime::costs::store;
use situ_testkit::machines::GPU;
use situ_testkit::simulated::SimulatedGpu;
use std::time::Duration;

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("situ-test-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_slow_device_is_found_to_be_slow_and_a_later_run_knows() -> Result<()> {
    let folder = folder("calibration");
    let gpu = SimulatedGpu::new().immediate().delay(Duration::from_micros(300));
    let build = || {
        Runtime::builder().devices(vec![situ_cpu::physical(), gpu.physical()]).calibrations(&folder).build()
    };
    let runtime = build()?;
    let device = runtime.logical_device(&GPU.spec())?;
    assert!(!device.costs().calibrated, "a model of a class of hardware");
    let mut steps = Vec::new();
    let (calibration, file) = runtime.calibrate(&device, &mut |done, total, _| steps.push((done, total)))?;
    assert!(steps.len() > 20 && steps.last().is_some_and(|(done, total)| done == total), "{steps:?}");
    assert!(device.costs().calibrated);
    for line in &calibration.model.lines {
        assert!(line.launch > 1e-4, "every launch takes 300 µs at least: {line:?}");
        assert!(line.per_flop >= 0.0 && line.per_byte >= 0.0);
    }
    assert!(calibration.samples.iter().all(|s| s.seconds > 2e-4), "the data is kept beside the fit");
    let file = file.expect("it was kept");
    assert!(file.starts_with(&folder) && file.exists());
    let later = build()?;
    // But for the last bit of a number that was written in decimal.
    let (found, made) = (later.logical_device(&GPU.spec())?.costs(), device.costs());
    assert!(found.calibrated);
    for (a, b) in found.lines.iter().zip(&made.lines) {
        assert!((a.launch - b.launch).abs() <= 1e-12 * b.launch, "{a:?} {b:?}");
    }
    // Another device, or a file that is broken, is not taken for it.
    let mut other = device.profile().clone();
    other.driver = Some("another".to_string());
    assert!(store::load(&folder, &other).is_none());
    std::fs::write(&file, "{").expect("it can be written");
    assert!(!build()?.logical_device(&GPU.spec())?.costs().calibrated);
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

#[test]
fn a_check_compares_the_costs_with_ops_they_were_not_fitted_to() -> Result<()> {
    let runtime = situ_testkit::machines::cpu();
    let cpu = runtime.logical_device(&situ_core::DeviceId::CPU0.spec())?;
    let (calibration, file) = runtime.calibrate(&cpu, &mut |_, _, _| {})?;
    assert!(file.is_none(), "given devices keep nothing unless they are told where");
    let checks = runtime.check_costs(&cpu, &mut |_, _, _| {})?;
    assert!(checks.len() >= 8);
    for check in &checks {
        assert!(!calibration.samples.iter().any(|s| s.what == check.what), "{} was fitted to", check.what);
        assert!(check.predicted > 0.0 && check.measured > 0.0);
    }
    Ok(())
}
