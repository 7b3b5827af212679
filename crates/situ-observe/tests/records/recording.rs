//! What is in a record.

use super::{machine, on, square, two_layers};
use situ_core::{DType, Result, Rule};
use situ_observe::record::{Clock, CopyCause, Detail, NodeKind, OpRef, Wait};
use situ_observe::{Pattern, Profiler, Record, profile};
use situ_tensor::{Function, name_scope, tensor, with_device};
use situ_testkit::machines::{cpu, cpu_and, shared_cpu_and_gpu};
use situ_testkit::simulated::SimulatedGpu;
use std::time::Duration;

/// What holds of every record.
fn check(record: &Record) {
    let read = Record::from_json(&record.to_json()).expect("it can be read again");
    assert!(read == *record, "the same on disk");
    let ordered = |times: Vec<f64>| assert!(times.is_sorted(), "{times:?}");
    ordered(record.launches.iter().map(|l| l.start).collect());
    ordered(record.copies.iter().map(|c| c.start).collect());
    ordered(record.memory.iter().map(|m| m.time).collect());
    for launch in &record.launches {
        assert!(launch.queued <= launch.launched && launch.start <= launch.end, "{launch:?}");
        assert!(launch.start >= launch.queued - 1e-6, "nothing runs before it is launched: {launch:?}");
        assert!((0.0..=record.seconds + 1e-9).contains(&launch.end), "{launch:?} of {}", record.seconds);
    }
    for call in &record.calls {
        assert!(call.start <= call.end);
    }
}

#[test]
fn a_call_has_every_kernel_and_copy_with_its_place_and_line() -> Result<()> {
    let runtime = machine();
    on(&runtime, || {
        let (f, x) = (two_layers(), square(64)?);
        f.call(&x)?;
        let (_, record) = profile(|| f.call(&x)?.item::<f32>())?;
        check(&record);
        assert_eq!((record.plans.len(), record.calls.len()), (1, 1));
        assert_eq!(record.calls[0].number, 1, "it was called before");
        let plan = &record.plans[0];
        assert_eq!((plan.function.as_str(), plan.signature.as_str()), ("two layers", "f32[64, 64]"));
        let named = |name: &str| plan.nodes.iter().position(|n| n.full_name() == name).expect(name);
        let product = named("dense/matmul");
        let node = &plan.nodes[product];
        assert_eq!(record.devices[node.device].name, "GPU:0");
        assert_eq!((node.requested.as_str(), node.reason.rule), ("GPU:0", Rule::Requested));
        assert_eq!((node.dtype.as_str(), node.shape.as_slice()), ("f32", &[64, 64][..]));
        assert!(node.source.contains("main.rs:"), "{}", node.source);
        assert!(
            node.costs.iter().any(|c| record.devices[c.device].name == "CPU:0"),
            "what it would take there"
        );
        let launch = record.launches.iter().find(|l| l.op == OpRef::Node { call: 0, node: product });
        assert_eq!(launch.expect("it ran").clock, Clock::Device, "by the device's own clock");
        let [up, down] = record.copies.as_slice() else { panic!("{:?}", record.copies) };
        let names = |c: &situ_observe::record::Copy| [c.from, c.to].map(|d| record.devices[d].name.clone());
        assert_eq!(
            (names(up), names(down)),
            (["CPU:0", "GPU:0"].map(String::from), ["GPU:0", "CPU:0"].map(String::from))
        );
        assert_eq!((up.bytes, up.cause, up.call), (64 * 64 * 4, CopyCause::Implicit, Some(0)));
        let edge = &plan.copies[down.planned.expect("it is planned")];
        assert_eq!(edge.producer, Some(product));
        assert!(plan.nodes[edge.consumer].name == "head", "{:?}", plan.nodes[edge.consumer]);
        assert!(up.end <= launch.unwrap().end && launch.unwrap().end <= down.end + 1e-6, "one clock for all");
        assert!(plan.nodes.iter().any(|n| n.kind == NodeKind::Input));
        assert!(plan.predicted > 0.0 && plan.lower_bound <= plan.predicted);
        assert!(record.memory.iter().any(|m| m.in_use > 0));
        assert!(record.waits.iter().all(|w| w.call == 0));
        Ok(())
    })
}

#[test]
fn off_nothing_is_kept_and_a_failed_body_ends_the_recording() -> Result<()> {
    on(&cpu(), || {
        let x = tensor([1.0f32, 2.0])?;
        let failed: Result<((), Record)> = profile(|| {
            x.add(&x)?;
            Err(situ_core::Error::argument("test", "no", ""))
        });
        assert!(failed.is_err());
        x.add(&x)?;
        let (_, record) = profile(|| x.mul(&x))?;
        let names: Vec<&str> = record.eager.iter().map(|op| op.op.as_str()).collect();
        assert_eq!(names, ["mul"], "only what ran meanwhile");
        check(&record);
        Ok(())
    })
}

