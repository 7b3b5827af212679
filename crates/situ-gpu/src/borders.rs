//! What an opened device can do in one go, known in this one place: loop trips of an invocation, workgroups
//! in a dimension, bytes of a block, elements that kernels can count, work of one dispatch, and whether
//! invocations pass numbers to each other without memory. Kernels cut their work by it.
//!
//! Promises: no border is assumed that was not given by the driver or seen by a probe. Drivers do not tell
//! how far a loop may run: Mesa's llvmpipe ends all loops of an invocation together after 65,535 trips,
//! without an error. So a small shader counts when an adapter is first opened, and no kernel makes more trips
//! than were seen to be counted.

use crate::adapters::{Adapter, AdapterKind};
use crate::context::Context;
use crate::fault::Fault;
use crate::memory::ALIGNMENT;
use std::sync::{Mutex, PoisonError};

/// Trips that the probe asks for. Where they are all counted, kernels still keep to them: at 10 µs for a
/// trip, which no GPU needs, an invocation is then done within the 2 s after which desktops reset a device.
const ASKED: u32 = 1 << 17;

/// Elements touched and operations done by one dispatch at most: a second at a rate that every GPU has.
const DISPATCH_WORK: u64 = 1 << 30;

/// Elements that kernels count: their numbers, and those of a workgroup past the end, fit 32 bits.
const ELEMENTS: usize = i32::MAX as usize;

/// The borders of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Borders {
    /// Loop trips that one invocation may make, over all its loops. Half of what was counted: drivers count
    /// the trip on which a loop ends too, and one for each loop that is jumped over.
    pub(crate) trips: usize,
    /// Workgroups in one dimension of a dispatch.
    pub(crate) groups: u32,
    /// Work of one dispatch: elements touched and arithmetic done.
    pub(crate) work: u64,
    /// Bytes of the largest block, so of any tensor and of any workspace.
    pub(crate) block: usize,
    /// Elements of a tensor, also of one that repeats its memory.
    pub(crate) elements: usize,
    /// Whether the driver runs kernels on the CPU: loads are dear there, and shared memory is no help.
    pub(crate) software: bool,
    /// Whether invocations of a subgroup were seen to pass numbers to each other.
    pub(crate) subgroups: bool,
}

impl Borders {
    /// What is known of a device on `adapter` before it has counted: no loop is allowed.
    pub(crate) fn uncounted(adapter: &Adapter, limits: &wgpu::Limits) -> Borders {
        Borders {
            trips: 0,
            groups: limits.max_compute_workgroups_per_dimension,
            work: DISPATCH_WORK,
            block: largest_block(limits) as usize,
            elements: ELEMENTS,
            software: adapter.kind == AdapterKind::Software,
            subgroups: false,
        }
    }

    /// The borders of a device just opened on `adapter`.
    pub(crate) fn counted(self, context: &Context, adapter: &Adapter) -> Result<Borders, Fault> {
        let Seen { trips, subgroups } = seen(context, adapter)?;
        Ok(Borders { trips: trips as usize / 2, subgroups, ..self })
    }

    /// Into how many parts of at most `most` so many are cut.
    pub(crate) fn parts(count: usize, most: usize) -> usize {
        count.div_ceil(most.max(1)).max(1)
    }
}

/// The largest block that kernels can bind whole. They count bytes of bools in 32 bits, and may step past the
/// end by a workgroup before they look.
fn largest_block(limits: &wgpu::Limits) -> u64 {
    let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    limit.min(1 << 31) / ALIGNMENT * ALIGNMENT
}

/// What probes have found.
#[derive(Clone, Copy, Debug)]
struct Seen {
    trips: u32,
    subgroups: bool,
}

/// What was seen on each adapter that this process opened.
static KNOWN: Mutex<Vec<(String, Seen)>> = Mutex::new(Vec::new());

