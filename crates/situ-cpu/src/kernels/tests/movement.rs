//! Copies, joins, indices, constants and random tensors through the seam, in every dtype.

use super::{Held, device, launch, shape, values};
use crate::level::Level;
use situ_core::error::Fault;
use situ_core::{Caller, DType, Error, Layout, Real, Scalar, TensorType};
use situ_device::{Arg, Call, Device};
use situ_ir::Op;
use situ_ir::ops::{
    Concat, Dense, Distribution, Eye, Fill, Gather, OneHot, Pad, Random, Range, ScatterAdd, Tile,
};

/// The bytes of `count` elements, all different where the dtype has as many values; 0 and 1 for bool.
fn bytes(dtype: DType, count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| number(dtype, i as i64 % if dtype == DType::Bool { 2 } else { 250 })).collect()
}

/// The bytes of one number.
fn number(dtype: DType, value: i64) -> Vec<u8> {
    Scalar::of_whole(dtype, value.into()).bits().to_le_bytes()[..dtype.size()].to_vec()
}

/// The result of an op as numbers of its dtype, in bytes.
fn result(device: &dyn Device, op: impl Into<Op>, inputs: &[&Held]) -> Vec<u8> {
    let op = op.into();
    let types: Vec<TensorType> = inputs.iter().map(|i| TensorType::new(i.dtype, *i.layout.shape())).collect();
    let dtype = op.infer(&types).unwrap()[0].dtype;
    match dtype.size() {
        1 => launch::<u8>(device, &op, inputs).unwrap().unwrap(),
        2 => launch::<u16>(device, &op, inputs)
            .unwrap()
            .unwrap()
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect(),
        4 => launch::<u32>(device, &op, inputs)
            .unwrap()
            .unwrap()
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect(),
        _ => launch::<u64>(device, &op, inputs)
            .unwrap()
            .unwrap()
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect(),
    }
}

fn held(device: &dyn Device, dtype: DType, dims: &[usize]) -> Held {
    let layout = Layout::dense(shape(dims));
    Held::new(device, dtype, layout, &bytes(dtype, shape(dims).elements()))
}

/// The elements number `from` of a tensor made by [`bytes`].
fn picked(dtype: DType, from: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let all = bytes(dtype, 1000);
    from.into_iter().flat_map(|i| all[i * dtype.size()..(i + 1) * dtype.size()].to_vec()).collect()
}

#[test]
fn movers_move_every_dtype() {
    let device = device(Level::detect(), 2);
    for dtype in DType::ALL {
        let x = held(&*device, dtype, &[2, 3]);
        let mut turned = held(&*device, dtype, &[2, 3]);
        turned.layout = turned.layout.permute(&[1, 0], shape(&[3, 2]));
        assert_eq!(result(&*device, Dense, &[&turned]), picked(dtype, [0, 3, 1, 4, 2, 5]));
        assert_eq!(
            result(&*device, Concat { axis: 1 }, &[&x, &x]),
            picked(dtype, [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5])
        );
        let pad = Pad::new(&[(0, 1), (1, 0)], Scalar::of(dtype, 1.0)).unwrap();
        let (row, one) = (picked(dtype, [0, 1, 2, 3, 4, 5]), number(dtype, 1));
        let half = row.len() / 2;
        let want =
            [&one, &row[..half], &one, &row[half..], &one, &one, &one, &one].map(|b| b.to_vec()).concat();
        assert_eq!(result(&*device, pad, &[&x]), want);
        let mut repeats = [0; 8];
        repeats[..2].copy_from_slice(&[1, 2]);
        assert_eq!(
            result(&*device, Tile { repeats, rank: 2 }, &[&x]),
            picked(dtype, [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5])
        );
        let at = Held::new(&*device, DType::I64, Layout::dense(shape(&[2])), &[2i64, 0]);
        assert_eq!(result(&*device, Gather { axis: 1 }, &[&x, &at]), picked(dtype, [2, 0, 5, 3]));
        // The first axis of a transposed tensor, read in place.
        let at = Held::new(&*device, DType::I32, Layout::dense(shape(&[2])), &[1i32, 0]);
        assert_eq!(result(&*device, Gather { axis: 1 }, &[&turned, &at]), picked(dtype, [3, 0, 4, 1, 5, 2]));
        let (on, off) = (Scalar::of(dtype, 1.0), Scalar::of(dtype, 0.0));
        assert_eq!(
            result(&*device, OneHot { depth: 2, on, off }, &[&at]),
            [0, 1, 1, 0].map(|v| number(dtype, v)).concat()
        );
    }
}

