//! Kernels through the seam, as the runtime calls them: found, given workspace and layouts they accept,
//! launched.

use crate::level::Level;
use situ_core::{Axes, Budget, DType, DeviceId, Layout, Real, Result, Shape, TensorType};
use situ_device::{Arg, Block, Call, Device, Open, Region};
use situ_ir::Op;
use situ_ir::ops::{
    Binary, BinaryKind, CrossEntropy, Fused, LayerNorm, Matmul, Program, Reduce, ReduceKind, Register,
    Softmax, SparseCrossEntropy, Step, Unary, UnaryKind,
};
use std::sync::Arc;

mod conv2d;
mod movement;

fn device(level: Level, threads: usize) -> Arc<dyn Device> {
    let how = Open { id: DeviceId::cpu(0), cores: None, threads: Some(threads), budget: Budget::new(None) };
    crate::physical_at(level).open(&how).unwrap()
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap()
}

/// A tensor: its memory, dtype and layout.
struct Held {
    block: Block,
    dtype: DType,
    layout: Layout,
}

impl Held {
    fn new<T: Copy>(device: &dyn Device, dtype: DType, layout: Layout, data: &[T]) -> Held {
        let bytes = std::mem::size_of_val(data);
        let block = device.allocate(bytes.max(1)).unwrap();
        // SAFETY: the elements are plain numbers, read as bytes.
        let raw = unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), bytes) };
        device.upload(Region { block: &block, offset: 0, bytes }, raw).unwrap();
        Held { block, dtype, layout }
    }

    fn region(&self) -> Region<'_> {
        Region { block: &self.block, offset: 0, bytes: self.block.bytes() }
    }
}

/// Launches an op on tensors in layouts its kernel accepts; `None` where it has no kernel or refuses a
/// layout.
fn launch<T: Copy + Default>(device: &dyn Device, op: &Op, inputs: &[&Held]) -> Option<Result<Vec<T>>> {
    let types: Vec<TensorType> = inputs.iter().map(|i| TensorType::new(i.dtype, *i.layout.shape())).collect();
    let outputs = op.infer(&types).unwrap();
    let kernel = device.kernel(op, &types, &outputs).ok()?;
    if !inputs.iter().enumerate().all(|(i, input)| device.accepts(kernel, op, i, &input.layout)) {
        return None;
    }
    let count = outputs[0].shape.elements();
    let out_layout = Layout::dense(outputs[0].shape);
    let out = Held::new(device, outputs[0].dtype, out_layout, &vec![T::default(); count]);
    let workspace = device.workspace(kernel, op, &types, &outputs);
    let scratch = (workspace > 0).then(|| device.allocate(workspace).unwrap());
    let args: Vec<Arg<'_>> =
        inputs.iter().map(|i| Arg { region: i.region(), dtype: i.dtype, layout: &i.layout }).collect();
    let call = Call {
        kernel,
        op,
        inputs: &args,
        outputs: &[Arg { region: out.region(), dtype: out.dtype, layout: &out.layout }],
        workspace: scratch.as_ref().map(|block| Region { block, offset: 0, bytes: workspace }),
        caller: None,
        timing: None,
    };
    if let Err(error) = device.launch(&call) {
        return Some(Err(error));
    }
    let mut result = vec![T::default(); count];
    // SAFETY: plain numbers, written as bytes.
    let raw =
        unsafe { std::slice::from_raw_parts_mut(result.as_mut_ptr().cast::<u8>(), count * size_of::<T>()) };
    device.download(out.region(), raw).unwrap();
    Some(Ok(result))
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 1009) as f32 / 100.0 - 5.0).collect()
}

fn axes_of(mask: usize, rank: usize) -> Axes {
    let list: Vec<isize> = (0..rank).filter(|a| mask >> a & 1 == 1).map(|a| a as isize).collect();
    Axes::of("test", &shape(&vec![1; rank]), &list).unwrap()
}

