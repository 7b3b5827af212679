//! `situ calibrate`: measures the devices, and says how far the fit can be trusted.

use crate::args::Calibrate;
use crate::devices::SOFTWARE;
use crate::screen::Screen;
use anyhow::Result;
use comfy_table::{Cell, CellAlignment};
use serde::Serialize;
use situ::config::{self, DeviceClass, LogicalDevice};
use situ::costs::{CostModel, calibrate::Checked};
use situ::reason::seconds;
use std::io::{IsTerminal, Write, stderr};

/// One device, measured or checked.
#[derive(Debug, Serialize)]
struct Measured {
    device: String,
    calibrated: bool,
    model: CostModel,
    measurements: usize,
    file: Option<String>,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    op: String,
    predicted: f64,
    measured: f64,
}

pub(crate) fn run(screen: &mut Screen, asked: &Calibrate) -> Result<()> {
    let runtime = situ::current_runtime();
    let devices = config::list_logical_devices(asked.device.as_deref().unwrap_or(""))?;
    if devices.is_empty() {
        let asked = asked.device.as_deref().unwrap_or("");
        anyhow::bail!("there is no device {asked}; `situ devices` lists those there are");
    }
    let mut done = Vec::new();
    for device in &devices {
        let mut progress = progress(device);
        let (mut measurements, mut file) = (0, None);
        if !asked.check {
            let (calibration, kept) = runtime.calibrate(device, &mut progress)?;
            measurements = calibration.samples.len();
            file = kept.map(|path| path.display().to_string());
        }
        let checks = if asked.check { runtime.check_costs(device, &mut progress)? } else { Vec::new() };
        let check = |c: Checked| Check { op: c.what, predicted: c.predicted, measured: c.measured };
        done.push(Measured {
            device: device.id().to_string(),
            calibrated: device.costs().calibrated,
            model: device.costs().clone(),
            measurements,
            file,
            checks: checks.into_iter().map(check).collect(),
        });
    }
    if asked.output.json {
        return screen.json(&done);
    }
    for (measured, device) in done.iter().zip(&devices) {
        show(screen, measured, device)?;
    }
    if !asked.check {
        screen
            .line("`situ calibrate --check` compares these costs with ops that they were not fitted to.")?;
    }
    Ok(())
}

/// Says on a terminal what is being measured; elsewhere nothing, so that logs stay short.
fn progress(device: &LogicalDevice) -> impl FnMut(usize, usize, &str) + use<> {
    let name = device.id().to_string();
    move |done, total, what| {
        let mut out = stderr();
        if out.is_terminal() {
            // Progress that can't be shown is no reason to stop.
            let _ = write!(out, "\r\x1b[K{name}: {done} of {total}  {what}");
            if done == total {
                let _ = write!(out, "\r\x1b[K");
            }
            let _ = out.flush();
        }
    }
}

fn show(screen: &mut Screen, measured: &Measured, device: &LogicalDevice) -> Result<()> {
    let fitted = match (measured.calibrated, measured.measurements) {
        (false, _) => "built-in costs, not calibrated".to_string(),
        (true, 0) => "calibrated costs".to_string(),
        (true, n) => format!("fitted to {n} measurements"),
    };
    screen.heading(&format!("{}: {fitted}", measured.device))?;
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let model = &measured.model;
    let rate = |per: f64, unit: &str| match per {
        per if per > 0.0 => format!("{:.1} {unit}", 1e-9 / per),
        _ => "-".to_string(),
    };
    if measured.checks.is_empty() {
        let names = ["elementwise", "transcendental", "matmul", "reduce", "move", "gather"];
        let mut rows = Vec::new();
        for (name, line) in names.iter().zip(&model.lines) {
            rows.push(vec![
                Cell::new(name),
                right(seconds(line.launch)),
                right(rate(line.per_flop, "Gflop/s")),
                right(rate(line.per_byte, "GB/s")),
            ]);
        }
        for (name, link) in [("copy to it", model.upload), ("copy from it", model.download)] {
            let bandwidth = rate(link.per_byte, "GB/s");
            rows.push(vec![
                Cell::new(name),
                right(seconds(link.latency)),
                right("-".into()),
                right(bandwidth),
            ]);
        }
        screen.table(&["work", "launch or latency", "arithmetic", "memory"], rows)?;
    } else {
        let row = |c: &Check| {
            vec![
                Cell::new(&c.op),
                right(seconds(c.predicted)),
                right(seconds(c.measured)),
                right(format!("{:.2}", c.predicted / c.measured)),
            ]
        };
        let rows = measured.checks.iter().map(row).collect();
        screen.table(&["op", "predicted", "measured", "ratio"], rows)?;
    }
    if let Some(file) = &measured.file {
        screen.line(&format!("kept in {file}"))?;
    }
    if device.description().class == DeviceClass::SoftwareGpu {
        screen.line(&format!("{}: {SOFTWARE}", measured.device))?;
    }
    Ok(())
}
