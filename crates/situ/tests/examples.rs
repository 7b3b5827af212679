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

// In a folder, where cargo does not take it for a test of its own.
#[path = "examples/named.rs"]
mod named;

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
fn seed_000_a_runs_on_the_cpu_without_a_gpu() {
    let (loss, warnings, _runtime) = without_gpu(seed_000_a::program);
    assert_eq!((loss.device(), loss.reason()), (CPU, Reason::OnlyDevice));
    assert_is_a_places_loss(&loss);
    assert!(warnings.is_empty(), "nothing was asked for that is not there: {warnings:?}");
}

#[test]
fn seed_000_a_runs_on_the_gpu_by_tensorflows_rule_and_stays_on_the_cpu_by_ours() {
    let Some((loss, _, _runtime)) = with_gpu(prefer_gpu(seed_000_a::program)) else { return };
    assert_eq!((loss.device(), loss.reason()), (GPU, Reason::PreferGpu));
    assert_is_a_places_loss(&loss);

    let Some((loss, _, _runtime)) = with_gpu(seed_000_a::program) else { return };
    assert_eq!(loss.device(), CPU, "so little work is not worth a launch: {}", loss.reason());
    let reason = loss.reason();
    // A GPU that computes it faster is still not worth the copies.
    let (Reason::Faster { than: other, saves } | Reason::CheaperThanMoving { to: other, saves }) = reason
    else {
        panic!("{reason:?}");
    };
    assert!(other == GPU && saves > 0.0, "{reason:?}");
}

#[test]
fn seed_000_b_runs_its_softmax_on_the_cpu_with_and_without_a_gpu() {
    let ((_, loss), warnings, _runtime) = without_gpu(seed_000_b::program);
    assert_eq!((loss.device(), loss.reason()), (CPU, Reason::Requested));
    assert!(warnings.is_empty(), "{warnings:?}");

    let Some(((logits, loss), _, runtime)) = with_gpu(prefer_gpu(seed_000_b::program)) else { return };
    assert_eq!((logits.device(), logits.reason()), (GPU, Reason::PreferGpu));
    assert_eq!((loss.device(), loss.reason()), (CPU, Reason::Requested));
    assert_is_a_places_loss(&loss);
    let moved = runtime.ledger().bytes(GPU, CPU);
    assert_eq!(moved, (32 * 365 + 32) * 4, "the logits and the labels, once each");
}

#[test]
fn seed_000_c_trains_with_its_softmax_on_either_device_and_its_weights_on_the_gpu() {
    let learns = |losses: &[f32]| {
        assert!((5.0..8.0).contains(&losses[0]), "{losses:?}");
        assert!(losses[losses.len() - 1] < 0.5 * losses[0], "{losses:?}");
    };
    let (outcome, warnings, _runtime) = without_gpu(|| seed_000_c::program("/CPU:0", 20));
    learns(&outcome.losses);
    assert!(warnings.iter().any(|w| w.contains("there is no GPU:0")), "{warnings:?}");
    let on_the_cpu = outcome.losses;

    for (softmax_on, device) in [("/CPU:0", CPU), ("/GPU:0", GPU)] {
        let program = || seed_000_c::program(softmax_on, 20);
        let Some((outcome, warnings, _runtime)) = with_gpu(program) else { return };
        assert!(warnings.is_empty(), "{warnings:?}");
        for (here, there) in outcome.losses.iter().zip(&on_the_cpu) {
            assert!((here - there).abs() < 1e-3 * there.max(1.0), "{here} and {there}");
        }
        assert!(outcome.weights.iter().all(|weight| weight.variable.device() == GPU));
        let of = |part: &str| -> Vec<DeviceId> {
            let ops = outcome.places.ops.iter().filter(|op| op.place.name.contains(part));
            ops.map(|op| op.place.device).collect()
        };
        assert_eq!(of("softmax"), [device; 2], "the loss, and its gradient");
        assert_eq!(of("matmul"), [GPU; 2], "the layer, and its gradient");
        assert_eq!(of("adam"), [GPU; 2], "the updates of kernel and bias");
    }
}

#[test]
fn seed_001_a_runs_f64_on_the_cpu_and_names_the_missing_kernel() {
    let expected = [19.0, 22.0, 43.0, 50.0];
    let ((c, asked_for), warnings, _runtime) = without_gpu(seed_001_a::program);
    assert_eq!((c.device(), c.reason()), (CPU, Reason::OnlyDevice));
    assert_eq!(c.to_vec::<f64>().unwrap(), expected);
    assert_no_such_gpu(&asked_for);
    assert!(warnings.len() == 1 && warnings[0].contains("there is no GPU:0"), "{warnings:?}");

    let Some(((c, asked_for), warnings, runtime)) = with_gpu(prefer_gpu(seed_001_a::program)) else { return };
    assert_eq!((c.device(), c.reason()), (CPU, Reason::OnlyDevice));
    assert_eq!(asked_for.to_vec::<f64>().unwrap(), expected);
    assert_eq!(asked_for.device(), CPU);
    assert_eq!(asked_for.reason(), Reason::NoKernel { op: "matmul", dtype: DType::F64, wanted: GPU });
    assert!(
        warnings.len() == 1 && warnings[0].contains("GPU:0 has no f64 kernel for matmul"),
        "{warnings:?}"
    );
    assert_eq!(runtime.ledger().count(config::Cause::Fallback), 1);
}

