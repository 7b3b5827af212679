//! The device seam: what a logical GPU says of itself, and of calls that cannot be.

use crate::adapters::find_adapters;
use crate::device::PhysicalGpu;
use situ_core::{Axes, Budget, DType, DeviceId, DeviceKind, Error, Layout, Scalar, Shape, TensorType};
use situ_device::{Arg, Call, Device, Lack, Open, Physical, Region};
use situ_ir::Op;
use situ_ir::ops::fused::{Fused, Program, Register, Step};
use situ_ir::ops::{Binary, BinaryKind, Cast, Concat, Dense, Fill, Reduce, ReduceKind};
use std::sync::Arc;

fn physical() -> Option<PhysicalGpu> {
    let adapter = find_adapters().into_iter().next();
    if adapter.is_none() {
        println!("skipped: no GPU adapter");
    }
    adapter.map(PhysicalGpu::new)
}

fn open(gpu: &PhysicalGpu, index: u16, limit: Option<usize>) -> Result<Arc<dyn Device>, Error> {
    gpu.open(&Open { id: DeviceId::gpu(index), cores: None, threads: None, budget: Budget::new(limit) })
}

/// Fills the region with a value.
fn fill(device: &dyn Device, region: Region<'_>, value: f32) -> Result<(), Error> {
    let shape = Shape::new(&[16]).unwrap();
    let op = Op::from(Fill { shape, value: Scalar::F32(value) });
    let kernel = device.kernel(&op, &[], &[TensorType::new(DType::F32, shape)]).unwrap();
    let layout = Layout::dense(shape);
    let outputs = [Arg { region, dtype: DType::F32, layout: &layout }];
    device
        .launch(&Call {
            kernel,
            op: &op,
            inputs: &[],
            outputs: &outputs,
            workspace: None,
            caller: None,
            timing: None,
        })
        .map(|check| assert!(check.is_none()))
}

#[test]
fn a_gpu_describes_itself_and_has_kernels_for_its_dtypes_alone() {
    let Some(gpu) = physical() else { return };
    let description = gpu.description();
    assert_eq!(description.kind, DeviceKind::Gpu);
    let all_but_f64: Vec<DType> = DType::ALL.into_iter().filter(|d| *d != DType::F64).collect();
    assert_eq!(description.dtypes, all_but_f64);
    assert!(!description.hardware.is_empty() && description.driver.is_some());
    let device = open(&gpu, 0, None).unwrap();
    let shape = Shape::SCALAR;
    let op = Op::from(Fill { shape, value: Scalar::F64(1.0) });
    assert_eq!(device.kernel(&op, &[], &[TensorType::new(DType::F64, shape)]), Err(Lack::Kernel));
    assert_eq!(device.backlog(), 0.0);
    assert_eq!(device.lost(), None);
}

#[test]
fn a_limit_too_small_for_the_queue_itself_is_an_error_that_says_so() {
    let Some(gpu) = physical() else { return };
    let text = open(&gpu, 3, Some(4096)).unwrap_err().to_string();
    assert!(text.contains("GPU:3") && text.contains("raise the limit"), "{text}");
}

#[test]
fn a_block_of_another_gpu_is_refused_and_neither_is_harmed() {
    let Some(gpu) = physical() else { return };
    let (one, two) = (open(&gpu, 0, None).unwrap(), open(&gpu, 1, None).unwrap());
    let (mine, other) = (one.allocate(256).unwrap(), two.allocate(256).unwrap());
    let region = |block| Region { block, offset: 0, bytes: 64 };
    fill(&*one, region(&mine), 1.0).unwrap();
    assert!(matches!(fill(&*one, region(&other), 2.0), Err(Error::Kernel { op: "fill", .. })));
    assert!(one.upload(region(&other), &[0; 4]).is_err());
    assert!(one.download(region(&other), &mut [0; 4]).is_err());
    fill(&*two, region(&other), 3.0).unwrap();
    for (device, block, want) in [(&one, &mine, 1.0f32), (&two, &other, 3.0)] {
        let mut bytes = [0; 4];
        device.download(region(block), &mut bytes).unwrap();
        assert_eq!(f32::from_ne_bytes(bytes), want);
    }
}

