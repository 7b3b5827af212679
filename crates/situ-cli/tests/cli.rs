//! The program as people run it: its output, its errors, its exit codes, with and without a GPU.

use serde_json::Value;
use situ::costs::store;
use std::process::{Command, Output, Stdio};

fn situ(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_situ"));
    command.args(args).env_remove("NO_COLOR");
    command
}

/// The same on a machine without a GPU: the Vulkan loader is sent to a driver that is not there.
fn situ_without_gpu(args: &[&str]) -> Command {
    let mut command = situ(args);
    command.env("VK_DRIVER_FILES", "/nowhere/driver.json").env("VK_ICD_FILENAMES", "/nowhere/driver.json");
    command
}

fn output(mut command: Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Standard output of a run that must succeed.
fn text(command: Command) -> String {
    let output = output(command);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    assert_eq!(errors, "", "nothing on standard error");
    String::from_utf8(output.stdout).unwrap()
}

fn json(command: Command) -> Value {
    serde_json::from_str(&text(command)).unwrap()
}

/// The name of a field, for every entry of a list.
fn names<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap()).collect()
}

fn has_gpu(devices: &Value) -> bool {
    names(&devices["physical"], "name").contains(&"GPU:0")
}

#[test]
fn devices_tells_name_hardware_memory_limit_and_dtypes() {
    let devices = json(situ(&["devices", "--json"]));
    let cpu = &devices["physical"][0];
    assert_eq!(cpu["name"], "CPU:0");
    assert!(!cpu["hardware"].as_str().unwrap().is_empty());
    assert!(!cpu["cores"].as_array().unwrap().is_empty());
    assert_eq!(cpu["software"], false);
    let logical = &devices["logical"][0];
    assert_eq!((&logical["name"], &logical["physical"]), (&"CPU:0".into(), &"CPU:0".into()));
    assert!(logical["dtypes"].as_array().unwrap().contains(&"f64".into()));
    for gpu in devices["physical"].as_array().unwrap().iter().skip(1) {
        assert_eq!(gpu["software"], gpu["class"] == "software gpu");
        assert!(!gpu["dtypes"].as_array().unwrap().contains(&"f64".into()));
        assert!(!gpu["driver"].as_str().unwrap().is_empty());
    }

    let table = text(situ(&["devices"]));
    assert!(table.contains("CPU:0") && table.contains("dtypes with kernels"), "{table}");
    assert_eq!(
        table.contains("software driver: proves results, not speed"),
        devices["physical"].as_array().unwrap().iter().any(|d| d["software"] == true),
        "{table}"
    );
}

