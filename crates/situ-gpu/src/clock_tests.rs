//! Tests of the clock on whatever adapter there is: through the device seam, and on the stream where passes
//! count.

use crate::adapters::{Adapter, find_adapters};
use crate::context::Context;
use crate::device::PhysicalGpu;
use crate::memory::Block;
use crate::pipelines::{Pipeline, PipelineKey, Source, View};
use crate::stream::{BATCH_DISPATCHES, IN_FLIGHT, Launch, Stream};
use situ_core::{Budget, DType, DeviceId, Layout, Shape, TensorType};
use situ_device::{Arg, Call, Device, Open, Physical, Region, Timing};
use situ_ir::Op;
use situ_ir::ops::{Binary, BinaryKind, Concat, Matmul};
use std::sync::Arc;
use std::time::Instant;

/// The first adapter, if it has a clock.
fn adapter() -> Option<Adapter> {
    let adapter = find_adapters().into_iter().next();
    let timed = adapter.filter(|a| a.handle.features().contains(wgpu::Features::TIMESTAMP_QUERY));
    if timed.is_none() {
        println!("skipped: no GPU adapter with timestamps");
    }
    timed
}

fn open(adapter: Adapter) -> Arc<dyn Device> {
    let budget = Budget::new(None);
    let how = Open { id: DeviceId::gpu(0), cores: None, threads: None, budget };
    PhysicalGpu::new(adapter).open(&how).unwrap()
}

/// A dense f32 tensor at the start of a block.
struct Tensor {
    block: situ_device::Block,
    layout: Layout,
}

impl Tensor {
    fn new(device: &dyn Device, sizes: &[usize]) -> Tensor {
        let layout = Layout::dense(Shape::new(sizes).unwrap());
        let tensor = Tensor { block: device.allocate(4 * layout.shape().elements().max(1)).unwrap(), layout };
        let values: Vec<f32> = (0..layout.shape().elements()).map(|i| (i % 37) as f32 / 8.0 - 2.0).collect();
        device.upload(tensor.region(), bytemuck::cast_slice(&values)).unwrap();
        tensor
    }

    fn region(&self) -> Region<'_> {
        Region { block: &self.block, offset: 0, bytes: 4 * self.layout.shape().elements() }
    }

    fn arg(&self) -> Arg<'_> {
        Arg { region: self.region(), dtype: DType::F32, layout: &self.layout }
    }

    fn bits(&self, device: &dyn Device) -> Vec<u32> {
        let mut words = vec![0; self.layout.shape().elements()];
        device.download(self.region(), bytemuck::cast_slice_mut(&mut words)).unwrap();
        words
    }
}

fn launch(
    device: &dyn Device,
    op: &Op,
    inputs: &[&Tensor],
    output: &Tensor,
    timing: Option<&Arc<Timing>>,
) -> situ_core::Result<()> {
    let inputs: Vec<Arg<'_>> = inputs.iter().map(|t| t.arg()).collect();
    let outputs = [output.arg()];
    let types: Vec<TensorType> = inputs.iter().map(Arg::tensor_type).collect();
    let kernel = device.kernel(op, &types, &[outputs[0].tensor_type()]).unwrap();
    assert_eq!(device.workspace(kernel, op, &types, &[outputs[0].tensor_type()]), 0);
    let inputs = &inputs;
    let (workspace, caller) = (None, None);
    device.launch(&Call { kernel, op, inputs, outputs: &outputs, workspace, caller, timing }).map(|_| ())
}

fn add() -> Op {
    Op::from(Binary { kind: BinaryKind::Add })
}

