//! Compute pipelines and bind groups, made once and kept.
//!
//! Every kernel has the same interface: `n` storage buffers in group 0, all `read_write`, and its parameters
//! in group 1, a slice of the stream's parameter buffer chosen by a dynamic offset. So there is one layout
//! per number of buffers, one bind group for all parameters, and a bind group per set of blocks.
//!
//! Promises: a kernel is compiled once per device, and again only if a thousand others were used since; WGSL
//! that does not compile is a `Fault` that names the kernel.

use crate::context::Context;
use crate::fault::Fault;
use crate::memory::Block;
use std::any::{Any, TypeId};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The most storage buffers one kernel may bind; every WebGPU implementation offers at least this many.
pub(crate) const MAX_BINDINGS: usize = 8;

/// Words of parameters that most kernels have; the last two are the stream's.
pub(crate) const PARAM_WORDS: usize = 64;
/// Words of parameters that a kernel can have; what lies behind the first [`PARAM_WORDS`] is for those that
/// ask for it.
pub(crate) const MAX_PARAM_WORDS: usize = 128;

/// Kernels kept before the half that was not used for longest is dropped. Fused programs are as many as
/// functions have parts: a driver's copies of all that a long process ever compiled are gigabytes.
const KEPT_PIPELINES: usize = 1024;

/// Bind groups kept before the least useful are dropped.
const KEPT_BIND_GROUPS: usize = 1024;

/// What a kernel was specialised for: plain data, which its text follows from.
pub(crate) trait Form: Any + Hash + Eq + Debug + Send + Sync {}

impl<T: Any + Hash + Eq + Debug + Send + Sync> Form for T {}

/// A form of any type, compared by type and data.
trait AnyForm: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn is(&self, other: &dyn AnyForm) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
}

impl<T: Form> AnyForm for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is(&self, other: &dyn AnyForm) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }

    fn feed(&self, mut hasher: &mut dyn Hasher) {
        TypeId::of::<T>().hash(&mut hasher);
        self.hash(&mut hasher);
    }
}

/// Which kernel: its name, and the data that its text follows from. Equal keys mean equal WGSL.
///
/// Every launch makes one to find its kernel by: it lies on the stack, and is moved to the heap only where
/// the kernel is compiled.
#[derive(Clone, Debug)]
pub(crate) struct PipelineKey<F> {
    /// The name of the kernel, unique among kernels.
    kernel: &'static str,
    form: F,
}

impl<F: Form> PipelineKey<F> {
    pub(crate) fn new(kernel: &'static str, form: F) -> PipelineKey<F> {
        PipelineKey { kernel, form }
    }
}

/// A key of any type of form, as kept ones and looked-up ones are compared.
trait AnyKey {
    fn kernel(&self) -> &'static str;
    fn form(&self) -> &dyn AnyForm;
}

impl<F: Form> AnyKey for PipelineKey<F> {
    fn kernel(&self) -> &'static str {
        self.kernel
    }

    fn form(&self) -> &dyn AnyForm {
        &self.form
    }
}

/// A key that is kept with its kernel.
struct KeptKey(Box<dyn AnyKey + Send + Sync>);

impl<'a> Borrow<dyn AnyKey + 'a> for KeptKey {
    fn borrow(&self) -> &(dyn AnyKey + 'a) {
        &*self.0
    }
}

impl PartialEq for dyn AnyKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.kernel() == other.kernel() && self.form().is(other.form())
    }
}

impl Eq for dyn AnyKey + '_ {}

impl Hash for dyn AnyKey + '_ {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.kernel().hash(hasher);
        self.form().feed(hasher);
    }
}

impl PartialEq for KeptKey {
    fn eq(&self, other: &KeptKey) -> bool {
        let [a, b]: [&dyn AnyKey; 2] = [&*self.0, &*other.0];
        a == b
    }
}

impl Eq for KeptKey {}