/// The elements that go to each result, in row-major order of the reduced axes.
fn buckets(layout: &Layout, axes: Axes) -> Vec<Vec<usize>> {
    let dims = layout.shape();
    let kept: usize = (0..dims.rank()).filter(|a| !axes.contains(*a)).map(|a| dims[a]).product();
    let mut buckets = vec![vec![]; kept];
    for (number, offset) in layout.offsets().enumerate() {
        let (mut rest, mut bucket, mut step) = (number, 0, 1);
        for axis in (0..dims.rank()).rev() {
            let index = rest % dims[axis];
            rest /= dims[axis];
            if !axes.contains(axis) {
                bucket += index * step;
                step *= dims[axis];
            }
        }
        buckets[bucket].push(offset);
    }
    buckets
}

#[test]
fn every_set_of_axes_reduces_right_in_every_layout_that_is_accepted() {
    let mut permuted_accepted = 0;
    for dims in [&[2, 3, 4, 5][..], &[3, 1, 7], &[6], &[2, 40, 3], &[1], &[], &[70, 2, 2, 3, 2]] {
        let rank = dims.len();
        let data = values(dims.iter().product());
        let mut layouts = vec![Layout::dense(shape(dims))];
        // The same elements with the first two axes, and with the first and last, swapped in memory.
        for swap in [1, rank.saturating_sub(1)].into_iter().filter(|s| *s > 0 && rank > 1) {
            let mut turned = dims.to_vec();
            turned.swap(0, swap);
            let mut perm: Vec<usize> = (0..rank).collect();
            perm.swap(0, swap);
            layouts.push(Layout::dense(shape(&turned)).permute(&perm, shape(dims)));
        }
        for (level, threads) in [(Level::Portable, 1), (Level::detect(), 3)] {
            let device = device(level, threads);
            for layout in &layouts {
                let input = Held::new(&*device, DType::F32, *layout, &data);
                for mask in 0..1usize << rank {
                    let axes = axes_of(mask, rank);
                    for kind in [ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Prod] {
                        let op = Op::from(Reduce { kind, axes, keep_dims: mask % 2 == 0 });
                        let Some(got) = launch::<f32>(&*device, &op, &[&input]) else {
                            assert!(!layout.is_dense());
                            continue;
                        };
                        for (got, bucket) in got.unwrap().iter().zip(buckets(layout, axes)) {
                            let x = bucket.iter().map(|i| f64::from(data[*i]));
                            let want = match kind {
                                ReduceKind::Sum => x.sum(),
                                ReduceKind::Mean => x.sum::<f64>() / bucket.len() as f64,
                                ReduceKind::Max => x.fold(f64::NEG_INFINITY, f64::max),
                                _ => x.product(),
                            };
                            // A long product overflows on the way in f32, whatever it comes to.
                            if kind == ReduceKind::Prod && bucket.len() > 48 {
                                continue;
                            }
                            let slack = 1e-5 * want.abs() + if kind == ReduceKind::Prod { 0.0 } else { 1e-4 };
                            assert!(
                                (f64::from(*got) - want).abs() <= slack,
                                "{kind:?} {layout:?} {axes}: {got} {want}"
                            );
                        }
                    }
                    let op = Op::from(Reduce { kind: ReduceKind::ArgMax, axes, keep_dims: false });
                    if let Some(got) = launch::<i32>(&*device, &op, &[&input]) {
                        permuted_accepted += usize::from(!layout.is_dense());
                        for (got, bucket) in got.unwrap().iter().zip(buckets(layout, axes)) {
                            let best = bucket.iter().map(|i| data[*i]).fold(f32::NEG_INFINITY, f32::max);
                            let want = bucket.iter().position(|i| data[*i] == best).unwrap();
                            assert_eq!(*got as usize, want, "{layout:?} {axes}");
                        }
                    } else {
                        assert!(!layout.is_dense());
                    }
                }
            }
        }
    }
    assert!(permuted_accepted > 0);
}