/// The least of several times: what the machine does besides can only add to one.
fn least(timings: &[Arc<Timing>]) -> f64 {
    timings.iter().map(|timing| timing.seconds().unwrap()).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_large_product_takes_at_least_five_times_as_long_as_a_tiny_sum() {
    let Some(adapter) = adapter() else { return };
    let device = open(adapter);
    let [a, b, c] = [(); 3].map(|()| Tensor::new(&*device, &[512, 512]));
    let [x, y, z] = [(); 3].map(|()| Tensor::new(&*device, &[16]));
    let (product, sum) = (Op::from(Matmul::default()), add());
    // A driver may put off some of compiling a kernel until its first use.
    launch(&*device, &product, &[&a, &b], &c, None).unwrap();
    launch(&*device, &sum, &[&x, &y], &z, None).unwrap();
    device.sync().unwrap();
    let [large, small] = [(); 2].map(|()| [(); 5].map(|()| Arc::new(Timing::default())));
    for (large, small) in large.iter().zip(&small) {
        launch(&*device, &product, &[&a, &b], &c, Some(large)).unwrap();
        launch(&*device, &sum, &[&x, &y], &z, Some(small)).unwrap();
    }
    device.sync().unwrap();
    let (large, tiny) = (least(&large), least(&small));
    println!("512 x 512 x 512 product: {large:.6} s, sum of 16: {tiny:.6} s");
    assert!(tiny >= 0.0 && large > 0.0 && large >= 5.0 * tiny, "{large} against {tiny}");
}

#[test]
fn launches_of_one_batch_are_all_told_after_a_sync_and_sum_to_no_more_than_the_time_that_passed() {
    let Some(adapter) = adapter() else { return };
    let device = open(adapter);
    let [a, b, c] = [(); 3].map(|()| Tensor::new(&*device, &[96, 96]));
    device.sync().unwrap();
    let start = Instant::now();
    let timings: Vec<Arc<Timing>> = (0..20).map(|_| Arc::default()).collect();
    for (i, timing) in timings.iter().enumerate() {
        let op = if i % 2 == 0 { Matmul::default().into() } else { add() };
        launch(&*device, &op, &[&a, &b], &c, Some(timing)).unwrap();
    }
    device.sync().unwrap();
    let wall = start.elapsed().as_secs_f64();
    let sum: f64 = timings.iter().map(|timing| timing.seconds().unwrap()).sum();
    println!("{sum:.6} s of {wall:.6} s");
    assert!(sum > 0.0 && sum <= 1.1 * wall + 0.01, "{sum} s of work in {wall} s");
}

#[test]
fn a_download_tells_the_times_of_what_came_before_it() {
    let Some(adapter) = adapter() else { return };
    let device = open(adapter);
    let [a, b, c] = [(); 3].map(|()| Tensor::new(&*device, &[64, 64]));
    let timing = Arc::new(Timing::default());
    launch(&*device, &Matmul::default().into(), &[&a, &b], &c, Some(&timing)).unwrap();
    assert_eq!(timing.seconds(), None);
    device.download(a.region(), &mut [0; 4]).unwrap();
    assert!(timing.seconds().unwrap() > 0.0);
}

#[test]
fn results_are_the_same_bits_with_timing_on() {
    let Some(adapter) = adapter() else { return };
    let device = open(adapter);
    let results = |timed: bool| {
        let timings: Vec<Arc<Timing>> = (0..3).map(|_| Arc::default()).collect();
        let timing = |i: usize| timed.then(|| &timings[i]);
        let [a, b, c, d] = [(); 4].map(|()| Tensor::new(&*device, &[70, 70]));
        let joined = Tensor::new(&*device, &[210, 70]);
        launch(&*device, &Matmul::default().into(), &[&a, &b], &c, timing(0)).unwrap();
        launch(&*device, &add(), &[&c, &a], &d, timing(1)).unwrap();
        // One dispatch for each input.
        launch(&*device, &Concat { axis: 0 }.into(), &[&c, &d, &a], &joined, timing(2)).unwrap();
        let bits = joined.bits(&*device);
        assert!(timings.iter().all(|timing| timing.seconds().is_some() == timed));
        bits
    };
    assert_eq!(results(false), results(true));
}

#[test]
fn a_launch_of_nothing_takes_no_time_and_one_that_fails_has_none() {
    let Some(adapter) = adapter() else { return };
    let (device, other) = (open(adapter.clone()), open(adapter));
    let nothing = Tensor::new(&*device, &[0]);
    let timing = Arc::new(Timing::default());
    launch(&*device, &add(), &[&nothing, &nothing], &nothing, Some(&timing)).unwrap();
    assert_eq!(timing.seconds(), Some(0.0));
    let (mine, theirs) = (Tensor::new(&*device, &[16]), Tensor::new(&*other, &[16]));
    let timing = Arc::new(Timing::default());
    launch(&*device, &add(), &[&mine, &theirs], &mine, Some(&timing)).unwrap_err();
    device.sync().unwrap();
    assert_eq!(timing.seconds(), None);
}

fn stream(adapter: &Adapter) -> Stream {
    Stream::new(Arc::new(Context::open(adapter).unwrap()), &Budget::new(None)).unwrap()
}

/// A stream that times passes one by one, as those of hardware do, and one that times batches, where the
/// adapter can.
fn streams(adapter: &Adapter) -> [Stream; 2] {
    [stream(adapter).timed_by_pass(), stream(adapter)]
}

/// `b0[0] += 1`.
fn count(stream: &Stream) -> Arc<Pipeline> {
    let key = PipelineKey::new("test_count", 0);
    let wgsl = "@compute @workgroup_size(1) fn main() { b0[0] = b0[0] + 1u; }";
    stream.pipelines().get(key, || Source { buffers: vec![View::Words], wgsl: wgsl.into() }).unwrap()
}

/// Launches of `dispatches` kernels each, timed or not.
fn run(stream: &Stream, block: &Block, dispatches: usize, timing: Option<&Arc<Timing>>) {
    let pipeline = count(stream);
    let watch = timing.map(|timing| stream.stopwatch(timing).unwrap());
    for _ in 0..dispatches {
        let (blocks, params, groups) = (&[block], &[], [1, 1, 1]);
        let watch = watch.as_ref();
        stream.dispatch(&Launch { pipeline: &pipeline, blocks, params, groups, work: 1, watch }).unwrap();
    }
}

fn counted(stream: &Stream, block: &Block) -> u32 {
    let mut word = [0];
    stream.read(block, 0, bytemuck::cast_slice_mut(&mut word)).unwrap();
    word[0]
}

#[test]
fn a_timed_launch_has_one_pass_to_itself_and_untimed_ones_share_theirs_as_before() {
    let Some(adapter) = adapter() else { return };
    let stream = stream(&adapter);
    let block = stream.context().allocate(256).unwrap();
    stream.clear(&block, 0, 256).unwrap();
    let passes_of = |timed: [bool; 6]| {
        let (passes, submits) = (stream.passes(), stream.submits());
        let timings = timed.map(|timed| timed.then(Arc::<Timing>::default));
        for timing in &timings {
            run(&stream, &block, 3, timing.as_ref());
        }
        stream.sync().unwrap();
        assert!(timings.iter().flatten().all(|timing| timing.seconds().is_some()));
        assert_eq!(stream.submits() - submits, 1);
        stream.passes() - passes
    };
    assert_eq!(passes_of([false; 6]), 1);
    assert_eq!(passes_of([true; 6]), 6);
    assert_eq!(passes_of([false, false, true, false, true, true]), 5);
    assert_eq!(passes_of([false; 6]), 1);
    assert_eq!(counted(&stream, &block), 4 * 6 * 3);
}

#[test]
fn more_timed_launches_than_all_batches_in_flight_hold_are_all_told() {
    let Some(adapter) = adapter() else { return };
    let stream = stream(&adapter);
    let own = stream.own_bytes();
    let block = stream.context().allocate(256).unwrap();
    stream.clear(&block, 0, 256).unwrap();
    let launches = (IN_FLIGHT + 3) * BATCH_DISPATCHES + 10;
    let timings: Vec<Arc<Timing>> = (0..launches).map(|_| Arc::default()).collect();
    for timing in &timings {
        run(&stream, &block, 1, Some(timing));
    }
    // Those of batches that had to be done for later ones to be submitted are known without a sync.
    assert!(timings[0].seconds().is_some());
    assert!(timings[launches - 1].seconds().is_none());
    stream.sync().unwrap();
    assert_eq!(timings.iter().filter(|timing| timing.seconds().is_some()).count(), launches);
    assert_eq!(counted(&stream, &block) as usize, launches);
    stream.trim();
    assert_eq!(stream.own_bytes(), own);
}

#[test]
fn a_launch_cut_by_a_full_batch_has_the_sum_of_its_parts_once_all_are_done() {
    let Some(adapter) = adapter() else { return };
    let stream = stream(&adapter);
    let block = stream.context().allocate(256).unwrap();
    run(&stream, &block, 1, None);
    stream.sync().unwrap();
    let long = Arc::new(Timing::default());
    let shorts = [(); 5].map(|()| Arc::new(Timing::default()));
    let submits = stream.submits();
    run(&stream, &block, 8 * BATCH_DISPATCHES + 7, Some(&long));
    assert!(stream.submits() - submits >= 8);
    assert_eq!(long.seconds(), None);
    for short in &shorts {
        run(&stream, &block, 1, Some(short));
    }
    stream.sync().unwrap();
    let (long, short) = (long.seconds().unwrap(), least(&shorts));
    println!("{} dispatches: {long:.6} s, one: {short:.6} s", 8 * BATCH_DISPATCHES + 7);
    assert!(long > 5.0 * short, "{long} against {short}");
}

#[test]
fn threads_that_share_a_stream_each_find_their_own_times_after_their_own_read() {
    let Some(adapter) = adapter() else { return };
    let stream = &stream(&adapter);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let block = stream.context().allocate(256).unwrap();
                stream.clear(&block, 0, 256).unwrap();
                for round in 1..30 {
                    let timing = Arc::new(Timing::default());
                    run(stream, &block, 3, (thread != 0).then_some(&timing));
                    assert_eq!(counted(stream, &block), 3 * round);
                    assert_eq!(timing.seconds().is_some(), thread != 0);
                }
            });
        }
    });
}