#[test]
fn devices_and_doctor_name_a_calibration_that_is_not_used() {
    let cache = std::env::temp_dir().join(format!("situ-cli-ignored-{}", std::process::id()));
    let cpu = &situ::config::list_logical_devices("CPU").unwrap()[0];
    let mut model = cpu.costs().clone();
    model.upload.per_byte = 0.0;
    let calibration = store::Calibration::new(cpu.profile(), model, Vec::new());
    let file = store::save(&cache.join("calibration"), cpu.profile(), &calibration).unwrap();
    let run = |command: &str| {
        let mut command = situ(&[command, "--json"]);
        command.env("SITU_CACHE", &cache);
        let output = output(command);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains(&file.display().to_string()), "a program is told: {errors}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let is_named =
        |text: &str| text.contains(&file.display().to_string()) && text.contains("per_byte of upload");
    let devices = run("devices");
    let ignored = devices["logical"][0]["ignored_calibration"].as_str().unwrap();
    assert!(is_named(ignored), "{ignored}");
    let doctor = run("doctor");
    let findings = doctor["findings"].as_array().unwrap();
    let found = findings.iter().find(|f| f["topic"] == "calibration").unwrap();
    assert!(is_named(found["found"].as_str().unwrap()), "{found}");
    let _ = std::fs::remove_dir_all(&cache);
}

#[test]
fn without_a_gpu_devices_and_doctor_say_so_and_what_to_do() {
    if has_gpu(&json(situ_without_gpu(&["devices", "--json"]))) {
        println!("skipped: this system's GPU can't be hidden by the Vulkan loader");
        return;
    }
    let devices = text(situ_without_gpu(&["devices"]));
    assert!(devices.contains("No GPU") && devices.contains("situ doctor"), "{devices}");
    let doctor = text(situ_without_gpu(&["doctor"]));
    if !situ::config::built_for(situ::DeviceKind::Gpu) {
        assert!(doctor.contains("feature `gpu`"), "{doctor}");
        return;
    }
    assert!(doctor.contains("VK_DRIVER_FILES") && doctor.contains("/nowhere/driver.json"), "{doctor}");
    assert!(doctor.contains("unset VK_DRIVER_FILES"), "{doctor}");
}

#[test]
fn doctor_looks_at_everything_and_ends_with_0_unless_something_is_broken() {
    let output = output(situ(&["doctor", "--json"]));
    let diagnosis: Value = serde_json::from_slice(&output.stdout).unwrap();
    let broken = diagnosis["findings"].as_array().unwrap().iter().any(|f| f["state"] == "broken");
    assert_eq!(output.status.code(), Some(i32::from(broken)), "{diagnosis:#}");
    assert!(!broken, "this machine passes the other tests: {diagnosis:#}");
    let topics = names(&diagnosis["findings"], "topic");
    for topic in ["versions", "cpu", "memory", "huge pages", "gpu driver", "computes"] {
        assert!(topics.contains(&topic), "{topic} in {topics:?}");
    }
    for finding in diagnosis["findings"].as_array().unwrap() {
        assert_eq!(
            finding["state"] == "fine",
            finding["advice"].is_null(),
            "advice where it helps: {finding}"
        );
    }
    let devices = json(situ(&["devices", "--json"]));
    let checked = topics.iter().filter(|t| **t == "computes").count();
    assert_eq!(checked, devices["logical"].as_array().unwrap().len(), "every device was tried");
}

/// What holds on any machine.
fn check_demo(demo: &Value) {
    let trainings = demo["trainings"].as_array().unwrap();
    let first = trainings[0]["losses"][0].as_f64().unwrap();
    for training in trainings {
        assert!((training["losses"][0].as_f64().unwrap() - first).abs() < 1e-3 * first, "{training:#}");
        assert!(names(&training["ops"], "reason").iter().all(|reason| !reason.is_empty()));
        let ops = names(&training["ops"], "name");
        let (loss, softmax) = ("loss/sparse_softmax_cross_entropy", "gradient/loss/softmax");
        for op in [loss, softmax, "gradient/classifier/matmul", "update/classifier/kernel/sgd"] {
            assert!(ops.contains(&op), "{op} in {ops:?}");
        }
    }
    let fallback = &demo["fallback"];
    assert_eq!(fallback["device"], "CPU:0");
    assert_eq!(fallback["warnings"].as_array().unwrap().len(), 1, "{fallback:#}");
    let refusal = &demo["refusal"];
    assert_eq!((&refusal["limit"], &refusal["requested"]), (&(64 << 20).into(), &(96 << 20).into()));
    assert!(refusal["error"].as_str().unwrap().starts_with("out of memory"));
    assert_eq!(refusal["survivor_sum"].as_f64(), Some(f64::from(4 << 20)));
}

/// The devices of a training's ops of that name.
fn devices_of<'a>(training: &'a Value, name: &str) -> Vec<&'a str> {
    let ops = training["ops"].as_array().unwrap().iter().filter(|op| op["name"] == name);
    ops.map(|op| op["device"].as_str().unwrap()).collect()
}