#[test]
fn reductions_of_nothing_have_their_neutral_values() {
    let device = device(Level::detect(), 2);
    let input = Held::new::<f32>(&*device, DType::F32, Layout::dense(shape(&[3, 0])), &[]);
    let reduce = |kind| Op::from(Reduce { kind, axes: Axes::one(1), keep_dims: false });
    let run = |kind| launch::<f32>(&*device, &reduce(kind), &[&input]).unwrap().unwrap();
    assert_eq!(run(ReduceKind::Sum), [0.0; 3]);
    assert_eq!(run(ReduceKind::Prod), [1.0; 3]);
    assert!(run(ReduceKind::Mean).iter().all(|x| x.is_nan()));
    let truths = Held::new::<u8>(&*device, DType::Bool, Layout::dense(shape(&[3, 0])), &[]);
    assert_eq!(launch::<u8>(&*device, &reduce(ReduceKind::All), &[&truths]).unwrap().unwrap(), [1; 3]);
    assert_eq!(launch::<u8>(&*device, &reduce(ReduceKind::Any), &[&truths]).unwrap().unwrap(), [0; 3]);
}

#[test]
fn integers_reduce_in_their_own_dtype_and_wrap() {
    let device = device(Level::detect(), 1);
    let bytes = Held::new(&*device, DType::U8, Layout::dense(shape(&[4])), &[200u8, 100, 3, 5]);
    let op = |kind| Op::from(Reduce { kind, axes: Axes::one(0), keep_dims: true });
    assert_eq!(launch::<u8>(&*device, &op(ReduceKind::Sum), &[&bytes]).unwrap().unwrap(), [52]);
    assert_eq!(launch::<i32>(&*device, &op(ReduceKind::ArgMin), &[&bytes]).unwrap().unwrap(), [2]);
    let wide = Held::new(&*device, DType::I64, Layout::dense(shape(&[2])), &[i64::MAX, 1]);
    assert_eq!(launch::<i64>(&*device, &op(ReduceKind::Sum), &[&wide]).unwrap().unwrap(), [i64::MIN]);
}

#[test]
fn softmax_sums_to_one_over_each_axis() {
    let device = device(Level::detect(), 2);
    let data = values(3 * 4 * 5);
    let input = Held::new(&*device, DType::F32, Layout::dense(shape(&[3, 4, 5])), &data);
    for axis in 0..3u8 {
        let op = Op::from(Softmax { axis, log: false });
        let got = launch::<f32>(&*device, &op, &[&input]).unwrap().unwrap();
        for bucket in buckets(&input.layout, Axes::one(usize::from(axis))) {
            let total: f32 = bucket.iter().map(|i| got[*i]).sum();
            assert!((total - 1.0).abs() < 1e-6);
        }
        let log =
            launch::<f32>(&*device, &Op::from(Softmax { axis, log: true }), &[&input]).unwrap().unwrap();
        assert!(log.iter().zip(&got).all(|(l, p)| (l.exp() - p).abs() < 1e-6));
    }
}