#[test]
fn times_of_a_lost_device_stay_empty() {
    let Some(adapter) = adapter() else { return };
    let stream = stream(&adapter);
    let block = stream.context().allocate(256).unwrap();
    let [recorded, submitted] = [(); 2].map(|()| Arc::new(Timing::default()));
    run(&stream, &block, BATCH_DISPATCHES, Some(&submitted));
    run(&stream, &block, 1, Some(&recorded));
    stream.context().destroy();
    stream.sync().unwrap_err();
    drop(stream);
    assert_eq!((recorded.seconds(), submitted.seconds()), (None, None));
}

/// A block, on a stream that has compiled what runs on it.
fn warm(stream: &Stream) -> Block {
    let block = stream.context().allocate(256).unwrap();
    stream.clear(&block, 0, 256).unwrap();
    run(stream, &block, 1, None);
    stream.sync().unwrap();
    block
}

#[test]
fn launches_that_are_timed_with_others_share_a_pass_and_its_time() {
    let Some(adapter) = adapter() else { return };
    for stream in streams(&adapter) {
        let block = warm(&stream);
        let passes = stream.passes();
        let together = [(); 4].map(|()| Arc::new(Timing::with_others()));
        let alone = Arc::new(Timing::default());
        let later = Arc::new(Timing::with_others());
        together.iter().for_each(|timing| run(&stream, &block, 3, Some(timing)));
        run(&stream, &block, 3, Some(&alone));
        run(&stream, &block, 3, Some(&later));
        stream.sync().unwrap();
        assert_eq!(stream.passes() - passes, 3);
        let pass = together[0].pass().unwrap();
        assert!(pass.start <= pass.end);
        assert!(together.iter().all(|timing| timing.pass() == Some(pass) && timing.seconds().is_none()));
        let ((start, end), later) = (alone.span().unwrap(), later.pass().unwrap());
        assert!(alone.pass().is_none() && later.number != pass.number);
        assert!(pass.end <= start && end <= later.start, "{pass:?}, {start} to {end}, {later:?}");
    }
}