fn seen(context: &Context, adapter: &Adapter) -> Result<Seen, Fault> {
    let asked = context.device.features().contains(wgpu::Features::SUBGROUP);
    let name = format!("{} {} {asked}", adapter.name, adapter.driver);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, seen)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(*seen);
    }
    // A driver that does not compile the probe has no subgroups that are of use.
    let seen = Seen { trips: count(context, ASKED)?, subgroups: asked && pass_on(context).unwrap_or(false) };
    tracing::debug!(adapter = %name, ?seen, of = ASKED, "probed");
    known.push((name, seen));
    Ok(seen)
}

/// How far a loop of `asked` trips comes. Each trip is stored, so that no compiler can do without the loop.
fn count(context: &Context, asked: u32) -> Result<u32, Fault> {
    const WGSL: &str = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(1)
fn main() {
    let asked = b[0];
    for (var i = 0u; i < asked; i++) { b[1] = i + 1u; }
}
";
    let counted = probe(context, WGSL, &[asked, 0])?[1];
    // Fewer than any driver allows means that the shader did not run at all.
    if counted < 1024.min(asked) {
        return Err(Fault::Internal(format!("a loop of {asked} trips was counted to {counted}")));
    }
    Ok(counted)
}

/// Whether every invocation of a workgroup finds the sum of all, joined as `kernels/team.rs` joins.
fn pass_on(context: &Context) -> Result<bool, Fault> {
    const WGSL: &str = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;
var<workgroup> scratch: array<u32, 256>;
@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) size: u32,
    @builtin(subgroup_id) number: u32, @builtin(subgroup_invocation_id) place: u32) {
    var sum = b[lane];
    for (var far = size >> 1u; far > 0u; far = far >> 1u) { sum += subgroupShuffleXor(sum, far); }
    if place == 0u { scratch[number] = sum; }
    workgroupBarrier();
    var all = scratch[0];
    for (var i = 1u; i < 256u / size; i++) { all += scratch[i]; }
    b[lane] = all;
}
";
    let numbers: Vec<u32> = (0..256).map(|lane| lane * lane + 1).collect();
    let sum: u32 = numbers.iter().sum();
    Ok(probe(context, WGSL, &numbers)?.iter().all(|found| *found == sum))
}

/// What one workgroup of a shader makes of some words.
fn probe(context: &Context, wgsl: &str, words: &[u32]) -> Result<Vec<u32>, Fault> {
    let size = 4 * words.len() as u64;
    let buffer = |device: &wgpu::Device, label, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let (submission, back) = context.guarded(2 * size, |device| {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let probed = buffer(device, "probed", usage);
        let back =
            buffer(device, "probed, read", wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some("probe"),
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        };
        let mut checks = wgpu::ShaderRuntimeChecks::checked();
        checks.force_loop_bounding = false;
        // SAFETY: only loop bounding is off, as for kernels, and the loops of probes count to a bound.
        let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("probe"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: probed.as_entire_binding() }],
        });
        context.queue.write_buffer(&probed, 0, bytemuck::cast_slice(words));
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&probed, 0, &back, 0, Some(size));
        (context.queue.submit([encoder.finish()]), back)
    })?;
    back.map_async(wgpu::MapMode::Read, .., |_| {});
    context.wait(Some(submission))?;
    let view = back
        .get_mapped_range(..)
        .map_err(|e| Fault::Internal(format!("reading what a probe has found: {e:?}")))?;
    Ok(view.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::find_adapters;

    #[test]
    fn no_more_trips_are_allowed_than_a_loop_was_seen_to_make() {
        let Some(adapter) = find_adapters().into_iter().next() else {
            println!("skipped: no GPU adapter");
            return;
        };
        let context = Context::open(&adapter).unwrap();
        let borders = context.borders();
        println!("{borders:?}");
        for asked in [1, 1000, borders.trips as u32, 2 * borders.trips as u32] {
            assert_eq!(count(&context, asked).unwrap(), asked);
        }
        let far = count(&context, 4 * ASKED).unwrap();
        assert!(far >= 2 * borders.trips as u32 && borders.trips <= ASKED as usize / 2, "{far}");
    }

    #[test]
    fn parts_cover_what_they_are_made_of() {
        for (count, most, parts) in [(0, 5, 1), (5, 5, 1), (6, 5, 2), (7, 0, 7)] {
            assert_eq!(Borders::parts(count, most), parts);
        }
    }
}