#[test]
fn makers_make_every_dtype() {
    let device = device(Level::Portable, 1);
    for dtype in DType::ALL {
        let value = Scalar::of(dtype, 1.0);
        assert_eq!(result(&*device, Fill { shape: shape(&[3]), value }, &[]), number(dtype, 1).repeat(3));
        assert_eq!(
            result(&*device, Eye { rows: 2, columns: 3, dtype }, &[]),
            [1, 0, 0, 0, 1, 0].map(|v| number(dtype, v)).concat()
        );
        let bernoulli = Distribution::Bernoulli { p: Real(1.0) };
        let op = Random { distribution: bernoulli, seed: 1, stream: 2, shape: shape(&[5]), dtype };
        assert_eq!(result(&*device, op, &[]), number(dtype, 1).repeat(5));
        if dtype != DType::Bool {
            let range = Range { start: Scalar::of(dtype, 3.0), step: Scalar::of(dtype, 2.0), count: 3 };
            assert_eq!(result(&*device, range, &[]), [3, 5, 7].map(|v| number(dtype, v)).concat());
        }
    }
}

#[test]
fn scatter_add_adds_to_a_strided_tensor_in_every_numeric_dtype() {
    let device = device(Level::detect(), 3);
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8] {
        let mut x = held(&*device, dtype, &[2, 3]);
        x.layout = x.layout.permute(&[1, 0], shape(&[3, 2]));
        let at = Held::new(&*device, DType::I64, Layout::dense(shape(&[4])), &[2i64, 0, 2, 2]);
        let updates = held(&*device, dtype, &[4, 2]);
        // [[0, 3], [1, 4], [2, 5]] with [2, 3] added to row 0 and [0, 1], [4, 5], [6, 7] to row 2.
        let want = [2, 6, 1, 4, 12, 18].map(|v| number(dtype, v)).concat();
        assert_eq!(result(&*device, ScatterAdd { axis: 0 }, &[&x, &at, &updates]), want, "{dtype}");
    }
}

#[test]
fn an_index_out_of_range_is_an_error_that_names_index_position_and_line() {
    let device = device(Level::detect(), 2);
    let x = Held::new(&*device, DType::F32, Layout::dense(shape(&[4, 3])), &values(12));
    let at = Held::new(&*device, DType::I32, Layout::dense(shape(&[2, 2])), &[0i32, 3, -1, 4]);
    let updates = Held::new(&*device, DType::F32, Layout::dense(shape(&[2, 2, 3])), &values(12));
    let here = Caller::here();
    let scatter: [&Held; 3] = [&x, &at, &updates];
    for (op, inputs) in
        [(Op::from(Gather { axis: 0 }), &scatter[..2]), (Op::from(ScatterAdd { axis: 0 }), &scatter)]
    {
        let types: Vec<TensorType> =
            inputs.iter().map(|i| TensorType::new(i.dtype, *i.layout.shape())).collect();
        let outputs = op.infer(&types).unwrap();
        let out = held(&*device, DType::F32, &outputs[0].shape);
        let args: Vec<Arg<'_>> =
            inputs.iter().map(|i| Arg { region: i.region(), dtype: i.dtype, layout: &i.layout }).collect();
        let call = Call {
            kernel: device.kernel(&op, &types, &outputs).unwrap(),
            op: &op,
            inputs: &args,
            outputs: &[Arg { region: out.region(), dtype: out.dtype, layout: &out.layout }],
            workspace: None,
            caller: Some(here),
            timing: None,
        };
        let Err(Error::Data(data)) = device.launch(&call) else { panic!("{} took a bad index", op.name()) };
        assert_eq!(data.op, op.name());
        assert_eq!(data.fault, Fault::OutOfRange { what: "index", value: -1, limit: 4 });
        assert_eq!((data.row, data.location), (2, Some(here.location())));
    }
}

