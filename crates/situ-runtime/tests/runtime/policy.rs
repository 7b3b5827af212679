//! The rows of the table in ARCHITECTURE.md on simulated devices: as an eager op, in a function, as host
//! data, as a move by name.

use crate::listening::Heard;
use situ_core::{DType, DeviceId, DeviceKind, Error, Policy, Reason, Result};
use situ_runtime::{Cause, LogicalConfig, PlacementRule, Runtime, Topic};
use situ_tensor::{Function, Tensor, device, ones, tensor, with_device, with_runtime};
use situ_testkit::machines::{GPU, cpu_and};
use situ_testkit::policy_table::{Row, State, rows};
use situ_testkit::simulated::{Fault, SimulatedGpu};

/// Elements of a tensor of 1 MiB.
const N: usize = 1 << 18;

/// The GPUs of a row and their runtime; `None` where no simulated machine is like that.
fn machine(row: &Row, of: &str) -> Result<Option<(Runtime, Vec<SimulatedGpu>)>> {
    let mut gpus = Vec::new();
    for &(id, state) in &row.devices {
        match (id.kind, state) {
            (DeviceKind::Cpu, State::Can | State::Unasked) if id.index == 0 => {}
            (DeviceKind::Cpu, _) => return Ok(None),
            (DeviceKind::Gpu, _) => gpus.push(match (state, of) {
                (State::NoKernel, "data") => SimulatedGpu::new().without_dtypes(&[DType::F32]),
                (State::NoKernel, _) => SimulatedGpu::new().without_ops(&["erf"]),
                (State::TooSmall, _) => SimulatedGpu::new().max_block(N),
                (State::Unopened, _) => SimulatedGpu::new().staging(1 << 16),
                (State::Full, _) => SimulatedGpu::new().memory(2 * N),
                (State::Can | State::Lost | State::Unasked, _) => SimulatedGpu::new(),
            }),
        }
    }
    let runtime = cpu_and(&gpus.iter().collect::<Vec<_>>());
    let mut next = gpus.iter();
    for &(id, state) in row.devices.iter().filter(|(id, _)| id.kind == DeviceKind::Gpu) {
        let gpu = next.next().expect("each GPU of the row was made");
        match state {
            State::Unopened => runtime.set_logical_devices(id, &[LogicalConfig::limit(1)])?,
            State::Lost => {
                with_runtime(&runtime, || with_device(&id.to_string(), || tensor([1.0f32])))?;
                gpu.controls().lose("unplugged");
            }
            _ => {}
        }
    }
    Ok(Some((runtime, gpus)))
}

/// Where the row's subject is and why, or its error.
fn outcome(row: &Row, of: &str, runtime: &Runtime) -> Result<(DeviceId, Reason)> {
    let x = with_device("/CPU:0", || ones(&[N], DType::F32))?;
    runtime.clear_ledger();
    let _scope = (!row.scope.is_empty()).then(|| device(&row.scope)).transpose()?;
    let of_tensor = |t: Tensor| (t.device(), t.reason());
    match of {
        "eager" => x.erf().map(of_tensor),
        "data" => tensor(vec![1.0f32; N]).map(of_tensor),
        "move" => x.to_device(&row.scope).map(of_tensor),
        _ => {
            let f = Function::new(|x| x.erf());
            let places = f.places(&[&x])?;
            let place =
                places.iter().find(|place| place.name == "erf").expect("it is what the function does");
            Ok((place.device, place.reason))
        }
    }
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::NoSuchDevice(_) => "NoSuchDevice",
        Error::DeviceLost { .. } => "DeviceLost",
        Error::Config(_) => "Config",
        Error::NoKernel(_) => "NoKernel",
        Error::TooLarge(_) => "TooLarge",
        Error::OutOfMemory(_) => "OutOfMemory",
        _ => "another",
    }
}