impl Hash for KeptKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let key: &dyn AnyKey = &*self.0;
        key.hash(hasher);
    }
}

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) handle: wgpu::ComputePipeline,
    pub(crate) bindings: usize,
}

/// How a kernel sees a buffer that it binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// `array<u32>`; what elements are in it, `kernels::elem` says.
    Words,
    /// `array<vec2<u32>>`.
    Pairs,
    /// `array<vec4<u32>>`.
    Quads,
    /// `array<atomic<u32>>`.
    Atomics,
}

/// The source of one kernel.
pub(crate) struct Source {
    /// The storage buffers it binds, as `b0`, `b1`, ...
    pub(crate) buffers: Vec<View>,
    /// WGSL text with an entry point `main`, without the declarations of buffers and of `p(i)`, the i-th word
    /// of its parameters.
    pub(crate) wgsl: String,
}

/// The pipelines and bind groups of one device.
pub(crate) struct Pipelines {
    context: Arc<Context>,
    layouts: [OnceLock<Layouts>; MAX_BINDINGS + 1],
    params_layout: wgpu::BindGroupLayout,
    made: RwLock<HashMap<KeptKey, Made>>,
    /// Counts the uses of kernels, which are their times.
    uses: AtomicU64,
    bind_groups: Mutex<HashMap<BlockSet, wgpu::BindGroup>>,
}

struct Made {
    pipeline: Arc<Pipeline>,
    used: AtomicU64,
}

