//! Calibration: measured, fitted, kept, found again, and used.

use crate::listening::Heard;
use situ_core::{DType, Result};
use situ_ir::WorkClass;
use situ_runtime::costs::CostModel;
use situ_runtime::costs::store::{self, Calibration};
use situ_runtime::{LogicalConfig, Runtime, Topic};
use situ_tensor::{Function, ones, with_runtime};
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
    assert!(store::load(&folder, &other).is_ok_and(|found| found.is_none()));
    std::fs::write(&file, "{").expect("it can be written");
    assert!(!build()?.logical_device(&GPU.spec())?.costs().calibrated);
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

#[test]
fn a_calibration_that_makes_no_sense_is_named_and_not_used() -> Result<()> {
    let folder = folder("ignored");
    let gpu = SimulatedGpu::new();
    let build = || {
        Runtime::builder().devices(vec![situ_cpu::physical(), gpu.physical()]).calibrations(&folder).build()
    };
    let good = build()?.logical_device(&GPU.spec())?.costs().clone();
    let profile = build()?.logical_device(&GPU.spec())?.profile().clone();
    type Spoil = fn(&mut CostModel);
    let spoil: [(&str, Spoil); 5] = [
        ("latency of upload is -1e0", |model| model.upload.latency = -1.0),
        ("per_byte of upload is 0e0", |model| model.upload.per_byte = 0.0),
        ("per_byte of download is 0e0", |model| model.download.per_byte = 0.0),
        ("launch of matmul is 1e308", |model| model.lines[WorkClass::Matmul as usize].launch = 1e308),
        ("per_flop of reduce is -1e0", |model| model.lines[WorkClass::Reduce as usize].per_flop = -1.0),
    ];
    for (why, spoil) in spoil {
        let mut model = CostModel { calibrated: true, ..good.clone() };
        spoil(&mut model);
        let file = store::save(&folder, &profile, &Calibration::new(&profile, model, Vec::new()))?;
        let runtime = build()?;
        let device = runtime.logical_device(&GPU.spec())?;
        assert_eq!(device.costs(), &good, "{why}");
        let ignored = device.ignored_calibration().expect("it is known");
        assert_eq!(ignored.file, file);
        assert!(ignored.why.starts_with(why), "{why}: {}", ignored.why);
        // A device that is made anew reads it anew, and says so.
        let heard = Heard::from(&runtime);
        runtime.set_logical_devices(GPU, &[LogicalConfig::limit(64 << 20)])?;
        let said = heard.about(Topic::Costs);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(&file.display().to_string()) && said[0].contains(why), "{said:?}");
        // Functions and ops go by the built-in costs.
        with_runtime(&runtime, || {
            let x = ones(&[64, 64], DType::F32)?;
            let y = Function::new(|x| x.matmul(x)?.sum(&[])).call(&x)?;
            assert_eq!(y.item::<f32>()?, 64.0 * 64.0 * 64.0);
            assert!(!x.matmul(&x)?.reason().to_string().contains("inf"));
            Result::<()>::Ok(())
        })?;
    }
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