#[test]
fn eager_ops_have_names_types_reasons_and_counts() -> Result<()> {
    let runtime = machine();
    on(&runtime, || {
        let x = square(16)?;
        let (_, record) = profile(|| {
            let _name = name_scope("loop");
            for _ in 0..3 {
                with_device("/GPU:0", || x.exp())?;
            }
            Ok(())
        })?;
        check(&record);
        let [op] = record.eager.as_slice() else { panic!("{:?}", record.eager) };
        assert_eq!((op.op.as_str(), op.name.as_str(), op.count), ("exp", "loop", 3));
        assert_eq!((op.reason.rule, op.requested.as_str()), (Rule::Requested, "GPU:0"));
        assert_eq!(record.launches.len(), 3);
        assert!(record.copies.iter().all(|c| c.cause == CopyCause::Implicit && c.name == "exp"));
        assert!(!record.copies.is_empty());
        Ok(())
    })
}

#[test]
fn a_full_ring_drops_the_oldest_and_counts_them() -> Result<()> {
    on(&cpu(), || {
        let f = Function::new(|x| x.exp()?.sum(&[0])?.tanh());
        let x = square(8)?;
        f.call(&x)?;
        let (_, record) =
            Profiler::new().capacity(20).run(|| (0..50).try_for_each(|_| f.call(&x).map(drop)))?;
        check(&record);
        assert!(record.dropped > 0 && record.calls.len() < 50, "{} calls", record.calls.len());
        assert_eq!(record.calls.last().map(|c| c.number), Some(50), "the newest are kept");
        let (_, whole) = profile(|| (0..50).try_for_each(|_| f.call(&x).map(drop)))?;
        assert_eq!((whole.dropped, whole.calls.len()), (0, 50));
        Ok(())
    })
}

#[test]
fn retraces_and_new_placements_say_why() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(20));
    on(&cpu_and(&[&gpu]), || {
        let f = Function::new(|x| x.matmul(x)?.matmul(x)?.tanh()?.sum(&[])).named("products");
        let (_, record) = profile(|| {
            let x = square(400)?;
            for _ in 0..8 {
                f.call(&x)?;
            }
            f.call(&square(16)?).map(drop)
        })?;
        check(&record);
        let [retrace] = record.retraces.as_slice() else { panic!("{:?}", record.retraces) };
        assert_eq!(retrace.cause, "argument 0 is f32[16, 16], before it was f32[400, 400]");
        assert_eq!((retrace.function.as_str(), retrace.traces), ("products", 1));
        let again = record.replacements.first().expect("it left the slow device");
        assert!(again.cause.contains("measured"), "{again:?}");
        assert!(record.plans.len() >= 3, "both placements, and the other signature");
        Ok(())
    })
}

#[test]
fn waits_say_for_what() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(2)).immediate();
    on(&cpu_and(&[&gpu]), || {
        let (f, x) = (two_layers(), square(64)?);
        // A lane that gets its core late finds that all is done: then again.
        for _ in 0..20 {
            let (_, record) = profile(|| f.call(&x))?;
            check(&record);
            let product = record.plans[0].nodes.iter().position(|n| n.full_name() == "dense/matmul").unwrap();
            let for_it = |w: &Wait| w.waited_for.contains(&product) && w.end - w.start > 1e-3;
            if record.waits.iter().any(for_it) {
                return Ok(());
            }
        }
        panic!("in 20 calls nobody waited for the slow product");
    })
}

#[test]
fn a_copy_from_a_queue_that_cant_be_asked_ahead_is_as_long_as_it_was() -> Result<()> {
    let gpu = SimulatedGpu::new().delay(Duration::from_millis(5)).without_asking();
    on(&cpu_and(&[&gpu]), || {
        let f = Function::new(|x| {
            let product = with_device("/GPU:0", || x.matmul(x))?;
            with_device("/CPU:0", || product.exp())
        });
        let x = square(16)?;
        let (_, record) = profile(|| f.call(&x))?;
        check(&record);
        let back =
            record.copies.iter().find(|c| record.devices[c.from].name == "GPU:0").expect("it is read back");
        assert!(back.end - back.start >= 5e-3, "it waits for the product: {back:?}");
        Ok(())
    })
}

#[test]
fn fallbacks_are_listed_with_what_was_asked_for() -> Result<()> {
    on(&machine(), || {
        let f = Function::new(|x| with_device("/GPU:0", || x.exp()));
        let x = with_device("/CPU:0", || tensor([1.0f64, 2.0]))?;
        let _quiet = situ_tensor::fallback_policy(situ_core::Policy::Allow);
        let (_, record) = profile(|| {
            f.call(&x)?;
            with_device("/GPU:0", || x.tanh())
        })?;
        check(&record);
        let ops: Vec<&str> = record.fallbacks.iter().map(|f| f.op.as_str()).collect();
        assert_eq!(ops, ["exp", "tanh"]);
        assert!(record.fallbacks.iter().all(|f| f.wanted == "GPU:0" && f.reason.contains("no f64 kernel")));
        Ok(())
    })
}

