//! Tests of the device core on whatever adapter there is.

use crate::adapters::find_adapters;
use crate::checks::{BadValue, PendingCheck};
use crate::context::Context;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{Pipeline, PipelineKey, Source, View};
use crate::stream::{FIXED_BYTES, Launch, Stream};
use situ_core::Budget;
use situ_device::Check;
use std::sync::Arc;

fn stream() -> Option<Stream> {
    let adapters = find_adapters();
    let Some(adapter) = adapters.first() else {
        println!("skipped: no GPU adapter");
        return None;
    };
    Some(Stream::new(Arc::new(Context::open(adapter).unwrap()), &Budget::new(None)).unwrap())
}

/// `b0[p(0) + i] = b0[p(0) + i] * p(2) + p(3)` for i below p(1).
fn scale_add(stream: &Stream) -> Arc<Pipeline> {
    let wgsl = "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < p(1u) { b0[p(0u) + id.x] = b0[p(0u) + id.x] * p(2u) + p(3u); } }";
    let key = PipelineKey::new("test_scale_add", 0);
    stream.pipelines().get(key, || Source { buffers: vec![View::Words], wgsl: wgsl.into() }).unwrap()
}

fn run(stream: &Stream, pipeline: &Pipeline, block: &Block, first: u32, count: u32, scale: u32, add: u32) {
    let params = [first, count, scale, add];
    let groups = [count.div_ceil(64), 1, 1];
    stream
        .dispatch(&Launch { pipeline, blocks: &[block], params: &params, groups, work: 1, watch: None })
        .unwrap();
}

fn words(stream: &Stream, block: &Block, offset: u64, count: usize) -> Vec<u32> {
    let mut words = vec![0u32; count];
    stream.read(block, offset, bytemuck::cast_slice_mut(&mut words)).unwrap();
    words
}

#[test]
fn bytes_of_any_length_come_back_as_they_went() {
    let Some(stream) = stream() else { return };
    for len in [0, 1, 3, 4, 5, 255, 65_536, 65_537, (8 << 20) + 3, (33 << 20) + 1] {
        let sent: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
        let block = stream.context().allocate(len as u64 + 256).unwrap();
        stream.upload(&block, 256, &sent).unwrap();
        let mut back = vec![0; len];
        stream.read(&block, 256, &mut back).unwrap();
        assert!(sent == back, "{len} bytes differ");
        if len > 5 {
            // An odd start, as a slice of bools has.
            stream.read(&block, 257, &mut back[..3]).unwrap();
            assert_eq!(back[..3], sent[1..4]);
        }
    }
    assert!(stream.own_bytes() > FIXED_BYTES);
    stream.sync().unwrap();
    stream.trim();
    assert_eq!(stream.own_bytes(), FIXED_BYTES);
}

#[test]
fn uploads_kernels_and_reads_take_effect_in_program_order() {
    let Some(stream) = stream() else { return };
    let pipeline = scale_add(&stream);
    let big = vec![3u32; 1 << 18];
    let block = stream.context().allocate(1 << 20).unwrap();
    for round in 0..4u32 {
        stream.upload(&block, 0, bytemuck::cast_slice(&[5u32, 6, 7, 8])).unwrap();
        run(&stream, &pipeline, &block, 0, 4, 2, round);
        stream.upload(&block, 4, bytemuck::cast_slice(&[100u32])).unwrap();
        run(&stream, &pipeline, &block, 1, 2, 1, 1);
        let expect = [10 + round, 101, 15 + round, 16 + round];
        assert_eq!(words(&stream, &block, 0, 4), expect);
        run(&stream, &pipeline, &block, 0, 4, 0, 9);
        stream.upload(&block, 0, bytemuck::cast_slice(&big)).unwrap();
        run(&stream, &pipeline, &block, 0, 2, 1, 1);
        assert_eq!(words(&stream, &block, 0, 4), [4, 4, 3, 3]);
        stream.clear(&block, 4, 4).unwrap();
        assert_eq!(words(&stream, &block, 0, 4), [4, 0, 3, 3]);
    }
}