#[test]
fn demo_trains_where_it_was_told_to_and_beside_the_gpu_where_memory_is_short() {
    let demo = json(situ(&["demo", "--json", "--epochs", "1"]));
    check_demo(&demo);
    if !has_gpu(&demo["devices"]) {
        println!("skipped: no GPU adapter");
        return;
    }
    let trainings = demo["trainings"].as_array().unwrap();
    assert_eq!(names(&demo["trainings"], "plan"), ["no scope", "under /GPU:0", "with little memory"]);
    assert!(names(&trainings[1]["ops"], "device").iter().all(|device| *device == "GPU:0"), "{demo:#}");
    let moved = trainings[2]["ops"].as_array().unwrap().iter().filter(|op| op["device"] == "CPU:0");
    let moved: Vec<&str> = moved.map(|op| op["rule"].as_str().unwrap()).collect();
    assert!(!moved.is_empty() && moved.iter().all(|rule| *rule == "memory limit"), "{demo:#}");
    assert_eq!(devices_of(&trainings[2], "gradient/loss/softmax"), ["CPU:0"]);
    assert_eq!(devices_of(&trainings[2], "gradient/classifier/matmul"), ["GPU:0"]);
    // A batch and its labels go to the GPU in each step; with the softmax beside it, logits come and their
    // gradient goes.
    let (batch, logits) = (1460 * 2048 * 4, 1460 * 365 * 4);
    let bytes = |training: &Value| training["bytes_moved"].as_u64().unwrap();
    assert!((batch..batch + 20_000).contains(&bytes(&trainings[1])), "{demo:#}");
    assert!(bytes(&trainings[2]) > batch + 2 * logits, "{demo:#}");
    assert!(demo["elsewhere"].is_null());
    assert_eq!(demo["fallback"]["reason"], "GPU:0 has no f64 kernel for matmul");
    assert_eq!(demo["refusal"]["device"], "GPU:0");
    assert!(names(&demo["ledger"], "cause").contains(&"implicit copy"));
}

#[test]
fn demo_without_a_gpu_shows_the_plan_for_a_machine_with_one() {
    let demo = json(situ_without_gpu(&["demo", "--json", "--epochs", "1"]));
    if has_gpu(&demo["devices"]) {
        println!("skipped: this system's GPU can't be hidden by the Vulkan loader");
        return;
    }
    check_demo(&demo);
    assert_eq!(demo["trainings"].as_array().unwrap().len(), 1);
    assert_eq!(demo["trainings"][0]["ops"][0]["reason"], "no other device can run it");
    let ops = demo["elsewhere"]["ops"].as_array().unwrap();
    assert!(
        ops.iter().any(|op| op[0] == "classifier/matmul + classifier/bias_add" && op[1] == "GPU:0"),
        "{demo:#}"
    );
    assert_eq!(demo["fallback"]["reason"], "there is no GPU:0");
    assert_eq!(demo["refusal"]["device"], "CPU:0");
    assert_eq!(names(&demo["ledger"], "cause").iter().find(|cause| **cause != "fallback"), None);
}

#[test]
fn text_that_is_piped_has_no_colours() {
    for command in [&["devices"] as &[&str], &["doctor"], &["demo", "--epochs", "1"]] {
        let output = output(situ(command));
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !text.contains('\u{1b}'), "{command:?}: {text}");
    }
}

#[test]
fn a_wrong_call_ends_with_2_and_says_on_standard_error_what_there_is() {
    for args in [&[] as &[&str], &["device"], &["devices", "--jsn"]] {
        let output = output(situ(args));
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("Usage: situ"), "{args:?}: {said}");
    }
    let typo = output(situ(&["device"]));
    assert!(String::from_utf8(typo.stderr).unwrap().contains("'devices'"), "the nearest command is named");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = situ(&["devices"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success(), "{}", output.status);
}

#[test]
fn calibrate_measures_a_device_keeps_it_and_checks_it() {
    let folder = std::env::temp_dir().join(format!("situ-cli-calibrate-{}", std::process::id()));
    let calibrate = |args: &[&str]| {
        let mut command = situ(&[&["calibrate", "CPU:0", "--json"], args].concat());
        command.env("SITU_CACHE", &folder);
        json(command)
    };
    let before = calibrate(&["--check"]);
    assert_eq!(before[0]["calibrated"], false);
    let measured = calibrate(&[]);
    assert_eq!(measured[0]["device"], "CPU:0");
    assert!(measured[0]["measurements"].as_u64().unwrap() > 20);
    assert!(std::path::Path::new(measured[0]["file"].as_str().unwrap()).exists());
    let after = calibrate(&["--check"]);
    assert_eq!(after[0]["calibrated"], true, "a later run finds it");
    assert!(after[0]["checks"].as_array().unwrap().len() >= 8);
    let _ = std::fs::remove_dir_all(&folder);
    let output = output(situ(&["calibrate", "GPU:77"]));
    assert_eq!(output.status.code(), Some(1));
}