#[test]
fn times_of_shared_passes_of_many_batches_are_all_told_by_one_sync() {
    let Some(adapter) = adapter() else { return };
    for stream in streams(&adapter) {
        let block = stream.context().allocate(256).unwrap();
        stream.clear(&block, 0, 256).unwrap();
        // Each read ends a pass and a batch; more passes than are left on the device at once.
        let count_of = 2 * BATCH_DISPATCHES + 50;
        let timings: Vec<Arc<Timing>> = (0..count_of).map(|_| Arc::new(Timing::with_others())).collect();
        for (number, timing) in timings.iter().enumerate() {
            run(&stream, &block, 1, Some(timing));
            assert_eq!(counted(&stream, &block) as usize, number + 1);
        }
        assert!(timings[count_of - 1].pass().is_none(), "it can wait");
        stream.sync().unwrap();
        let passes: Vec<situ_device::TimedPass> =
            timings.iter().map(|timing| timing.pass().unwrap()).collect();
        assert!(passes.iter().all(|pass| pass.start <= pass.end));
        assert!(
            passes.windows(2).all(|pair| pair[0].end <= pair[1].start && pair[0].number != pair[1].number)
        );
    }
}

/// Ends the batch, and waits for nothing.
fn next_batch(stream: &Stream) {
    stream.flush().unwrap();
}