#[test]
fn two_profiles_at_once_see_the_same_and_one_of_a_thread_sees_its_own() -> Result<()> {
    let runtime = cpu();
    on(&runtime, || {
        let x = tensor([1.0f32, 2.0])?;
        let outer = Profiler::new().start();
        let own = Profiler::new().this_thread().start();
        let elsewhere = x.clone();
        std::thread::spawn(move || elsewhere.exp().map(drop)).join().expect("no panic")?;
        x.tanh()?;
        let [own, outer] = [own.finish(), outer.finish()];
        let ops = |record: &Record| record.eager.iter().map(|op| op.op.clone()).collect::<Vec<_>>();
        assert_eq!(ops(&own), ["tanh"]);
        assert_eq!(ops(&outer), ["exp", "tanh"]);
        Ok(())
    })
}

#[test]
fn what_a_person_reads_names_ops_devices_and_lines() -> Result<()> {
    on(&machine(), || {
        let (f, x) = (two_layers(), square(64)?);
        let (_, record) = Profiler::new().title("a test").run(|| f.call(&x)?.item::<f32>())?;
        let text = record.tables();
        for word in
            ["a test:", "CPU:0", "GPU:0", "two layers(f32[64, 64])", "dense/matmul", "16.0 KiB", "main.rs:"]
        {
            assert!(text.contains(word), "{word} is missing:\n{text}");
        }
        let why = record.why(&Pattern::new("dense/*"));
        for word in [
            "dense/matmul",
            "asked for GPU:0, runs on GPU:0: requested",
            "is copied CPU:0 -> GPU:0",
            "on CPU:0:",
        ] {
            assert!(why.contains(word), "{word} is missing:\n{why}");
        }
        assert!(record.why(&Pattern::new("nothing/like/it")).is_empty());
        Ok(())
    })
}

/// Held by tests that record the machine's own devices: a recording has whatever happens on them meanwhile.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[test]
fn a_gpu_is_recorded_by_its_own_clock() -> Result<()> {
    let Some(runtime) = shared_cpu_and_gpu() else { return Ok(()) };
    let _alone = alone();
    on(runtime, || {
        let (f, x) = (two_layers(), square(256)?);
        f.call(&x)?;
        let steps = || (0..5).try_for_each(|_| f.call(&x)?.item::<f32>().map(drop));
        let (_, record) = Profiler::new().detailed().run(steps)?;
        check(&record);
        let gpu = record.devices.iter().position(|d| d.name == "GPU:0").expect("it is there");
        let on_gpu: Vec<_> = record.launches.iter().filter(|l| l.device == gpu).collect();
        assert_eq!(on_gpu.len(), 5);
        assert!(on_gpu.iter().all(|l| l.clock == Clock::Device && l.end > l.start), "{on_gpu:?}");
        assert!(!record.devices[gpu].description.is_empty());
        let x = tensor([1.0f64])?;
        assert_eq!(x.dtype(), DType::F64);
        Ok(())
    })
}

#[test]
fn a_gpu_that_is_asked_for_passes_tells_their_times_and_launches_have_a_part_each() -> Result<()> {
    let Some(runtime) = shared_cpu_and_gpu() else { return Ok(()) };
    let _alone = alone();
    on(runtime, || {
        let f = Function::new(|x| with_device("/GPU:0", || x.matmul(x)?.tanh()?.matmul(x)?.sum(&[])));
        let x = with_device("/GPU:0", || square(128)?.neg())?;
        let call = || f.call(&x)?.item::<f32>().map(drop);
        // The first calls are measured op by op, whether they are recorded or not.
        (0..6).try_for_each(|_| call())?;
        let (_, record) = profile(|| (0..3).try_for_each(|_| call()))?;
        check(&record);
        assert_eq!((record.detail, record.passes.len()), (Detail::Pass, 3), "{:?}", record.passes);
        for launch in record.launches.iter().filter(|l| record.devices[l.device].name == "GPU:0") {
            assert_eq!(launch.clock, Clock::Pass);
            let pass = &record.passes[launch.pass.expect("its pass")];
            assert!(pass.start <= launch.start && launch.end <= pass.end + 1e-9, "{launch:?} in {pass:?}");
            assert!(
                launch.launched <= launch.start && launch.in_queue() >= 0.0,
                "it waits until it is submitted"
            );
            assert!(!launch.is_measured(&record.devices[launch.device]));
        }
        for (number, pass) in record.passes.iter().enumerate() {
            let mine = record.launches.iter().filter(|l| l.pass == Some(number));
            assert_eq!(mine.clone().count(), pass.launches);
            let together: f64 = mine.map(|l| l.end - l.start).sum();
            assert!((together - (pass.end - pass.start)).abs() < 1e-9 && together > 0.0);
        }
        assert!(record.why(&Pattern::new("matmul")).contains("not timed by itself"));
        Ok(())
    })
}