#[test]
fn eager_ops_functions_and_data_go_where_the_table_says() -> Result<()> {
    let mut walked = 0;
    for (row, of) in rows().iter().flat_map(|row| row.of.iter().map(move |of| (row, of.as_str()))) {
        // What a plan does about a full device is its own: the placer keeps the limit.
        let planned = of == "function" && row.devices.iter().any(|(_, state)| *state == State::Full);
        if planned || row.home.is_some() {
            continue;
        }
        let Some((runtime, gpus)) = machine(row, of)? else { continue };
        let heard = Heard::from(&runtime);
        let mut warned = false;
        for placement in &row.placement {
            for &fallback in &row.fallback {
                walked += 1;
                let at = format!("{}, {of}, {placement}, {fallback}", row.rule);
                runtime.set_fallback_policy(fallback)?;
                runtime.set_placement_rule(match placement.as_str() {
                    "Auto" => PlacementRule::Auto,
                    "PreferGpu" => PlacementRule::PreferGpu,
                    _ => PlacementRule::Manual,
                })?;
                let outcome = with_runtime(&runtime, || outcome(row, of, &runtime));
                let (device, reason) = match outcome {
                    Ok(placed) => placed,
                    Err(error) => {
                        assert_eq!(format!("error {}", kind(&error)), row.reason, "{at}: {error}");
                        continue;
                    }
                };
                assert!(row.candidates.contains(&device), "{at}: {device}, {reason}");
                // Where costs decide, or settle it before another device is asked, they give the reason.
                let weighed = row.scope.is_empty() && of != "data" && placement != "PreferGpu";
                if !weighed && row.reason != "by cost" {
                    let wanted = reason.wanted().map_or_else(String::new, |wanted| format!(" {wanted}"));
                    assert_eq!(format!("{}{wanted}", reason.rule()), row.reason, "{at}");
                    let booked = runtime.ledger().count(Cause::Fallback);
                    assert_eq!(booked > 0, row.booked, "{at}: {booked} fallbacks");
                    // The first time under `Warn`, and once.
                    let said = heard.about(Topic::Fallback);
                    warned |= row.booked && fallback == Policy::Warn;
                    assert_eq!(said.len(), usize::from(warned), "{at}: {said:?}");
                }
                if of == "eager" || of == "data" {
                    let unasked = row.devices.iter().filter(|(id, _)| id.kind == DeviceKind::Gpu).zip(&gpus);
                    for ((id, _), gpu) in unasked.filter(|((_, state), _)| *state == State::Unasked) {
                        assert_eq!(gpu.controls().opened(), 0, "{at}: {id} is not needed");
                    }
                }
            }
        }
    }
    assert!(walked > 200, "{walked} ways");
    Ok(())
}

#[test]
fn a_gpu_that_is_lost_as_an_op_runs_there_is_a_fallback_too() -> Result<()> {
    for policy in [Policy::Allow, Policy::Warn, Policy::Forbid] {
        let gpu = SimulatedGpu::new().immediate();
        let runtime = cpu_and(&[&gpu]);
        runtime.set_fallback_policy(policy)?;
        with_runtime(&runtime, || {
            let here = with_device("/CPU:0", || tensor([1.0f32, -2.0]))?;
            with_device("/GPU:0", || here.neg())?;
            gpu.controls().fail_launch_after(0, Fault::Lost);
            match with_device("/GPU:0", || here.abs()) {
                Ok(made) => {
                    assert_ne!(policy, Policy::Forbid);
                    assert_eq!(made.reason(), Reason::DeviceLost { wanted: GPU });
                    assert_eq!(made.to_vec::<f32>()?, [1.0, 2.0]);
                    assert_eq!(runtime.ledger().count(Cause::Fallback), 1);
                }
                Err(error) => {
                    assert_eq!(policy, Policy::Forbid);
                    assert_eq!(error.lost(), Some(GPU), "{error}");
                }
            }
            Result::<()>::Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn an_op_on_what_was_only_on_the_lost_gpu_is_an_error_that_names_it() -> Result<()> {
    let gpu = SimulatedGpu::new().immediate();
    let runtime = cpu_and(&[&gpu]);
    runtime.set_fallback_policy(Policy::Allow)?;
    with_runtime(&runtime, || {
        let there = tensor([1.0f32, -2.0])?.to_device("/GPU:0")?;
        gpu.controls().fail_launch_after(0, Fault::Lost);
        let error = with_device("/GPU:0", || there.abs()).unwrap_err();
        assert_eq!(error.lost(), Some(GPU), "{error}");
        Ok(())
    })
}
