//! A tiny eager runner: tensors in blocks of their own, one launch per call, no pool.

use crate::adapters::{AdapterKind, find_adapters};
use crate::device::PhysicalGpu;
use situ_core::{Budget, DType, DeviceId, Element, Error, Layout, Scalar, Shape, TensorType};
use situ_device::{Arg, Block, Call, Check, Device, Open, Physical, Region};
use situ_ir::Op;
use std::cell::Cell;
use std::sync::{Arc, LazyLock};

/// Which kernels a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernels {
    /// Those that this adapter gets.
    Own,
    /// Those of hardware.
    Hardware,
    /// Those of hardware that has nothing but what every adapter has.
    Plain,
}

static OWN: LazyLock<Option<Arc<dyn Device>>> = LazyLock::new(|| open(Kernels::Own));
static HARDWARE: LazyLock<Option<Arc<dyn Device>>> = LazyLock::new(|| open(Kernels::Hardware));
static PLAIN: LazyLock<Option<Arc<dyn Device>>> = LazyLock::new(|| open(Kernels::Plain));

thread_local! {
    static KERNELS: Cell<Kernels> = const { Cell::new(Kernels::Own) };
}

fn open(kernels: Kernels) -> Option<Arc<dyn Device>> {
    let mut adapter = find_adapters().into_iter().next()?;
    if kernels != Kernels::Own {
        adapter.kind = AdapterKind::Discrete;
    }
    if kernels == Kernels::Plain {
        adapter.features = Default::default();
    }
    let open = Open { id: DeviceId::gpu(0), cores: None, threads: None, budget: Budget::new(None) };
    Some(PhysicalGpu::new(adapter).open(&open).expect("the adapter opens"))
}

/// One device for all tests, so that each shader is compiled once.
pub(crate) fn device() -> Option<&'static dyn Device> {
    let device = match KERNELS.get() {
        Kernels::Own => &OWN,
        Kernels::Hardware => &HARDWARE,
        Kernels::Plain => &PLAIN,
    };
    if device.is_none() {
        println!("skipped: no GPU adapter");
    }
    device.as_deref()
}

/// Runs a test as it is, and with the kernels that hardware gets, whatever the adapter is.
pub(crate) fn on_both_paths(test: fn()) {
    on(&[Kernels::Own, Kernels::Hardware], test);
}

/// The same, and with the kernels of hardware that lacks what not every adapter has.
pub(crate) fn on_every_path(test: fn()) {
    on(&[Kernels::Own, Kernels::Hardware, Kernels::Plain], test);
}

fn on(paths: &[Kernels], test: fn()) {
    if device().is_none() {
        return;
    }
    for path in paths {
        KERNELS.set(*path);
        println!("kernels: {path:?}");
        test();
    }
    KERNELS.set(Kernels::Own);
}

/// A tensor on the device.
pub(crate) struct Tensor {
    block: Arc<Block>,
    offset: usize,
    pub(crate) dtype: DType,
    pub(crate) layout: Layout,
    pub(crate) check: Option<Arc<Check>>,
}

pub(crate) fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap()
}

impl Tensor {
    /// A dense tensor; it begins in the middle of its block, as tensors of a pool do.
    pub(crate) fn new<T: Element + bytemuck::NoUninit>(dims: &[usize], data: &[T]) -> Tensor {
        let tensor = Tensor::empty(TensorType::new(T::DTYPE, shape(dims)));
        assert_eq!(data.len(), tensor.layout.shape().elements());
        device().unwrap().upload(tensor.region(), bytemuck::cast_slice(data)).unwrap();
        tensor
    }

    /// A dense tensor of any dtype, of elements given as scalars.
    pub(crate) fn of(dtype: DType, dims: &[usize], data: &[Scalar]) -> Tensor {
        let tensor = Tensor::empty(TensorType::new(dtype, shape(dims)));
        assert_eq!(data.len(), tensor.layout.shape().elements());
        let bytes: Vec<u8> =
            data.iter().flat_map(|value| value.bits().to_ne_bytes().into_iter().take(dtype.size())).collect();
        device().unwrap().upload(tensor.region(), &bytes).unwrap();
        tensor
    }

    /// The elements as scalars, in row-major order.
    pub(crate) fn scalars(&self) -> Vec<Scalar> {
        situ_core::with_element!(self.dtype, T => self.read::<T>().into_iter().map(T::to_scalar).collect())
    }

    fn empty(of: TensorType) -> Tensor {
        let block = device().unwrap().allocate(of.bytes() + 512).unwrap();
        Tensor {
            block: Arc::new(block),
            offset: 256,
            dtype: of.dtype,
            layout: Layout::dense(of.shape),
            check: None,
        }
    }