struct Layouts {
    buffers: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

/// The ids of the blocks bound, in order; ids begin at 1, so unused places are 0.
type BlockSet = [u64; MAX_BINDINGS];

impl Pipelines {
    /// Nothing is compiled before it is asked for.
    pub(crate) fn new(context: Arc<Context>) -> Pipelines {
        let entry = wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                min_binding_size: NonZeroU64::new(4 * MAX_PARAM_WORDS as u64),
            },
            count: None,
        };
        let params_layout = context.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("params"),
            entries: &[entry],
        });
        Pipelines {
            context,
            layouts: std::array::from_fn(|_| OnceLock::new()),
            params_layout,
            made: RwLock::default(),
            uses: AtomicU64::new(0),
            bind_groups: Mutex::default(),
        }
    }

    /// The kernel of that key, compiled from `source()` the first time.
    pub(crate) fn get<F: Form>(
        &self,
        key: PipelineKey<F>,
        source: impl FnOnce() -> Source,
    ) -> Result<Arc<Pipeline>, Fault> {
        let now = self.uses.fetch_add(1, Relaxed);
        let wanted: &dyn AnyKey = &key;
        if let Some(found) = self.made.read().unwrap_or_else(PoisonError::into_inner).get(wanted) {
            found.used.store(now, Relaxed);
            return Ok(found.pipeline.clone());
        }
        // Two threads may compile the same kernel once each; the second one to finish is dropped.
        let compiled = Arc::new(self.compile(wanted, source())?);
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= KEPT_PIPELINES {
            let mut times: Vec<u64> = made.values().map(|one| one.used.load(Relaxed)).collect();
            let (_, &mut middle, _) = times.select_nth_unstable(KEPT_PIPELINES / 2);
            // Batches that were recorded hold what they need of the others.
            made.retain(|_, one| one.used.load(Relaxed) > middle);
        }
        let one = made
            .entry(KeptKey(Box::new(key)))
            .or_insert(Made { pipeline: compiled, used: AtomicU64::new(now) });
        Ok(one.pipeline.clone())
    }

    /// How many kernels have been compiled.
    #[cfg(test)]
    pub(crate) fn compiled(&self) -> usize {
        self.made.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn compile(&self, key: &dyn AnyKey, source: Source) -> Result<Pipeline, Fault> {
        let text = declarations(&source.buffers) + &source.wgsl;
        let layouts = self.layouts(source.buffers.len());
        let started = std::time::Instant::now();
        let handle = self.context.guarded(0, |device| {
            let descriptor = wgpu::ShaderModuleDescriptor {
                label: Some(key.kernel()),
                source: wgpu::ShaderSource::Wgsl(text.as_str().into()),
            };
            let mut checks = wgpu::ShaderRuntimeChecks::checked();
            checks.force_loop_bounding = false;
            // SAFETY: only loop bounding is off, and every loop of our kernels counts to a bound that is
            // fixed when the loop begins. Bounds checks and division checks stay on.
            let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(key.kernel()),
                layout: Some(&layouts.pipeline),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &[],
                    // Kernels write workgroup memory before they read it.
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        });
        let handle = handle.map_err(|fault| match fault {
            Fault::Internal(what) => {
                Fault::Internal(format!("kernel {} ({:?}): {what}", key.kernel(), key.form()))
            }
            other => other,
        })?;
        tracing::debug!(kernel = %key.kernel(), form = ?key.form(), elapsed = ?started.elapsed(), "compiled");
        Ok(Pipeline { handle, bindings: source.buffers.len() })
    }

    fn layouts(&self, bindings: usize) -> &Layouts {
        self.layouts[bindings].get_or_init(|| {
            let entries: Vec<_> = (0..bindings as u32)
                .map(|binding| wgpu::BindGroupLayoutEntry {
                    binding,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Storage { read_only: false },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                })
                .collect();
            let device = &self.context.device;
            let buffers = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("buffers"),
                entries: &entries,
            });
            let pipeline = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&buffers), Some(&self.params_layout)],
                immediate_size: 0,
            });
            Layouts { buffers, pipeline }
        })
    }

    /// The bind group of these blocks, in this order.
    pub(crate) fn bind(&self, blocks: &[&Block]) -> wgpu::BindGroup {
        let mut key = BlockSet::default();
        for (place, block) in key.iter_mut().zip(blocks) {
            *place = block.id;
        }
        let mut kept = self.bind_groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = kept.get(&key) {
            return group.clone();
        }
        if kept.len() >= KEPT_BIND_GROUPS {
            // Block sets in use come back within a few ops; telling which are stale is dearer than remaking
            // them.
            kept.clear();
        }
        let entries: Vec<_> = blocks
            .iter()
            .enumerate()
            .map(|(place, block)| wgpu::BindGroupEntry {
                binding: place as u32,
                resource: block.buffer.as_entire_binding(),
            })
            .collect();
        let group = self.context.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.layouts(blocks.len()).buffers,
            entries: &entries,
        });
        kept.insert(key, group.clone());
        group
    }

    /// The bind group of the parameter buffer, for use with dynamic offsets.
    pub(crate) fn bind_params(&self, buffer: &wgpu::Buffer) -> wgpu::BindGroup {
        let binding =
            wgpu::BufferBinding { buffer, offset: 0, size: NonZeroU64::new(4 * MAX_PARAM_WORDS as u64) };
        self.context.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("params"),
            layout: &self.params_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(binding) }],
        })
    }

    /// Forgets the bind groups that hold on to a block, so that its memory can go.
    pub(crate) fn forget(&self, block: u64) {
        self.bind_groups
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|key, _| !key.contains(&block));
    }
}

/// What every kernel begins with.
fn declarations(buffers: &[View]) -> String {
    let mut text = String::new();
    for (i, view) in buffers.iter().enumerate() {
        let element = match view {
            View::Words => "u32",
            View::Pairs => "vec2<u32>",
            View::Quads => "vec4<u32>",
            View::Atomics => "atomic<u32>",
        };
        text += &format!("@group(0) @binding({i}) var<storage, read_write> b{i}: array<{element}>;\n");
    }
    text += "struct Params { w: array<vec4<u32>, 32> }\n@group(1) @binding(0) var<uniform> params: Params;\n";
    text += "fn p(i: u32) -> u32 { return params.w[i >> 2u][i & 3u]; }\n";
    text
}