#[test]
fn seed_001_b_catches_the_allocation_that_fails_and_keeps_everything_else() {
    let check = |outcome: &seed_001_b::Outcome| {
        let Error::OutOfMemory(report) = &outcome.too_large else { panic!("{}", outcome.too_large) };
        assert_eq!(report.requested, 4 << 30);
        assert!(report.limit.is_some_and(|limit| limit <= 256 << 20), "{report}");
        let mean = outcome.survivor.mean(&[]).unwrap().item::<f32>().unwrap();
        assert!(mean.abs() < 0.01, "{mean}");
        assert_eq!(outcome.elsewhere.device(), CPU);
        assert_eq!(outcome.elsewhere.elements(), 20 << 20);
    };
    let (outcome, _, runtime) = without_gpu(seed_001_b::program);
    check(&outcome);
    assert_eq!(outcome.elsewhere.reason(), Reason::OnlyDevice);
    let peak = runtime.memory_info(&"CPU:0".parse().unwrap()).unwrap().peak;
    assert!(peak <= 256 << 20, "the limit held: {peak}");

    let Some((outcome, _, _runtime)) = with_gpu(seed_001_b::program) else { return };
    check(&outcome);
    assert_eq!(outcome.survivor.device(), GPU);
    assert_eq!(outcome.elsewhere.reason(), Reason::MemoryLimit { full: GPU });
}

