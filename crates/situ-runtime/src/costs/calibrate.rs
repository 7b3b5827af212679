//! Calibration: micro-benchmarks of a device and of its link to the host.
//!
//! A launch is timed as one of many in a row with one wait at their end, because that is how functions run;
//! what the wait takes by itself belongs to reading back. The least of several rounds counts: whatever else
//! the machine does only adds.

use super::fit::{self, Sample};
use super::{CostModel, LinkCost};
use crate::logical::LogicalDevice;
use crate::runtime::Runtime;
use crate::storage::DeviceTensor;
use situ_core::{Axes, Caller, DType, Error, Policy, Request, Result, Scalar, Shape, TensorType};
use situ_ir::ops::{
    Binary, BinaryKind, Concat, Dense, Fill, Gather, LayerNorm, Matmul, Permute, Range, Reduce, ReduceKind,
    Softmax, Unary, UnaryKind,
};
use situ_ir::{Op, WorkClass};
use std::time::{Duration, Instant};

/// Rounds of which the quickest counts.
const ROUNDS: usize = 5;
/// How long a round takes at least, unless one launch takes longer.
const ROUND: Duration = Duration::from_millis(4);

/// One op to measure.
struct Probe {
    what: String,
    op: Op,
    inputs: Vec<DeviceTensor>,
}

/// What a calibration is doing, for a person who waits: how many of how many measurements are done, and which
/// is next.
pub type Progress<'a> = dyn FnMut(usize, usize, &str) + 'a;

/// Predicted and measured, of an op that the model was not fitted to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// The op and its sizes.
    pub what: String,
    /// What the model says, in seconds.
    pub predicted: f64,
    /// What it takes.
    pub measured: f64,
}

/// Measures a device and fits its model; gives the measurements too.
pub fn calibrate(
    runtime: &Runtime,
    device: &LogicalDevice,
    progress: &mut Progress<'_>,
) -> Result<(CostModel, Vec<Sample>)> {
    let bench = Bench { runtime, device };
    let probes = bench.probes()?;
    let dtypes: Vec<DType> = DType::ALL.into_iter().filter(|d| d.is_numeric() && *d != DType::F32).collect();
    let total = probes.len() + dtypes.len() + 1;
    let mut samples = Vec::with_capacity(probes.len());
    for (n, probe) in probes.iter().enumerate() {
        progress(n, total, &probe.what);
        samples.extend(bench.sample(probe)?);
    }
    let mut model = CostModel { calibrated: true, ..CostModel::built_in(device.description()) };
    for class in WorkClass::ALL {
        let own: Vec<Sample> = samples.iter().filter(|s| s.class() == class).cloned().collect();
        if let Some(line) = fit::line(&own) {
            model.lines[class as usize] = line;
        }
    }
    let in_f32 = bench.factor_samples(DType::F32)?;
    for (n, dtype) in dtypes.into_iter().enumerate() {
        progress(probes.len() + n, total, dtype.name());
        for sample in bench.factor_samples(dtype)? {
            let same = in_f32.iter().find(|other| other.class == sample.class);
            if let Some(factor) = same.and_then(|same| fit::factor(model.line(sample.class()), &sample, same))
            {
                model.factors.set(sample.class(), dtype, factor);
            }
        }
    }
    progress(total - 1, total, "copies");
    (model.upload, model.download) = bench.links()?;
    progress(total, total, "done");
    Ok((model, samples))
}

/// Compares a model with ops that it was not fitted to.
pub fn check(runtime: &Runtime, device: &LogicalDevice, progress: &mut Progress<'_>) -> Result<Vec<Checked>> {
    let bench = Bench { runtime, device };
    let probes = bench.others()?;
    let mut list = Vec::with_capacity(probes.len());
    for (n, probe) in probes.iter().enumerate() {
        progress(n, probes.len(), &probe.what);
        let Some(Sample { what, flops, bytes, seconds, class }) = bench.sample(probe)? else { continue };
        let predicted = device.costs().line(WorkClass::ALL[class]).seconds(flops, bytes);
        list.push(Checked { what, predicted, measured: seconds });
    }
    progress(probes.len(), probes.len(), "done");
    Ok(list)
}

struct Bench<'a> {
    runtime: &'a Runtime,
    device: &'a LogicalDevice,
}

