//! Every example runs, on a machine without a GPU and on one with, and its results are where it says they
//! are.
//!
//! The examples are included as modules, so that this holds under any test runner and build profile.

use situ::observe::Profiler;
use situ::prelude::*;
use situ_runtime::discover;
use std::sync::{Arc, Mutex};

macro_rules! examples {
    ($($name:ident $file:literal;)*) => {$(
        #[path = $file]
        #[allow(dead_code, reason = "an example's main is not called by every test")]
        mod $name;
    )*};
}
examples! {
    hello "../examples/hello.rs";
    seed_000_a "../examples/seeds/seed_000_a.rs";
    seed_000_b "../examples/seeds/seed_000_b.rs";
    seed_000_c "../examples/seeds/seed_000_c.rs";
    seed_001_a "../examples/seeds/seed_001_a.rs";
    seed_001_b "../examples/seeds/seed_001_b.rs";
    seed_001_c "../examples/seeds/seed_001_c.rs";
    seed_002_a "../examples/seeds/seed_002_a.rs";
    seed_002_b "../examples/seeds/seed_002_b.rs";
    seed_002_c "../examples/seeds/seed_002_c.rs";
    overlapped_batches "../examples/overlapped_batches.rs";
    seed_003_a "../examples/seeds/seed_003_a.rs";
    seed_004_a "../examples/seeds/seed_004_a.rs";
    seed_003_b "../examples/seeds/seed_003_b.rs";
    seed_004_b "../examples/seeds/seed_004_b.rs";
    mnist "../examples/mnist.rs";
    profile_training "../examples/profile_training.rs";
    custom_layer "../examples/custom_layer.rs";
    custom_training_loop "../examples/custom_training_loop.rs";
    datasets_from_csv "../examples/datasets_from_csv.rs";
    expect_a_placement "../examples/expect_a_placement.rs";
    explain_placement "../examples/explain_placement.rs";
    higher_gradients "../examples/higher_gradients.rs";
    limit_gpu_memory "../examples/limit_gpu_memory.rs";
    profile_a_step "../examples/profile_a_step.rs";
    save_and_resume "../examples/save_and_resume.rs";
    train_classifier "../examples/train_classifier.rs";
}

// In a folder, where cargo does not take them for tests of their own.
#[path = "examples/named.rs"]
mod named;
#[path = "examples/seeds.rs"]
mod seeds;

const CPU: DeviceId = DeviceId::CPU0;
const GPU: DeviceId = DeviceId::gpu(0);

/// Fallback warnings that a run gave.
type Warnings = Arc<Mutex<Vec<String>>>;

fn run<T>(runtime: &situ::Runtime, body: impl FnOnce() -> Result<T>) -> (T, Vec<String>) {
    let warnings = Warnings::default();
    let heard = warnings.clone();
    runtime.set_listener(Some(Box::new(move |notice| heard.lock().unwrap().push(notice.text.clone()))));
    let result = situ::with_runtime(runtime, body).unwrap_or_else(|error| panic!("{error}"));
    let warnings = warnings.lock().unwrap().clone();
    (result, warnings)
}

/// Runs a program on a runtime that has no GPU.
fn without_gpu<T>(body: impl FnOnce() -> Result<T>) -> (T, Vec<String>, situ::Runtime) {
    let mut devices = discover();
    devices.retain(|d| d.description().kind == DeviceKind::Cpu);
    let runtime = situ::Runtime::builder().devices(devices).build().unwrap();
    let (result, warnings) = run(&runtime, body);
    (result, warnings, runtime)
}

/// Runs a program on a runtime with the machine's first GPU, if it has one.
fn with_gpu<T>(body: impl FnOnce() -> Result<T>) -> Option<(T, Vec<String>, situ::Runtime)> {
    let runtime = situ::Runtime::builder().build().unwrap();
    if runtime.list_physical_devices(Some(DeviceKind::Gpu)).is_empty() {
        let built = situ::config::built_for(DeviceKind::Gpu);
        println!("skipped: {}", if built { "no GPU adapter" } else { "built without the feature `gpu`" });
        return None;
    }
    let (result, warnings) = run(&runtime, body);
    Some((result, warnings, runtime))
}

fn prefer_gpu<T>(program: impl FnOnce() -> Result<T>) -> impl FnOnce() -> Result<T> {
    || {
        config::set_placement_rule(PlacementRule::PreferGpu)?;
        program()
    }
}

fn assert_no_such_gpu(tensor: &Tensor) {
    assert_eq!(tensor.device(), CPU);
    let reason = tensor.reason();
    assert!(
        matches!(reason, Reason::NoSuchDevice { kind: Some(DeviceKind::Gpu), index: Some(0) }),
        "{reason}"
    );
}

/// What a mean cross-entropy of standard normal logits over 365 classes can be: log 365 is 5.9.
fn assert_is_a_places_loss(loss: &Tensor) {
    let value = loss.item::<f32>().unwrap();
    assert!((5.0..8.0).contains(&value), "{value}");
}