#[test]
fn seed_001_c_runs_the_inner_scope_on_the_cpu_and_the_outer_one_on_the_gpu() {
    let values = |c: &Tensor, d: &Tensor| {
        assert_eq!(c.to_vec::<f32>().unwrap(), [6.0, 8.0, 10.0, 12.0]);
        assert_eq!(d.to_vec::<f32>().unwrap(), [19.0, 22.0, 43.0, 50.0]);
    };
    let ((c, d), warnings, _runtime) = without_gpu(seed_001_c::program);
    values(&c, &d);
    assert_eq!((c.device(), c.reason()), (CPU, Reason::Requested));
    assert_no_such_gpu(&d);
    assert!(warnings.iter().any(|w| w.starts_with("matmul runs on CPU:0")), "{warnings:?}");

    let Some(((c, d), warnings, _runtime)) = with_gpu(seed_001_c::program) else { return };
    values(&c, &d);
    assert_eq!((c.device(), c.reason()), (CPU, Reason::Requested));
    assert_eq!((d.device(), d.reason()), (GPU, Reason::Requested));
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn seed_002_a_copies_the_product_to_the_cpu_once_and_books_it() {
    let ((product, result), warnings, runtime) = without_gpu(seed_002_a::program);
    assert_no_such_gpu(&product);
    assert_eq!((result.device(), result.reason()), (CPU, Reason::Requested));
    assert!(!warnings.is_empty());
    assert_eq!(runtime.ledger().count(config::Cause::Implicit), 0);

    let Some(((product, result), warnings, runtime)) = with_gpu(seed_002_a::program) else { return };
    assert_eq!((product.device(), product.reason()), (GPU, Reason::Requested));
    assert_eq!((result.device(), result.reason()), (CPU, Reason::Requested));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(runtime.ledger().bytes(GPU, CPU), 4 << 20);
    assert_eq!(runtime.ledger().count(config::Cause::Implicit), 1);
    // A sum over k of (the sum of column k of a) · (the sum of row k of b): deviation n^1.5, here 32768.
    let sum = result.item::<f32>().unwrap();
    assert!(sum.is_finite() && sum.abs() < 6.0 * 32768.0, "{sum}");
}

#[test]
fn seed_002_b_predicts_batch_by_batch_where_the_model_is_and_moves_each_batch_once() {
    let check = |outcome: &seed_002_b::Outcome, home: DeviceId| {
        let rows: Vec<usize> = outcome.predictions.iter().map(|batch| batch.shape()[0]).collect();
        assert_eq!(rows, [1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 784]);
        assert!(outcome.predictions.iter().all(|batch| batch.device() == home));
        assert!(outcome.classes.iter().all(|batch| batch.device() == CPU));
        let first = outcome.predictions[0].to_vec::<f32>().unwrap();
        let class = outcome.classes[0].to_vec::<i32>().unwrap()[0] as usize;
        assert!(first[..10].iter().all(|score| *score <= first[class]));
        assert_eq!(outcome.summary.bytes[&home], (100 * 64 + 64 + 64 * 10 + 10) * 4);
    };
    let (outcome, warnings, _runtime) = without_gpu(seed_002_b::program);
    check(&outcome, CPU);
    assert!(warnings.iter().any(|w| w.contains("there is no GPU:0")), "{warnings:?}");

    let Some((outcome, warnings, runtime)) = with_gpu(seed_002_b::program) else { return };
    check(&outcome, GPU);
    assert!(warnings.is_empty(), "{warnings:?}");
    let weights = outcome.summary.bytes[&GPU] as u64;
    assert_eq!(
        runtime.ledger().bytes(CPU, GPU),
        10_000 * 100 * 4 + weights,
        "every row once, and the weights"
    );
}

#[test]
fn seed_003_a_counts_gpus_and_may_set_growth_at_any_time_without_live_tensors() {
    let (counts, _, _runtime) = without_gpu(seed_003_a::program);
    assert_eq!(counts, (0, 0));

    let Some((counts, _, runtime)) = with_gpu(seed_003_a::program) else { return };
    assert!(counts.0 > 0 && counts.0 == counts.1, "{counts:?}");
    // Where TensorFlow refuses: after the device was used.
    let (growth_after_use, _) = run(&runtime, || {
        situ::with_device("/GPU:0", || situ::zeros(&[8], DType::F32)?.exp())?;
        config::set_memory_growth("GPU:0", false)?;
        Ok(config::list_physical_devices("GPU:0")?[0].memory_growth)
    });
    assert!(!growth_after_use);
}

#[test]
fn seed_004_a_sums_on_two_devices() {
    let values = |cpu: &Tensor, gpu: &Tensor| {
        assert_eq!((cpu.item::<i32>().unwrap(), gpu.item::<i32>().unwrap()), (6, 15));
        assert_eq!((cpu.device(), cpu.reason()), (CPU, Reason::Requested));
    };
    let ((cpu, gpu), warnings, _runtime) = without_gpu(seed_004_a::program);
    values(&cpu, &gpu);
    assert_no_such_gpu(&gpu);
    assert!(warnings.iter().any(|w| w.starts_with("sum runs on CPU:0")), "{warnings:?}");

    let Some(((cpu, gpu), _, _runtime)) = with_gpu(seed_004_a::program) else { return };
    values(&cpu, &gpu);
    assert_eq!((gpu.device(), gpu.reason()), (GPU, Reason::Requested));
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
fn seed_002_c_squares_on_the_gpu_and_takes_the_mean_on_the_cpu_in_one_function() {
    let call = || {
        let input = random::normal(&[1000, 1000])?;
        let function = seed_002_c::my_computation();
        Ok((function.call(&input)?, function.explain(&[&input])?))
    };
    let check = |output: &Tensor| {
        assert_eq!(output.device(), CPU);
        let mean = output.item::<f32>().unwrap();
        assert!((mean - 1.0).abs() < 0.02, "the mean square of standard normals is {mean}");
    };
    if let Some(((output, why), warnings, _runtime)) = with_gpu(call) {
        check(&output);
        let devices: Vec<_> = why.ops.iter().map(|o| (o.place.name, o.place.device)).collect();
        assert_eq!(devices, [("square", GPU), ("mean", CPU)]);
        assert_eq!(warnings, [""; 0]);
    }
    let ((output, why), warnings, _runtime) = without_gpu(call);
    check(&output);
    assert_eq!(why.ops[0].place.reason.rule(), situ::Rule::NoSuchDevice);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
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

#[test]
fn seed_003_b_learns_where_its_scopes_say_and_on_the_cpu_without_a_gpu() {
    let check = |history: &situ::nn::History| {
        let accuracy = history.series("accuracy");
        assert_eq!(accuracy.len(), 3);
        assert!(accuracy[2] > 0.9 && accuracy[2] >= accuracy[0], "{accuracy:?}");
    };
    let program = || seed_003_b::program(320, 3, situ::nn::Progress::Silent);
    let ((trainer, history, x), warnings, _runtime) = without_gpu(program);
    check(&history);
    assert_eq!((x.device(), trainer.weights()[0].variable.device()), (CPU, CPU));
    assert!(warnings.iter().any(|w| w.contains("there is no GPU:0")), "{warnings:?}");

    let Some(((trainer, history, x), _, _runtime)) = with_gpu(program) else { return };
    check(&history);
    assert_eq!(x.device(), CPU, "the data was prepared there");
    assert!(trainer.weights().iter().all(|w| w.variable.device() == GPU));
}

#[test]
fn seed_004_b_prepares_on_the_cpu_and_trains_on_the_gpu() {
    let check = |history: &situ::nn::History| {
        let losses = history.series("loss");
        assert!(losses.windows(2).all(|pair| pair[1] < pair[0]), "{losses:?}");
    };
    let program = || seed_004_b::program(1000, 3, situ::nn::Progress::Silent);
    let ((trainer, history, data, _), _, _runtime) = without_gpu(program);
    check(&history);
    assert_eq!((data.device(), data.reason()), (CPU, Reason::Requested));
    assert_eq!(trainer.weights()[0].variable.device(), CPU);
    let mean = data.mean(&[]).unwrap().item::<f32>().unwrap();
    assert!(mean.abs() < 1e-4, "{mean}");

    let Some(((trainer, history, data, _), _, _runtime)) = with_gpu(program) else { return };
    check(&history);
    assert_eq!((data.device(), data.reason()), (CPU, Reason::Requested));
    assert!(trainer.weights().iter().all(|w| w.variable.device() == GPU));
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