#[test]
fn thousands_of_dispatches_are_submitted_in_few_batches() {
    let Some(stream) = stream() else { return };
    let pipeline = scale_add(&stream);
    let block = stream.context().allocate(256).unwrap();
    stream.clear(&block, 0, 256).unwrap();
    let before = stream.submits();
    for _ in 0..5000 {
        run(&stream, &pipeline, &block, 3, 1, 1, 1);
    }
    assert_eq!(words(&stream, &block, 12, 1), [5000]);
    assert!(stream.submits() - before < 50, "{} submits", stream.submits() - before);
}

#[test]
fn one_block_may_be_bound_several_times_in_one_dispatch() {
    let Some(stream) = stream() else { return };
    let wgsl = "@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        b2[8u + id.x] = b0[id.x] + b1[4u + id.x]; }";
    let key = PipelineKey::new("test_add", 0);
    let source = || Source { buffers: vec![View::Words; 3], wgsl: wgsl.into() };
    let pipeline = stream.pipelines().get(key, source).unwrap();
    let block = stream.context().allocate(256).unwrap();
    stream.upload(&block, 0, bytemuck::cast_slice(&[1u32, 2, 3, 4, 10, 20, 30, 40])).unwrap();
    let blocks = [&block, &block, &block];
    stream
        .dispatch(&Launch {
            pipeline: &pipeline,
            blocks: &blocks,
            params: &[],
            groups: [1, 1, 1],
            work: 1,
            watch: None,
        })
        .unwrap();
    assert_eq!(words(&stream, &block, 32, 4), [11, 22, 33, 44]);
    assert_eq!(stream.pipelines().compiled(), 1);
    stream.forget(&block);
}

#[test]
fn kernels_that_nobody_uses_are_dropped_and_those_in_use_stay() {
    let Some(stream) = stream() else { return };
    let pipelines = stream.pipelines();
    let compiled = std::cell::Cell::new(0);
    let get = |variant: u64| {
        let source = || {
            compiled.set(compiled.get() + 1);
            Source {
                buffers: vec![View::Words],
                wgsl: "@compute @workgroup_size(1) fn main() { b0[0] = 1u; }".into(),
            }
        };
        pipelines.get(PipelineKey::new("test_many", variant), source).unwrap()
    };
    for variant in 0..2_500 {
        get(variant);
        get(0);
    }
    assert!(pipelines.compiled() <= 1_024, "{} are kept", pipelines.compiled());
    assert_eq!(compiled.get(), 2_500, "the first was used all along");
    get(1);
    assert_eq!(compiled.get(), 2_501, "the second was not");
}

#[test]
fn a_buffer_no_kernel_could_bind_is_refused_and_the_device_survives() {
    let Some(stream) = stream() else { return };
    let limit = stream.context().max_block_bytes();
    for bytes in [limit + 1, u64::MAX] {
        assert_eq!(stream.context().allocate(bytes).unwrap_err(), Fault::TooLarge { bytes, limit });
    }
    assert_eq!(stream.context().allocate(1).unwrap().bytes(), 256);
}

#[test]
fn wgsl_that_does_not_compile_is_an_error_that_names_the_kernel() {
    let Some(stream) = stream() else { return };
    let key = PipelineKey::new("test_broken", 7);
    let source = || Source { buffers: vec![View::Words], wgsl: "fn main() { nonsense(); }".into() };
    let fault = stream.pipelines().get(key, source).unwrap_err();
    assert!(fault.to_string().contains("test_broken"), "{fault}");
    scale_add(&stream);
}