#[test]
fn a_label_out_of_range_is_an_error_that_names_label_and_row() {
    let device = device(Level::detect(), 2);
    let logits = Held::new(&*device, DType::F32, Layout::dense(shape(&[3, 4])), &values(12));
    let labels = Held::new(&*device, DType::I64, Layout::dense(shape(&[3])), &[0i64, 4, -7]);
    let op = Op::from(SparseCrossEntropy);
    let error = launch::<f32>(&*device, &op, &[&logits, &labels]).unwrap().unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("sparse_softmax_cross_entropy") && text.contains("label 4") && text.contains("row 1"),
        "{text}"
    );
    let good = Held::new(&*device, DType::I32, Layout::dense(shape(&[3])), &[0i32, 3, 1]);
    let sparse = launch::<f32>(&*device, &op, &[&logits, &good]).unwrap().unwrap();
    let one_hot: Vec<f32> =
        [0, 3, 1].iter().flat_map(|l| (0..4).map(move |i| f32::from(u8::from(i == *l)))).collect();
    let weights = Held::new(&*device, DType::F32, Layout::dense(shape(&[3, 4])), &one_hot);
    let dense = launch::<f32>(&*device, &Op::from(CrossEntropy), &[&logits, &weights]).unwrap().unwrap();
    assert!(sparse.iter().zip(&dense).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn layer_norm_runs_in_both_float_types() {
    let device = device(Level::detect(), 2);
    let x: Vec<f64> = values(2 * 3 * 8).iter().map(|x| f64::from(*x)).collect();
    let ones = vec![1.0f64; 8];
    let zeros = vec![0.0f64; 8];
    let held =
        |dims: &[usize], data: &[f64]| Held::new(&*device, DType::F64, Layout::dense(shape(dims)), data);
    let op = Op::from(LayerNorm { epsilon: Real(0.0) });
    let got = launch::<f64>(&*device, &op, &[&held(&[2, 3, 8], &x), &held(&[8], &ones), &held(&[8], &zeros)]);
    for row in got.unwrap().unwrap().chunks(8) {
        assert!(row.iter().sum::<f64>().abs() < 1e-9);
        assert!((row.iter().map(|x| x * x).sum::<f64>() - 8.0).abs() < 1e-9);
    }
}

#[test]
fn a_fused_program_runs_through_the_seam_and_names_the_step_that_failed() {
    let device = device(Level::detect(), 2);
    let step = |kind, a, b| Step::Binary(Binary { kind }, Register(a), Register(b));
    let steps = vec![step(BinaryKind::Add, 0, 1), step(BinaryKind::Div, 2, 1)];
    let program = Program::new(vec![DType::I32; 2], steps, vec![Register(3)]).unwrap();
    let op = Op::from(Fused { program: Arc::new(program) });
    let a = Held::new(&*device, DType::I32, Layout::dense(shape(&[2, 3])), &[1i32, 2, 3, 4, 5, 6]);
    let b = Held::new(&*device, DType::I32, Layout::dense(shape(&[3])), &[1i32, 2, 3]);
    assert_eq!(launch::<i32>(&*device, &op, &[&a, &b]).unwrap().unwrap(), [2, 2, 2, 5, 3, 3]);
    let zero = Held::new(&*device, DType::I32, Layout::dense(shape(&[3])), &[1i32, 0, 3]);
    let text = launch::<i32>(&*device, &op, &[&a, &zero]).unwrap().unwrap_err().to_string();
    assert!(text.contains("div") && text.contains("element 1"), "{text}");
}

/// The product by its definition, for layouts of any strides and batches that broadcast.
fn plain_product(a: (&Layout, &[f32]), b: (&Layout, &[f32]), op: &Matmul, out: &Shape) -> Vec<f64> {
    let rank = out.rank();
    let at = |(layout, data): (&Layout, &[f32]), batch: &[usize], i: usize, j: usize, transposed: bool| {
        let (i, j) = if transposed { (j, i) } else { (i, j) };
        let own = layout.shape().rank();
        let mut offset = layout.offset() as isize;
        for axis in 0..own - 2 {
            let index = batch[batch.len() + 2 - own + axis];
            offset += if layout.shape()[axis] == 1 { 0 } else { index as isize * layout.strides()[axis] };
        }
        offset += i as isize * layout.strides()[own - 2] + j as isize * layout.strides()[own - 1];
        f64::from(data[offset as usize])
    };
    let k = a.0.shape()[a.0.shape().rank() - if op.transpose_a { 2 } else { 1 }];
    let mut result = vec![];
    for number in 0..out.elements() {
        let (mut rest, mut index) = (number, vec![0; rank]);
        for axis in (0..rank).rev() {
            index[axis] = rest % out[axis];
            rest /= out[axis];
        }
        let (batch, i, j) = (&index[..rank - 2], index[rank - 2], index[rank - 1]);
        let sum = (0..k).map(|p| at(a, batch, i, p, op.transpose_a) * at(b, batch, p, j, op.transpose_b));
        result.push(sum.sum());
    }
    result
}

#[test]
fn products_of_any_batch_transpose_and_layout_are_right() {
    let device = device(Level::detect(), 2);
    let dense = |dims: &[usize]| Layout::dense(shape(dims));
    let cases = [
        (dense(&[3, 4]), dense(&[4, 5]), false, false),
        (dense(&[4, 3]), dense(&[5, 4]), true, true),
        (dense(&[2, 7, 3, 4]), dense(&[4, 5]), false, false),
        (dense(&[2, 7, 3, 4]), dense(&[1, 1, 4, 5]), false, false),
        (dense(&[3, 4]), dense(&[6, 4, 5]), false, false),
        (dense(&[2, 1, 3, 4]), dense(&[7, 4, 5]), false, false),
        (dense(&[5, 4, 3]), dense(&[5, 6, 4]), true, true),
        // Rows of a batch that do not lie evenly, a transposed view, every second column, and a batch in
        // reverse.
        (Layout::strided(shape(&[2, 3, 4]), &[20, 4, 1], 0), dense(&[4, 5]), false, false),
        (dense(&[4, 3]).permute(&[1, 0], shape(&[3, 4])), dense(&[4, 5]), false, false),
        (dense(&[3, 4]), Layout::strided(shape(&[4, 5]), &[10, 2], 1), false, false),
        (Layout::strided(shape(&[2, 3, 4]), &[-12, 4, 1], 12), dense(&[2, 4, 5]), false, false),
        (dense(&[3, 0]), dense(&[0, 5]), false, false),
        (dense(&[0, 3, 4]), dense(&[4, 5]), false, false),
        (dense(&[1, 300]), dense(&[300, 70]), false, false),
        (dense(&[9, 70, 65]), dense(&[9, 65, 33]), false, false),
    ];
    for (a, b, transpose_a, transpose_b) in cases {
        let op = Matmul { transpose_a, transpose_b };
        let reach = |l: &Layout| l.offsets().max().map_or(0, |last| last + 1);
        let (x, y) = (values(reach(&a)), values(reach(&b)));
        let (left, right) = (Held::new(&*device, DType::F32, a, &x), Held::new(&*device, DType::F32, b, &y));
        let types = [&a, &b].map(|layout| TensorType::new(DType::F32, *layout.shape()));
        let out = Op::from(op).infer(&types).unwrap()[0];
        let got = launch::<f32>(&*device, &Op::from(op), &[&left, &right]).unwrap().unwrap();
        let want = plain_product((&a, &x), (&b, &y), &op, &out.shape);
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            assert!((f64::from(*got) - want).abs() < 1e-2, "{a:?} {b:?}: {got} {want}");
        }
    }
}