#[test]
fn on_a_software_driver_a_batch_is_one_lap_and_has_the_passes_it_would_have_without_a_clock() {
    let Some(adapter) = adapter() else { return };
    let stream = stream(&adapter);
    if !stream.context().is_software() {
        println!("skipped: no software adapter");
        return;
    }
    let block = stream.context().allocate(256).unwrap();
    stream.clear(&block, 0, 256).unwrap();
    stream.sync().unwrap();
    let passes_of = |timing: Option<&Arc<Timing>>| {
        let passes = stream.passes();
        run(&stream, &block, 2, timing);
        stream.upload(&block, 4, &[0; 4]).unwrap();
        run(&stream, &block, 2, timing);
        next_batch(&stream);
        stream.passes() - passes
    };
    let timing = Arc::new(Timing::with_others());
    assert_eq!((passes_of(None), passes_of(Some(&timing))), (2, 2));
    stream.sync().unwrap();
    assert!(timing.pass().is_some());
}

#[test]
fn batches_that_are_read_at_once_and_those_that_nobody_waits_for_follow_each_other_in_time() {
    let Some(adapter) = adapter() else { return };
    for stream in streams(&adapter) {
        let block = warm(&stream);
        let timings: Vec<Arc<Timing>> = (0..14).map(|_| Arc::new(Timing::with_others())).collect();
        for (at, timing) in timings.iter().enumerate() {
            run(&stream, &block, BATCH_DISPATCHES - 1, Some(timing));
            if at % 2 == 0 {
                counted(&stream, &block);
            } else {
                next_batch(&stream);
            }
        }
        stream.sync().unwrap();
        let passes: Vec<situ_device::TimedPass> =
            timings.iter().map(|timing| timing.pass().unwrap()).collect();
        // A clock of the host that is ahead of the device's, or behind, would leave most of them nothing; a
        // host that is late by more than a batch takes, one or two.
        assert!(passes.iter().all(|pass| pass.start <= pass.end), "{passes:?}");
        assert!(passes.iter().filter(|pass| pass.start < pass.end).count() > 7, "{passes:?}");
        assert!(passes.windows(2).all(|pair| pair[0].end <= pair[1].start), "{passes:?}");
    }
}

#[test]
fn the_time_in_which_a_queue_stood_still_is_in_no_batch() {
    let Some(adapter) = adapter() else { return };
    for stream in streams(&adapter) {
        let block = warm(&stream);
        let [first, second, behind] = [(); 3].map(|()| Arc::new(Timing::with_others()));
        let pause = std::time::Duration::from_millis(60);
        run(&stream, &block, 1, Some(&first));
        next_batch(&stream);
        stream.sync().unwrap();
        std::thread::sleep(pause);
        // Two batches, one right behind the other.
        run(&stream, &block, BATCH_DISPATCHES, Some(&second));
        run(&stream, &block, 1, Some(&behind));
        stream.sync().unwrap();
        let [first, second, behind] = [first, second, behind].map(|timing| timing.pass().unwrap());
        let still = second.start - first.end;
        assert!(still >= 0.9 * pause.as_secs_f64(), "{still} s between {first:?} and {second:?}");
        assert!(second.end <= behind.start && behind.start <= behind.end, "{second:?}, {behind:?}");
    }
}

#[test]
fn what_was_recorded_before_the_first_timed_launch_of_a_batch_is_not_in_its_time() {
    let Some(adapter) = adapter() else { return };
    for stream in streams(&adapter) {
        let block = warm(&stream);
        let [alone, part] = [Timing::default(), Timing::with_others()].map(Arc::new);
        run(&stream, &block, BATCH_DISPATCHES - 10, None);
        run(&stream, &block, 1, Some(&alone));
        run(&stream, &block, 1, Some(&part));
        stream.sync().unwrap();
        let ((_, before), part) = (alone.span().unwrap(), part.pass().unwrap());
        assert!(before <= part.start && part.start <= part.end, "{before} s, {part:?}");
    }
}