    /// A view of the same memory.
    pub(crate) fn view(&self, layout: Layout) -> Tensor {
        Tensor { block: self.block.clone(), layout, check: None, ..*self }
    }

    pub(crate) fn permute(&self, perm: &[usize]) -> Tensor {
        let dims: Vec<usize> = perm.iter().map(|&a| self.layout.shape()[a]).collect();
        self.view(self.layout.permute(perm, shape(&dims)))
    }

    pub(crate) fn slice(&self, starts: &[usize], steps: &[isize], sizes: &[usize]) -> Tensor {
        self.view(self.layout.slice(starts, steps, shape(sizes)))
    }

    pub(crate) fn expand(&self, dims: &[usize]) -> Tensor {
        self.view(self.layout.expand(shape(dims)))
    }

    fn region(&self) -> Region<'_> {
        Region { block: &self.block, offset: self.offset, bytes: self.block.bytes() - self.offset }
    }

    fn arg(&self) -> Arg<'_> {
        Arg { region: self.region(), dtype: self.dtype, layout: &self.layout }
    }

    /// The elements in row-major order, whatever the layout.
    pub(crate) fn read<T: Element>(&self) -> Vec<T> {
        assert_eq!(T::DTYPE, self.dtype);
        let mut bytes = vec![0; self.block.bytes() - self.offset];
        device().unwrap().download(self.region(), &mut bytes).unwrap();
        self.layout.offsets().map(|at| T::from_bytes(&bytes[at * self.dtype.size()..])).collect()
    }
}

/// Runs an op. Inputs whose layout the kernel does not take are made dense first, as the runtime does.
pub(crate) fn run(op: impl Into<Op>, inputs: &[&Tensor]) -> Tensor {
    try_run(op, inputs).unwrap()
}

/// Runs an op with one output, or gives its error.
pub(crate) fn try_run(op: impl Into<Op>, inputs: &[&Tensor]) -> Result<Tensor, Error> {
    Ok(try_run_all(op, inputs)?.remove(0))
}

/// Runs an op with several outputs.
pub(crate) fn run_all(op: impl Into<Op>, inputs: &[&Tensor]) -> Vec<Tensor> {
    try_run_all(op, inputs).unwrap()
}

fn try_run_all(op: impl Into<Op>, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    let (op, device) = (op.into(), device().unwrap());
    let types: Vec<TensorType> = inputs.iter().map(|t| TensorType::new(t.dtype, *t.layout.shape())).collect();
    let types_out = op.infer(&types)?;
    let kernel =
        device.kernel(&op, &types, &types_out).unwrap_or_else(|lack| panic!("{}: {lack:?}", op.name()));
    let dense: Vec<Option<Tensor>> = inputs
        .iter()
        .enumerate()
        .map(|(i, t)| {
            let accepted = device.accepts(kernel, &op, i, &t.layout);
            (!accepted).then(|| run(situ_ir::ops::Dense, &[t]))
        })
        .collect();
    let mut outputs: Vec<Tensor> = types_out.iter().map(|t| Tensor::empty(*t)).collect();
    let workspace = match device.workspace(kernel, &op, &types, &types_out) {
        0 => None,
        bytes => Some((device.allocate(bytes).unwrap(), bytes)),
    };
    let args: Vec<Arg<'_>> = inputs.iter().zip(&dense).map(|(t, d)| d.as_ref().unwrap_or(t).arg()).collect();
    let check = device.launch(&Call {
        kernel,
        op: &op,
        inputs: &args,
        outputs: &outputs.iter().map(Tensor::arg).collect::<Vec<_>>(),
        workspace: workspace.as_ref().map(|(block, bytes)| Region { block, offset: 0, bytes: *bytes }),
        caller: None,
        timing: None,
    })?;
    outputs[0].check = check;
    Ok(outputs)
}

/// The same numbers every time, spread around 0.
pub(crate) fn numbers(count: usize, salt: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|i| {
            let mixed = (i ^ salt.wrapping_mul(0x9e37_79b9)).wrapping_mul(2_654_435_761) >> 8;
            mixed as f32 / (1 << 22) as f32 - 2.0
        })
        .collect()
}

/// Fails where the two differ by more than `relative` of the larger plus `absolute`; NaN equals NaN.
#[track_caller]
pub(crate) fn assert_close(got: &[f32], want: &[f64], relative: f64, absolute: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let got = f64::from(got);
        let same = got == want || (got.is_nan() && want.is_nan());
        let error = (got - want).abs();
        assert!(
            same || error <= relative * got.abs().max(want.abs()) + absolute,
            "element {i}: got {got:e}, want {want:e}, error {error:e}"
        );
    }
}
