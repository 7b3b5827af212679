//! The examples that the project began with: where every result of theirs is, and why.

use super::*;

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