#[test]
fn empty_tensors_go_through_every_op() {
    let device = device(Level::detect(), 2);
    let none = held(&*device, DType::F32, &[0, 3]);
    let at = Held::new::<i64>(&*device, DType::I64, Layout::dense(shape(&[0])), &[]);
    assert!(result(&*device, Dense, &[&none]).is_empty());
    assert!(result(&*device, Concat { axis: 0 }, &[&none, &none]).is_empty());
    assert!(result(&*device, Gather { axis: 1 }, &[&none, &at]).is_empty());
    assert!(result(&*device, Gather { axis: 0 }, &[&none, &at]).is_empty());
    let updates = held(&*device, DType::F32, &[0, 3]);
    assert!(result(&*device, ScatterAdd { axis: 0 }, &[&none, &at, &updates]).is_empty());
    let (on, off) = (Scalar::F32(1.0), Scalar::F32(0.0));
    assert!(result(&*device, OneHot { depth: 4, on, off }, &[&at]).is_empty());
    assert!(result(&*device, Eye { rows: 0, columns: 4, dtype: DType::I32 }, &[]).is_empty());
    let permutation = Distribution::Permutation;
    let op = Random { distribution: permutation, seed: 0, stream: 0, shape: shape(&[0]), dtype: DType::I32 };
    assert!(result(&*device, op, &[]).is_empty());
    let pad = Pad::new(&[(1, 0), (0, 0)], Scalar::F32(0.0)).unwrap();
    assert_eq!(result(&*device, pad, &[&none]), [0; 12]);
}

#[test]
fn every_distribution_has_a_kernel_in_every_dtype_the_rule_allows() {
    let device = device(Level::detect(), 2);
    let (low, high) = (Real(-3.0), Real(4.0));
    let draw = |distribution, dtype| {
        let op = Op::from(Random { distribution, seed: 9, stream: 1, shape: shape(&[1000]), dtype });
        op.infer(&[]).is_ok().then(|| result(&*device, op, &[]))
    };
    for dtype in DType::ALL {
        let uniform = draw(Distribution::Uniform { low, high }, dtype);
        let negative = dtype.whole_range().is_none_or(|range| range.contains(&-3));
        assert_eq!(uniform.is_some(), negative, "{dtype}");
        let normal = draw(Distribution::Normal { mean: Real(0.0), deviation: Real(1.0) }, dtype);
        assert_eq!(normal.is_some(), dtype.is_float());
        let order = draw(Distribution::Permutation, dtype);
        assert_eq!(order.is_some(), dtype.is_index());
        // What was zero before is drawn now.
        for drawn in [uniform, normal, order].into_iter().flatten() {
            assert!(drawn.chunks(dtype.size()).filter(|x| x.iter().any(|b| *b != 0)).count() > 700);
        }
    }
}

#[test]
fn random_bounds_that_the_dtype_cannot_hold_are_refused() {
    let refused = |low: f64, high: f64, dtype| {
        let distribution = Distribution::Uniform { low: Real(low), high: Real(high) };
        Op::from(Random { distribution, seed: 0, stream: 0, shape: shape(&[1]), dtype }).infer(&[]).is_err()
    };
    assert!(refused(-3e38, 3e38, DType::F32) && !refused(-3e38, 3e38, DType::F64));
    assert!(refused(1e300, 2e300, DType::F32));
    let edge = 2f64.powi(63);
    assert!(refused(edge, edge + 4096.0, DType::I64) && !refused(edge - 4096.0, edge, DType::I64));
    assert!(!refused(i32::MIN.into(), f64::from(i32::MAX) + 1.0, DType::I32));
}