#[test]
fn every_example_runs_to_its_end_with_and_without_a_gpu() {
    type Main = fn() -> Result<()>;
    let examples: &[(&str, Main)] = &[
        ("hello", hello::main),
        ("seed_000_a", seed_000_a::main),
        ("seed_000_b", seed_000_b::main),
        ("seed_000_c", seed_000_c::main),
        ("seed_001_a", seed_001_a::main),
        ("seed_001_b", seed_001_b::main),
        ("seed_001_c", seed_001_c::main),
        ("seed_002_a", seed_002_a::main),
        ("seed_002_b", seed_002_b::main),
        ("seed_003_a", seed_003_a::main),
        ("seed_004_a", seed_004_a::main),
        ("custom_layer", custom_layer::main),
        ("custom_training_loop", custom_training_loop::main),
        ("datasets_from_csv", datasets_from_csv::main),
        ("expect_a_placement", expect_a_placement::main),
        ("explain_placement", explain_placement::main),
        ("higher_gradients", higher_gradients::main),
        ("limit_gpu_memory", limit_gpu_memory::main),
        ("profile_a_step", profile_a_step::main),
        ("save_and_resume", save_and_resume::main),
        ("train_classifier", train_classifier::main),
    ];
    for (name, main) in examples {
        println!("{name}, without a GPU:");
        without_gpu(main);
        println!("{name}, with one:");
        with_gpu(main);
    }
}

#[test]
fn the_copy_of_a_batch_overlaps_the_products_of_the_one_before() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("skipped: one core only");
        return;
    }
    // On a machine with other things to do a lane may be left without a core for a while: then again, for a
    // minute at most.
    let start = std::time::Instant::now();
    while start.elapsed() < std::time::Duration::from_secs(60) {
        let ((results, events), _, _) = without_gpu(overlapped_batches::program);
        assert_eq!(results.len(), 4);
        assert!(results.iter().all(|t| t.device() == DeviceId::cpu(1)));
        if !overlapped_batches::overlaps(&events).is_empty() {
            return;
        }
    }
    panic!("in a minute of calls no copy overlapped a product");
}

/// Digits of a kind: a bright square whose place says which.
fn squares(count: usize) -> Result<mnist::Digits> {
    let mut images = vec![0u8; count * 784];
    let labels: Vec<i32> = (0..count as i32).map(|n| n * 7 % 10).collect();
    for (image, label) in images.chunks_mut(784).zip(&labels) {
        let (row, column) = (label / 5 * 14 + 3, label % 5 * 5 + 1);
        for at in 0..16 {
            image[((row + at / 4) * 28 + column + at % 4) as usize] = 200;
        }
    }
    let images = situ::constant(&images, &[count, 1, 28, 28])?;
    Ok((images, situ::constant(&labels, &[count])?))
}

#[test]
fn the_network_of_mnist_learns_and_goes_on_from_its_file() {
    let folder = std::env::temp_dir().join(format!("situ-mnist-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let saved = folder.join("trained.safetensors");
    let (accuracy, _, _runtime) = without_gpu(|| {
        let (train, test) = (squares(256)?, squares(64)?);
        let silent = situ::nn::Progress::Silent;
        let (trainer, history) = mnist::program(&train, &test, 3, None, silent)?;
        assert_eq!(trainer.steps(), 12);
        let (mut whole, _) = mnist::program(&train, &test, 2, None, silent)?;
        whole.save(&saved)?;
        let (again, rest) = mnist::program(&train, &test, 3, Some(&saved), silent)?;
        assert_eq!((again.steps(), rest.epochs.len()), (12, 1));
        Ok(history.last("val_accuracy"))
    });
    std::fs::remove_dir_all(folder).unwrap();
    assert!(accuracy.unwrap() > 0.9, "{accuracy:?}");
}

#[test]
fn profiled_training_has_its_layers_where_they_were_made_and_says_so_line_by_line() {
    let (record, warnings, _) = without_gpu(|| profile_training::program(2, Profiler::new()));
    assert!(!warnings.is_empty(), "there is no GPU:0");
    assert!(record.findings.iter().any(|f| f.text.contains("GPU:0")), "{}", record.tables());
    let Some((record, _, _)) = with_gpu(|| profile_training::program(2, Profiler::new().detailed())) else {
        return;
    };
    assert_eq!((record.plans.len(), record.calls.len()), (1, 2), "compiled before");
    let node = |name: &str| {
        let found = record.plans[0].nodes.iter().find(|node| node.full_names().iter().any(|n| n == name));
        found.unwrap_or_else(|| panic!("{name} in {:?}", record.op_names()))
    };
    for (name, device) in [
        ("conv2d/conv2d", "GPU:0"),
        ("gradient/conv2d/conv2d_by_filter", "GPU:0"),
        ("update/dense_1/kernel/adam", "GPU:0"),
        ("loss/sparse_softmax_cross_entropy", "CPU:0"),
        ("gradient/loss/softmax", "CPU:0"),
    ] {
        assert_eq!(record.devices[node(name).device].name, device, "{name}");
    }
    for layer in ["conv2d/conv2d", "gradient/conv2d/conv2d_by_filter", "loss/sparse_softmax_cross_entropy"] {
        assert!(node(layer).source.contains("examples/profile_training.rs:"), "{}", node(layer).source);
    }
    let logits = record.copies.iter().filter(|copy| copy.name.starts_with("gradient/dense_1/")).count();
    assert_eq!(logits, 2, "the loss's gradient comes back once a step: {}", record.tables());
}