#[test]
fn staging_is_claimed_on_the_budget_and_trimmed() {
    let Some(gpu) = physical() else { return };
    let budget = Budget::new(Some(64 << 20));
    let device =
        gpu.open(&Open { id: DeviceId::gpu(0), cores: None, threads: None, budget: budget.clone() }).unwrap();
    let block = device.allocate(4 << 20).unwrap();
    let idle = device.staging();
    assert_eq!(budget.taken(), idle);
    device.upload(Region { block: &block, offset: 0, bytes: 4 << 20 }, &vec![1; 4 << 20]).unwrap();
    device.sync().unwrap();
    assert!(device.staging() > idle);
    assert_eq!(budget.taken(), device.staging());
    device.trim();
    assert_eq!(device.staging(), idle);
}

#[test]
fn an_adapter_without_64_bit_arithmetic_moves_and_converts_such_integers_and_does_no_more() {
    let Some(mut adapter) = find_adapters().into_iter().next() else { return };
    let has = |device: &dyn Device, op: Op, inputs: &[DType]| {
        let types: Vec<TensorType> =
            inputs.iter().map(|d| TensorType::new(*d, Shape::new(&[6]).unwrap())).collect();
        let outputs = op.infer(&types).unwrap();
        device.kernel(&op, &types, &outputs).map(|_| ())
    };
    adapter.features.remove(wgpu::Features::SHADER_INT64);
    let gpu = PhysicalGpu::new(adapter);
    assert!(!gpu.description().features.contains(&"64-bit integers".to_string()));
    let device = open(&gpu, 0, None).unwrap();
    for dtype in [DType::I64, DType::U64] {
        let add = Op::from(Binary { kind: BinaryKind::Add });
        assert_eq!(has(&*device, add.clone(), &[dtype; 2]), Err(Lack::Kernel));
        let sum = Reduce { kind: ReduceKind::Sum, axes: Axes::one(0), keep_dims: false };
        assert_eq!(has(&*device, sum.into(), &[dtype]), Err(Lack::Kernel));
        let steps = vec![Step::Binary(Binary { kind: BinaryKind::Add }, Register(0), Register(0))];
        let program = Program::new(vec![dtype], steps, vec![Register(1)]).unwrap();
        assert_eq!(has(&*device, Fused { program: program.into() }.into(), &[dtype]), Err(Lack::Kernel));
        assert_eq!(has(&*device, Dense.into(), &[dtype]), Ok(()));
        assert_eq!(has(&*device, Concat { axis: 0 }.into(), &[dtype; 2]), Ok(()));
        for other in [DType::F16, DType::F32, DType::I8, DType::U64, DType::Bool] {
            assert_eq!(has(&*device, Cast { to: other }.into(), &[dtype]), Ok(()));
            assert_eq!(has(&*device, Cast { to: dtype }.into(), &[other]), Ok(()));
        }
        // What it has is compiled without the arithmetic, too.
        let value = Scalar::of_whole(dtype, -3);
        let shape = Shape::new(&[16]).unwrap();
        let op = Op::from(Fill { shape, value });
        let kernel = device.kernel(&op, &[], &[TensorType::new(dtype, shape)]).unwrap();
        let block = device.allocate(256).unwrap();
        let region = Region { block: &block, offset: 0, bytes: 128 };
        let layout = Layout::dense(shape);
        let outputs = [Arg { region, dtype, layout: &layout }];
        let call = Call {
            kernel,
            op: &op,
            inputs: &[],
            outputs: &outputs,
            workspace: None,
            caller: None,
            timing: None,
        };
        device.launch(&call).unwrap();
        let mut bytes = [0; 128];
        device.download(region, &mut bytes).unwrap();
        assert!(bytes.chunks(8).all(|c| c == value.bits().to_ne_bytes()), "{bytes:?}");
    }
}