#[test]
fn after_a_device_is_lost_every_call_says_so() {
    let Some(stream) = stream() else { return };
    let pipeline = scale_add(&stream);
    let block = stream.context().allocate(1 << 20).unwrap();
    run(&stream, &pipeline, &block, 0, 4, 1, 1);
    stream.context().destroy();
    assert!(stream.context().loss().is_some());
    let launch = Launch {
        pipeline: &pipeline,
        blocks: &[&block],
        params: &[0; 4],
        groups: [1, 1, 1],
        work: 1,
        watch: None,
    };
    let lost = |result: Result<(), Fault>| assert!(matches!(result, Err(Fault::Lost(_))), "{result:?}");
    lost(stream.dispatch(&launch));
    lost(stream.upload(&block, 0, &[0; 4]));
    lost(stream.upload(&block, 0, &vec![0; 1 << 20]));
    lost(stream.read(&block, 0, &mut [0; 4]).map(|_| ()));
    lost(stream.sync().map(|_| ()));
    lost(stream.context().allocate(4).map(|_| ()));
}

#[test]
fn nothing_that_a_rejected_batch_should_have_made_can_be_read() {
    let Some(stream) = stream() else { return };
    let [one, two, early] = [0; 3].map(|_| stream.context().allocate(256).unwrap());
    stream.upload(&early, 0, &[7; 4]).unwrap();
    stream.sync().unwrap();
    stream.upload(&one, 0, &[1; 4]).unwrap();
    // Beyond the end: the driver's side finds out when the batch is submitted, and drops all of it.
    stream.clear(&two, 1024, 4).unwrap();
    stream.upload(&two, 0, &[2; 4]).unwrap();
    for block in [&two, &one, &one, &early] {
        let read = stream.read(block, 0, &mut [0; 4]);
        assert!(matches!(&read, Err(Fault::Lost(why)) if why.contains("rejected")), "{read:?}");
    }
    assert!(stream.sync().is_err() && stream.context().loss().is_some());
}

#[test]
fn two_logical_gpus_share_an_adapter_without_disturbing_each_other() {
    let (Some(one), Some(two)) = (stream(), stream()) else { return };
    let (a, b) = (one.context().allocate(256).unwrap(), two.context().allocate(256).unwrap());
    one.upload(&a, 0, bytemuck::cast_slice(&[1u32])).unwrap();
    two.upload(&b, 0, bytemuck::cast_slice(&[2u32])).unwrap();
    run(&one, &scale_add(&one), &a, 0, 1, 10, 0);
    one.context().destroy();
    run(&two, &scale_add(&two), &b, 0, 1, 10, 0);
    assert_eq!(words(&two, &b, 0, 1), [20]);
}

#[test]
fn threads_share_a_stream_and_transfers_get_through_on_a_full_budget() {
    let adapters = find_adapters();
    let Some(adapter) = adapters.first() else { return println!("skipped: no GPU adapter") };
    for spare in [0, 300 << 10, 64 << 20] {
        let budget = Budget::new(Some(FIXED_BYTES as usize + spare));
        let stream = Stream::new(Arc::new(Context::open(adapter).unwrap()), &budget).unwrap();
        let pipeline = scale_add(&stream);
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let (stream, pipeline) = (&stream, &pipeline);
                scope.spawn(move || {
                    let block = stream.context().allocate(1 << 20).unwrap();
                    for round in 0..3 {
                        let sent = vec![thread * 100 + round; 1 << 18];
                        stream.upload(&block, 0, bytemuck::cast_slice(&sent)).unwrap();
                        run(stream, pipeline, &block, 0, 1 << 18, 2, 1);
                        let back = words(stream, &block, 0, 1 << 18);
                        assert!(back.iter().all(|&w| w == 2 * (thread * 100 + round) + 1));
                    }
                });
            }
        });
        assert!(budget.peak() <= FIXED_BYTES as usize + spare);
        assert_eq!(budget.taken() as u64, stream.own_bytes());
        drop(stream);
        assert_eq!(budget.taken(), 0);
    }
}

#[test]
fn a_budget_too_small_for_the_stream_itself_is_refused() {
    let adapters = find_adapters();
    let Some(adapter) = adapters.first() else { return println!("skipped: no GPU adapter") };
    let context = Arc::new(Context::open(adapter).unwrap());
    let fault = Stream::new(context, &Budget::new(Some(1000))).err().unwrap();
    assert_eq!(fault, Fault::OutOfMemory { bytes: FIXED_BYTES });
}