impl Bench<'_> {
    fn request(&self) -> Request {
        Request {
            spec: self.device.id().spec(),
            fallback: Some(Policy::Forbid),
            copies: Some(Policy::Allow),
            ..Request::default()
        }
    }

    fn run(&self, op: &Op, inputs: &[&DeviceTensor]) -> Result<DeviceTensor> {
        self.runtime.eager(op, inputs, &self.request(), Caller::here())
    }

    /// A tensor of one value that makes no denormals and no infinities in any probe.
    fn tensor(&self, dims: &[usize]) -> Result<DeviceTensor> {
        let fill = Fill { shape: Shape::new(dims)?, value: Scalar::F32(0.25) };
        let filled = self.run(&fill.into(), &[])?;
        // An op of its own, so that no device gives the same page again and again for a fill.
        self.run(&Unary::new(UnaryKind::Abs).into(), &[&filled])
    }

    fn probe(&self, op: impl Into<Op>, shapes: &[&[usize]]) -> Result<Probe> {
        let op = op.into();
        let inputs = shapes.iter().map(|dims| self.tensor(dims)).collect::<Result<Vec<_>>>()?;
        let sizes: Vec<String> = inputs.iter().map(|t| t.shape().to_string()).collect();
        Ok(Probe { what: format!("{} {}", op.name(), sizes.join(" ")), op, inputs })
    }

    /// One measurement in a dtype for each class that computes. A class that the device has no kernel for, or
    /// that the dtype has no op of, has none.
    fn factor_samples(&self, dtype: DType) -> Result<Vec<Sample>> {
        let sum = Reduce { kind: ReduceKind::Sum, axes: Axes::one(1), keep_dims: false };
        let mut probes = vec![
            (Op::from(Binary { kind: BinaryKind::Add }), &[64 << 10][..], 2),
            (Op::from(Matmul::default()), &[128, 128][..], 2),
            (Op::from(sum), &[256, 256][..], 1),
        ];
        if dtype.is_float() {
            probes.push((Op::from(Unary::new(UnaryKind::Exp)), &[64 << 10][..], 1));
        }
        let mut samples = Vec::new();
        for (op, dims, inputs) in probes {
            let fill = Fill { shape: Shape::new(dims)?, value: Scalar::of(dtype, 1.0) };
            let input = match self.run(&fill.into(), &[]) {
                Err(Error::NoKernel(_) | Error::TooLarge(_)) => return Ok(samples),
                made => made?,
            };
            let what = format!("{} {dtype}", op.name());
            samples.extend(self.sample(&Probe { what, op, inputs: vec![input; inputs] })?);
        }
        Ok(samples)
    }

    /// What the model is fitted to.
    fn probes(&self) -> Result<Vec<Probe>> {
        let mut list = Vec::new();
        let add = Binary { kind: BinaryKind::Add };
        for n in [256, 4 << 10, 64 << 10, 512 << 10, 2 << 20] {
            list.push(self.probe(add, &[&[n], &[n]])?);
            list.push(self.probe(Unary::new(UnaryKind::Relu), &[&[n]])?);
            list.push(self.probe(Unary::new(UnaryKind::Exp), &[&[n]])?);
            list.push(self.probe(Unary::new(UnaryKind::Tanh), &[&[n]])?);
        }
        let products = [
            [8, 8, 8],
            [32, 32, 32],
            [64, 64, 64],
            [32, 784, 128],
            [128, 128, 128],
            [256, 256, 256],
            [64, 1024, 256],
            [512, 512, 512],
        ];
        for [m, k, n] in products {
            list.push(self.probe(Matmul::default(), &[&[m, k], &[k, n]])?);
        }
        for dims in [[16, 64], [128, 128], [512, 365], [1024, 1024]] {
            let kind = ReduceKind::Sum;
            let sum = Reduce { kind, axes: Axes::one(1), keep_dims: false };
            list.push(self.probe(sum, &[&dims])?);
            list.push(self.probe(Softmax { axis: 1, log: false }, &[&dims])?);
        }
        for dims in [[16, 64], [256, 256], [1024, 512]] {
            list.push(self.transposed(&dims)?);
            list.push(self.probe(Concat { axis: 0 }, &[&dims, &dims])?);
        }
        for (rows, columns, picked) in [(64, 16, 32), (1000, 64, 512), (4000, 128, 4000)] {
            list.push(self.gathered(rows, columns, picked)?);
        }
        Ok(list)
    }

    /// What it is checked with.
    fn others(&self) -> Result<Vec<Probe>> {
        let mul = Binary { kind: BinaryKind::Mul };
        Ok(vec![
            self.probe(mul, &[&[20_000], &[20_000]])?,
            self.probe(mul, &[&[1_000_000], &[1_000_000]])?,
            self.probe(Unary::new(UnaryKind::Sigmoid), &[&[300_000]])?,
            self.probe(Unary::new(UnaryKind::Gelu), &[&[100_000]])?,
            self.probe(Matmul::default(), &[&[100, 300], &[300, 200]])?,
            self.probe(Matmul::default(), &[&[384, 384], &[384, 384]])?,
            self.probe(Matmul { transpose_a: false, transpose_b: true }, &[&[200, 500], &[300, 500]])?,
            self.probe(Softmax { axis: 1, log: false }, &[&[256, 1000]])?,
            self.probe(LayerNorm { epsilon: situ_core::Real(1e-5) }, &[&[512, 768], &[768], &[768]])?,
            self.transposed(&[700, 300])?,
            self.gathered(2000, 100, 1000)?,
        ])
    }

    fn transposed(&self, dims: &[usize]) -> Result<Probe> {
        let turned = self.run(&Permute::new(&[1, 0])?.into(), &[&self.tensor(dims)?])?;
        Ok(Probe { what: format!("transpose {}", turned.shape()), op: Dense.into(), inputs: vec![turned] })
    }

    fn gathered(&self, rows: usize, columns: usize, picked: usize) -> Result<Probe> {
        let range = Range { start: Scalar::I32(0), step: Scalar::I32(1), count: picked.min(rows) };
        let indices = self.run(&range.into(), &[])?;
        let table = self.tensor(&[rows, columns])?;
        let what = format!("gather {picked} of {}", table.shape());
        Ok(Probe { what, op: Gather { axis: 0 }.into(), inputs: vec![table, indices] })
    }

    /// What a probe takes; `None` where the device has no kernel for it, which is normal.
    fn sample(&self, probe: &Probe) -> Result<Option<Sample>> {
        let inputs: Vec<&DeviceTensor> = probe.inputs.iter().collect();
        let types: Vec<TensorType> = inputs.iter().map(|t| t.tensor_type()).collect();
        let outputs = probe.op.infer(&types)?;
        let work = probe.op.work(&types, &outputs);
        let once = || self.run(&probe.op, &inputs).map(drop);
        match once() {
            Err(Error::NoKernel(_) | Error::TooLarge(_)) => return Ok(None),
            done => done?,
        }
        self.device.sync()?;
        let mut count = 1;
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..count {
                once()?;
            }
            self.device.sync()?;
            let taken = start.elapsed();
            least = least.min(taken.as_secs_f64() / count as f64);
            let more = ROUND.as_secs_f64() / (taken.as_secs_f64() / count as f64);
            count = (more.ceil() as usize).clamp(1, 512);
        }
        // The wait at the end of a round is shared by its launches; what is left of it is the reader's.
        Ok(Some(Sample {
            what: probe.what.clone(),
            class: work.class as usize,
            flops: work.flops,
            bytes: work.bytes,
            seconds: least,
        }))
    }

    /// Copies from and to the host, as lines through a small and a large one.
    fn links(&self) -> Result<(LinkCost, LinkCost)> {
        let sizes = [1usize << 10, 4 << 20];
        let mut up = [0.0; 2];
        let mut down = [0.0; 2];
        for (n, &bytes) in sizes.iter().enumerate() {
            let data = vec![0x3e; bytes];
            let ty = TensorType::new(DType::F32, Shape::new(&[bytes / 4])?);
            let mut into = vec![0; bytes];
            let (mut least_up, mut least_down) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..ROUNDS * 4 {
                let start = Instant::now();
                let there = self.runtime.constant(&data, ty, &self.request(), Caller::here())?;
                self.device.sync()?;
                least_up = least_up.min(start.elapsed().as_secs_f64());
                let fresh = self.run(&Unary::new(UnaryKind::Neg).into(), &[&there])?;
                self.device.sync()?;
                let start = Instant::now();
                self.runtime.read(&fresh, &mut into, Caller::here())?;
                least_down = least_down.min(start.elapsed().as_secs_f64());
            }
            (up[n], down[n]) = (least_up, least_down);
        }
        let line = |times: [f64; 2]| {
            let per_byte = ((times[1] - times[0]) / (sizes[1] - sizes[0]) as f64).max(1e-13);
            LinkCost { latency: (times[0] - per_byte * sizes[0] as f64).max(0.0), per_byte }
        };
        let (up, down) = (line(up), line(down));
        // Between CPU devices a copy is one memcpy: reading is nearly free there, and says nothing of it.
        Ok(if self.device.is_host() { (up, up) } else { (up, down) })
    }
}