#[test]
fn an_op_without_meaning_for_a_dtype_has_no_kernel() {
    let device = device(Level::detect(), 1);
    let whole = TensorType::new(DType::I32, shape(&[4]));
    let op = Op::from(Unary::new(UnaryKind::Exp));
    assert!(device.kernel(&op, &[whole], &[whole]).is_err());
}

#[test]
fn a_kernel_that_is_handed_another_op_says_so_and_writes_nothing() {
    let device = device(Level::detect(), 1);
    let ty = |n: usize| TensorType::new(DType::F32, shape(&[n]));
    let own: Vec<(Op, usize)> = vec![
        (Unary::new(UnaryKind::Exp).into(), 1),
        (Softmax { axis: 0, log: false }.into(), 1),
        (Reduce { kind: ReduceKind::Sum, axes: axes_of(1, 1), keep_dims: true }.into(), 1),
        (LayerNorm { epsilon: Real(1e-5) }.into(), 3),
    ];
    let layout = Layout::dense(shape(&[4]));
    let given = Held::new(&*device, DType::F32, layout, &values(4));
    for (op, count) in &own {
        let types = vec![ty(4); *count];
        let kernel = device.kernel(op, &types, &op.infer(&types).unwrap()).unwrap();
        // Concatenation is an op of none of them, whatever it is given.
        let wrong = Op::from(situ_ir::ops::Concat { axis: 0 });
        let out = Held::new(&*device, DType::F32, layout, &[7.0f32; 4]);
        let input = Arg { region: given.region(), dtype: DType::F32, layout: &given.layout };
        let output = Arg { region: out.region(), dtype: DType::F32, layout: &out.layout };
        let inputs = vec![input; *count];
        let outputs = [output];
        let call = Call {
            kernel,
            op: &wrong,
            inputs: &inputs,
            outputs: &outputs,
            workspace: None,
            caller: None,
            timing: None,
        };
        let error = device.launch(&call).expect_err(op.name()).to_string();
        assert!(error.contains("concat"), "{}: {error}", op.name());
        let mut bytes = [0; 16];
        device.download(out.region(), &mut bytes).unwrap();
        assert_eq!(bytes[..4], 7.0f32.to_ne_bytes(), "{} wrote", op.name());
    }
}