/// Notes in its slot every i below p(0) whose word of b0 is at least p(1).
fn checked(stream: &Stream, block: &Block, count: u32, bound: u32) -> Arc<Check> {
    let main = "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < p(0u) && b0[id.x] >= p(1u) { atomicMax(&b1[p(63u) * 4u], ~id.x); } }";
    let key = PipelineKey::new("test_checked", 0);
    let source = || Source { buffers: vec![View::Words, View::Atomics], wgsl: main.into() };
    let main = stream.pipelines().get(key, source).unwrap();
    let note = "@compute @workgroup_size(1) fn main() {
        let seen = b1[p(63u) * 4u]; if seen != 0u { b1[p(63u) * 4u + 1u] = b0[~seen]; } }";
    let key = PipelineKey::new("test_note", 0);
    let source = || Source { buffers: vec![View::Words, View::Words], wgsl: note.into() };
    let note = stream.pipelines().get(key, source).unwrap();
    let slots = stream.slots();
    let (blocks, params) = ([block, &slots], [count, bound]);
    let launch = |pipeline, groups| Launch {
        pipeline,
        blocks: &blocks,
        params: &params,
        groups,
        work: 1,
        watch: None,
    };
    let check = Check::open("test", None);
    let watch = PendingCheck {
        check: check.clone(),
        bad: BadValue::OutOfRange { what: "index", limit: i64::from(bound) },
    };
    let main = launch(&main, [count.div_ceil(64), 1, 1]);
    stream.dispatch_checked(&watch, &[main], Some(&launch(&note, [1, 1, 1]))).unwrap();
    check
}

fn found(check: &Check) -> Option<(usize, i64)> {
    check.outcome().expect("settled").map(|data| match data.fault {
        situ_core::error::Fault::OutOfRange { value, .. } => (data.row, value),
        _ => panic!("{data}"),
    })
}

#[test]
fn a_check_is_settled_with_the_lowest_bad_row_and_its_value() {
    let Some(stream) = stream() else { return };
    let block = stream.context().allocate(4096).unwrap();
    let mut data = vec![1u32; 1000];
    (data[700], data[17], data[18]) = (90, 55, 99);
    stream.upload(&block, 0, bytemuck::cast_slice(&data)).unwrap();
    let good = checked(&stream, &block, 1000, 100);
    let bad = checked(&stream, &block, 1000, 50);
    // The indices may be gone by the time anybody looks.
    stream.clear(&block, 0, 4000).unwrap();
    assert!(good.outcome().is_none() && bad.outcome().is_none());
    stream.read(&block, 0, &mut [0; 4]).unwrap();
    assert_eq!((found(&good), found(&bad)), (None, Some((17, 55))));
    let again = checked(&stream, &block, 1000, 0);
    stream.sync().unwrap();
    assert_eq!(found(&again), Some((0, 0)));
}

#[test]
fn more_checks_than_slots_are_all_settled() {
    let Some(stream) = stream() else { return };
    let block = stream.context().allocate(256).unwrap();
    stream.upload(&block, 0, bytemuck::cast_slice(&[7u32])).unwrap();
    let count = crate::checks::SLOTS * 2 + 10;
    let bad = |i: u32| i % 100 == 3;
    let checks: Vec<_> =
        (0..count).map(|i| checked(&stream, &block, 1, if bad(i) { 7 } else { 8 })).collect();
    stream.sync().unwrap();
    for (i, check) in checks.iter().enumerate() {
        assert_eq!(found(check).is_some(), bad(i as u32), "{i}");
    }
}

#[test]
fn whoever_reads_finds_every_check_settled_though_another_thread_fetched_it() {
    let Some(stream) = stream() else { return };
    let stream = &stream;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let block = stream.context().allocate(256).unwrap();
                stream.upload(&block, 0, bytemuck::cast_slice(&[7u32])).unwrap();
                for i in 0..50 {
                    let check = checked(stream, &block, 1, 7 + i % 2);
                    stream.read(&block, 0, &mut [0; 4]).unwrap();
                    assert_eq!(found(&check).is_some(), i % 2 == 0);
                }
            });
        }
    });
}
