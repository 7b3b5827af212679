//! The device seam: what a logical GPU says of itself, and of calls that cannot be.

use crate::adapters::find_adapters;
use crate::device::PhysicalGpu;
use situ_core::{Budget, DType, DeviceId, DeviceKind, Error, Layout, Scalar, Shape, TensorType};
use situ_device::{Arg, Call, Device, Lack, Open, Physical, Region};
use situ_ir::Op;
use situ_ir::ops::Fill;
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
    assert_eq!(description.dtypes, [DType::F32, DType::I32, DType::I64, DType::Bool]);
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
