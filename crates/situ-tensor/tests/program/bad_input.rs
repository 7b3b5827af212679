//! A table of wrong calls. Each returns an error that names the op and its operands; none panics, on any
//! device.

use situ_core::{DType, Result};
use situ_ir::ops::ReduceKind;
use situ_runtime::Runtime;
use situ_tensor::random::Generator;
use situ_tensor::*;
use situ_testkit::machines;
use situ_testkit::simulated::SimulatedGpu;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the calls are made on.
struct Given {
    /// f32[2, 3]
    m: Tensor,
    /// f32[4]
    v: Tensor,
    /// i32[4]
    i: Tensor,
    /// u8[4]
    u: Tensor,
    /// bool[4]
    b: Tensor,
    /// f32[]
    s: Tensor,
    /// f32[0, 3]
    e: Tensor,
    /// f32 of eight axes
    deep: Tensor,
    /// holds f32[4]
    variable: Variable,
}

impl Given {
    fn new() -> Result<Given> {
        let v = tensor([1.0f32, 2.0, 3.0, 4.0])?;
        Ok(Given {
            m: tensor([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?,
            i: tensor([0i32, 1, 2, 3])?,
            u: tensor([1u8, 2, 3, 4])?,
            b: tensor([true, false, true, false])?,
            s: tensor(1.0f32)?,
            e: zeros(&[0, 3], DType::F32)?,
            deep: zeros(&[1, 1, 1, 1, 1, 1, 1, 2], DType::F32)?,
            variable: Variable::new(&v)?,
            v,
        })
    }
}

type Call = fn(&Given) -> Result<Tensor>;

/// A call, and what its error must name.
const TABLE: &[(&str, Call, &[&str])] = &[
    // Shapes that do not fit.
    ("add of shapes", |g| g.m.add(&g.v), &["add", "f32[2, 3]", "f32[4]", "broadcast"]),
    ("operator", |g| &g.m + &g.v, &["add", "f32[2, 3]", "f32[4]"]),
    ("maximum of shapes", |g| g.m.maximum(&g.v), &["maximum", "f32[2, 3]", "f32[4]"]),
    ("where of shapes", |g| where_(&g.b, &g.m, &g.m), &["where", "bool[4]", "f32[2, 3]"]),
    ("matmul of vectors", |g| g.v.matmul(&g.v), &["matmul", "f32[4]", "two axes"]),
    ("matmul inner", |g| g.m.matmul(&g.m), &["matmul", "f32[2, 3]", "inner sizes differ: 3", "2"]),
    ("matmul transposed inner", |g| g.m.matmul_transposed(&g.m, true, true), &["matmul", "inner sizes"]),
    (
        "matmul batches",
        |_| batch(2)?.matmul(&batch(3)?),
        &["matmul", "f32[2, 2, 2]", "f32[3, 2, 2]", "batch"],
    ),
    ("bias of another size", |g| g.m.bias_add(&g.v), &["bias_add", "f32[2, 3]", "f32[4]"]),
    ("bias of two axes", |g| g.m.bias_add(&g.m), &["bias_add", "f32[2, 3]"]),
    ("bias on a scalar", |g| g.s.bias_add(&g.v), &["bias_add", "f32[]"]),
    ("layer norm sizes", |g| g.m.layer_norm(&g.v, &g.v, 1e-5), &["layer_norm", "f32[2, 3]", "f32[4]"]),
    ("layer norm of a scalar", |g| g.s.layer_norm(&g.v, &g.v, 1e-5), &["layer_norm", "f32[]"]),
    (
        "cross entropy shapes",
        |g| g.m.softmax_cross_entropy(&g.v),
        &["softmax_cross_entropy", "f32[2, 3]", "f32[4]"],
    ),
    (
        "labels per row",
        |g| g.m.sparse_softmax_cross_entropy(&g.i),
        &["sparse_softmax_cross_entropy", "i32[4]"],
    ),
    ("concat shapes", |g| concat(&[&g.m, &g.v], 0), &["concat", "f32[2, 3]", "f32[4]"]),
    ("concat of nothing", |_| concat(&[], 0), &["concat", "no tensor"]),
    ("stack shapes", |g| stack(&[&g.m, &g.v], 0), &["stack", "f32[2, 3]", "f32[4]"]),
    ("stack of nothing", |_| stack(&[], 0), &["stack", "no tensor"]),
    ("stack beyond rank 8", |g| stack(&[&g.deep, &g.deep], 0), &["expand_dims", "8"]),
    ("reshape count", |g| g.m.reshape(&[4, 2]), &["reshape", "f32[2, 3]", "8", "6"]),
    ("reshape -1 twice", |g| g.m.reshape(&[-1, -1]), &["reshape", "f32[2, 3]", "[-1, -1]"]),
    ("reshape negative", |g| g.m.reshape(&[-2, 3]), &["reshape", "f32[2, 3]", "negative"]),
    ("reshape indivisible", |g| g.m.reshape(&[4, -1]), &["reshape", "6", "[4, -1]"]),
    ("reshape of nothing with -1", |g| g.e.reshape(&[0, -1]), &["reshape", "f32[0, 3]"]),
    ("reshape to nine axes", |g| g.m.reshape(&[1, 1, 1, 1, 1, 1, 1, 2, 3]), &["reshape", "f32[2, 3]", "9"]),
    ("reshape overflow", |g| g.m.reshape(&[isize::MAX, isize::MAX]), &["reshape", "f32[2, 3]", "elements"]),
    ("expand shapes", |g| g.m.expand(&[3, 3]), &["expand", "f32[2, 3]", "[3, 3]"]),
    ("expand to fewer axes", |g| g.m.expand(&[3]), &["expand", "f32[2, 3]", "[3]"]),
    ("expand beyond memory", |g| g.s.expand(&[usize::MAX, usize::MAX]), &["expand", "f32[]", "elements"]),
    ("transpose twice", |g| g.m.transpose(&[0, 0]), &["transpose", "[0, 0]"]),
    ("transpose too few", |g| g.m.transpose(&[0]), &["transpose", "f32[2, 3]"]),
    ("squeeze of 2", |g| g.m.squeeze(&[0]), &["squeeze", "f32[2, 3]", "size 2"]),
    ("expand_dims far", |g| g.m.expand_dims(5), &["expand_dims", "f32[2, 3]", "5"]),
    ("expand_dims beyond rank 8", |g| g.deep.expand_dims(0), &["expand_dims", "8"]),
    ("split uneven", |g| g.v.split(3, 0).map(|mut p| p.remove(0)), &["split", "f32[4]", "3"]),
    ("split into none", |g| g.v.split(0, 0).map(|mut p| p.remove(0)), &["split", "f32[4]", "0"]),
    (
        "split of nothing into parts",
        |g| g.e.split(1 << 33, 0).map(|mut p| p.remove(0)),
        &["split", "f32[0, 3]", "8589934592"],
    ),
    ("split of nothing in two", |g| g.e.split(2, 0).map(|mut p| p.remove(0)), &["split", "size 0", "2"]),
    ("pad widths", |g| g.m.pad(&[(1, 1)], 0.0), &["pad", "f32[2, 3]"]),
    ("pad beyond memory", |g| g.v.pad(&[(usize::MAX, 1)], 0.0), &["pad", "f32[4]", "axis 0"]),
    ("pad of nine axes", |g| g.v.pad(&[(0, 0); 9], 0.0), &["pad", "9"]),
    ("tile repeats", |g| g.m.tile(&[2]), &["tile", "f32[2, 3]"]),
    ("tile beyond memory", |g| g.v.tile(&[usize::MAX]), &["tile", "f32[4]", "axis 0"]),
    ("tile nine", |g| g.v.tile(&[1; 9]), &["tile", "9"]),
    ("scatter shapes", |g| g.v.scatter_add(&g.i, &g.m, 0), &["scatter_add", "f32[4]", "i32[4]", "f32[2, 3]"]),
    ("gather beyond rank 8", |g| g.deep.gather(&g.i.reshape(&[2, 2])?, 0), &["gather", "8"]),
    ("one_hot beyond rank 8", |g| g.deep.cast(DType::I32)?.one_hot(3, DType::F32), &["one_hot"]),
    (
        "variable of another shape",
        |g| g.variable.assign(&g.m).map(|()| g.v.clone()),
        &["assign", "f32[2, 3]", "f32[4]"],
    ),
    (
        "variable update",
        |g| g.variable.assign_add(&g.m).map(|()| g.v.clone()),
        &["assign_add", "f32[2, 3]", "f32[4]"],
    ),
    // dtypes.
    ("add of dtypes", |g| g.v.add(&g.i), &["add", "f32[4]", "i32[4]", "dtypes"]),
    ("add of bools", |g| g.b.add(&g.b), &["add", "bool[4]"]),
    ("neg of bools", |g| g.b.neg(), &["neg", "bool[4]"]),
    ("exp of integers", |g| g.i.exp(), &["exp", "i32[4]", "float"]),
    ("pow of integers", |g| g.i.pow(&g.i), &["pow", "i32[4]"]),
    ("is_nan of integers", |g| g.i.is_nan(), &["is_nan", "i32[4]"]),
    ("logic of numbers", |g| g.v.logical_and(&g.v), &["logical_and", "f32[4]"]),
    ("not of numbers", |g| g.v.logical_not(), &["logical_not", "f32[4]"]),
    ("order of bools", |g| g.b.less(&g.b), &["less", "bool[4]"]),
    ("where without bool", |g| where_(&g.v, &g.v, &g.v), &["where", "f32[4]", "bool"]),
    ("where of dtypes", |g| where_(&g.b, &g.v, &g.i), &["where", "f32[4]", "i32[4]"]),
    ("matmul of bools", |g| g.b.reshape(&[2, 2])?.matmul(&g.b.reshape(&[2, 2])?), &["matmul", "bool[2, 2]"]),
    (
        "matmul of dtypes",
        |g| g.v.reshape(&[2, 2])?.matmul(&g.i.reshape(&[2, 2])?),
        &["matmul", "f32[2, 2]", "i32[2, 2]"],
    ),
    ("mean of integers", |g| g.i.mean(&[]), &["mean", "i32[4]"]),
    ("sum of bools", |g| g.b.sum(&[]), &["sum", "bool[4]"]),
    ("any of numbers", |g| g.v.any(&[]), &["any", "f32[4]"]),
    ("argmax of bools", |g| g.b.argmax(&[]), &["argmax", "bool[4]"]),
    ("softmax of integers", |g| g.i.softmax(0), &["softmax", "i32[4]"]),
    ("layer norm of integers", |g| g.i.layer_norm(&g.i, &g.i, 1e-5), &["layer_norm", "i32[4]"]),
    (
        "labels that are floats",
        |g| g.m.sparse_softmax_cross_entropy(&g.v.narrow(0, 0, 2)?),
        &["sparse_softmax_cross_entropy", "i32 or i64"],
    ),
    ("gather by floats", |g| g.v.gather(&g.v, 0), &["gather", "f32[4]", "i32 or i64"]),
    ("scatter of bools", |g| g.b.scatter_add(&g.i, &g.b, 0), &["scatter_add", "bool[4]"]),
    ("one_hot of floats", |g| g.v.one_hot(3, DType::F32), &["one_hot", "f32[4]"]),
    ("concat of dtypes", |g| concat(&[&g.v, &g.i], 0), &["concat", "f32[4]", "i32[4]"]),
    ("read as another dtype", |g| g.v.to_vec::<f64>().map(|_| g.v.clone()), &["to_vec", "f64", "f32"]),
    ("item of several", |g| g.v.item::<f32>().map(|_| g.v.clone()), &["item", "f32[4]", "4 elements"]),
    (
        "variable of another dtype",
        |g| g.variable.assign(&g.i).map(|()| g.v.clone()),
        &["assign", "i32[4]", "f32[4]"],
    ),
    // Axes.
    ("sum axis", |g| g.m.sum(&[2]), &["sum", "axis 2", "[2, 3]"]),
    ("sum axis below", |g| g.m.sum(&[-3]), &["sum", "axis -3", "[2, 3]"]),
    ("sum axis twice", |g| g.m.sum(&[0, -2]), &["sum", "axis -2", "twice"]),
    ("sum axis of a scalar", |g| g.s.sum(&[0]), &["sum", "scalar"]),
    ("softmax axis", |g| g.m.softmax(7), &["softmax", "axis 7", "[2, 3]"]),
    ("log_softmax of a scalar", |g| g.s.log_softmax(0), &["log_softmax", "scalar"]),
    ("concat axis", |g| concat(&[&g.m, &g.m], 2), &["concat", "axis 2", "[2, 3]"]),
    ("gather axis", |g| g.v.gather(&g.i, 1), &["gather", "axis 1", "[4]"]),
    ("scatter axis", |g| g.v.scatter_add(&g.i, &g.v, -2), &["scatter_add", "axis -2", "[4]"]),
    ("split axis", |g| g.v.split(2, 1).map(|mut p| p.remove(0)), &["split", "axis 1", "[4]"]),
    ("squeeze axis", |g| g.m.squeeze(&[9]), &["squeeze", "axis 9", "[2, 3]"]),
    ("transpose axis", |g| g.m.transpose(&[0, 5]), &["transpose", "axis 5", "[2, 3]"]),
    ("axis far out", |g| g.m.sum(&[isize::MAX]), &["sum", "[2, 3]"]),
    ("axis far below", |g| g.m.sum(&[isize::MIN]), &["sum", "[2, 3]"]),
    // Nothing where something is needed.
    ("max of nothing", |g| g.e.max(&[0]), &["max", "f32[0, 3]", "no elements"]),
    ("argmin of nothing", |g| g.e.reduce(ReduceKind::ArgMin, &[], false), &["argmin", "f32[0, 3]"]),
    // Slices and ranges.
    ("slice step 0", |g| g.v.slice(&[Span::ALL.by(0)]), &["slice", "f32[4]", "step"]),
    ("slice of too many axes", |g| g.v.slice(&[Span::ALL, Span::ALL]), &["slice", "f32[4]", "2 spans"]),
    ("narrow past the end", |g| g.v.narrow(0, 2, 9), &["slice", "f32[4]", "2 to 9"]),
    ("narrow backwards", |g| g.v.narrow(0, 3, 1), &["slice", "f32[4]", "3 to 1"]),
    ("range step 0", |_| range(0.0f32, 1.0, 0.0), &["range", "steps of 0"]),
    ("range without end", |_| range(0.0f64, f64::INFINITY, 1.0), &["range", "inf"]),
    ("range of NaN", |_| range(f64::NAN, 1.0, 1.0), &["range", "NaN"]),
    ("range too long", |_| range(0i64, i64::MAX, 1), &["range"]),
    ("range of bools", |_| range(false, true, true), &["range", "bool"]),
    ("arange of bools", |_| arange(3, DType::Bool), &["range", "bool"]),
    // Sizes.
    ("nine axes", |_| zeros(&[1; 9], DType::F32), &["zeros", "9 dimensions", "8"]),
    (
        "overflow of the element count",
        |_| zeros(&[usize::MAX, 2], DType::F32),
        &["zeros", "18446744073709551615", "elements"],
    ),
    ("overflow beside a zero", |_| zeros(&[0, usize::MAX, usize::MAX], DType::F32), &["zeros", "elements"]),
    ("eye beyond memory", |_| eye(usize::MAX, 3, DType::F32), &["eye", "elements"]),
    ("one_hot beyond memory", |g| g.i.one_hot(usize::MAX, DType::F32), &["one_hot", "i32[4]", "elements"]),
    ("constant of too few", |_| constant(&[1.0f32], &[2, 2]), &["constant", "[2, 2]", "4", "1"]),
    ("ragged rows", |_| tensor(vec![vec![1.0f32, 2.0], vec![3.0]]), &["tensor", "different lengths"]),
    // Parameters.
    ("clip turned round", |g| g.v.clip(2.0, 1.0), &["clip", "f32[4]", "2", "1"]),
    ("clip of NaN", |g| g.v.clip(f64::NAN, 1.0), &["clip", "f32[4]", "NaN"]),
    ("epsilon negative", |g| g.v.layer_norm(&g.v, &g.v, -1.0), &["layer_norm", "epsilon", "-1"]),
    ("epsilon NaN", |g| g.v.layer_norm(&g.v, &g.v, f64::NAN), &["layer_norm", "epsilon", "NaN"]),
    (
        "uniform turned round",
        |_| generator().uniform(&[3], 1.0, 0.0, DType::F32),
        &["random_uniform", "1", "0"],
    ),
    (
        "uniform of infinity",
        |_| generator().uniform(&[3], 0.0, f64::INFINITY, DType::F32),
        &["random_uniform", "inf"],
    ),
    ("uniform of bools", |_| generator().uniform(&[3], 0.0, 1.0, DType::Bool), &["random_uniform", "bool"]),
    ("uniform beyond i32", |_| generator().uniform(&[3], 0.0, 3e9, DType::I32), &["random_uniform", "i32"]),
    ("uniform of fractions", |_| generator().uniform(&[3], 0.5, 2.5, DType::I32), &["random_uniform", "0.5"]),
    ("normal of integers", |_| generator().normal(&[3], 0.0, 1.0, DType::I32), &["random_normal", "i32"]),
    ("normal deviation", |_| generator().normal(&[3], 0.0, -1.0, DType::F32), &["random_normal", "-1"]),
    ("bernoulli beyond 1", |_| generator().bernoulli(&[3], 1.5, DType::Bool), &["random_bernoulli", "1.5"]),
    (
        "bernoulli of NaN",
        |_| generator().bernoulli(&[3], f64::NAN, DType::Bool),
        &["random_bernoulli", "NaN"],
    ),
    ("permutation of floats", |_| generator().permutation(3, DType::F32), &["random_permutation", "f32"]),
    // Numbers that the dtype does not have.
    ("a fraction times bytes", |g| &g.u * (1.0 / 255.0), &["mul", "u8[4]", "0.0039", "cast"]),
    ("a fraction times integers", |g| &g.i * 2.5, &["mul", "i32[4]", "2.5", "cast"]),
    ("less than nothing plus bytes", |g| &g.u + -1.0, &["add", "u8[4]", "-1", "cast"]),
    ("a half under integers", |g| &g.i / 0.5, &["div", "i32[4]", "0.5", "cast"]),
    ("remainder by a fraction", |g| &g.i % 1.5, &["rem", "i32[4]", "1.5"]),
    ("beyond bytes", |g| &g.u - 256.0, &["sub", "u8[4]", "256"]),
    ("beyond i32", |g| &g.i - 2_147_483_648.0, &["sub", "i32[4]", "2147483648"]),
    ("beyond i64", |g| &g.i.cast(DType::I64)? + 2f64.powi(63), &["add", "i64[4]", "9.22"]),
    ("no number plus integers", |g| &g.i + f64::NAN, &["add", "i32[4]", "NaN"]),
    ("infinity times integers", |g| &g.i * f64::INFINITY, &["mul", "i32[4]", "inf"]),
    ("finite, but not in f32", |g| &g.v * 1e300, &["mul", "f32[4]", "1e300", "f64"]),
    ("two truths", |g| &g.b + 2.0, &["add", "bool[4]"]),
    ("padding by a fraction", |g| g.i.pad(&[(1, 1)], 0.5), &["pad", "i32[4]", "0.5"]),
    ("padding of bytes by −1", |g| g.u.pad(&[(1, 1)], -1.0), &["pad", "u8[4]", "-1"]),
    ("padding of truths by 2", |g| g.b.pad(&[(1, 1)], 2.0), &["pad", "bool[4]", "2"]),
    ("clip between integers", |g| g.i.clip(0.25, 0.75), &["clip", "i32[4]", "0.25", "0.75"]),
    ("clip below all bytes", |g| g.u.clip(-9.0, -1.0), &["clip", "u8[4]", "-9", "-1"]),
    ("clip beyond all bytes", |g| g.u.clip(256.0, 300.0), &["clip", "u8[4]", "256"]),
    ("more numbers than bytes", |_| arange(257, DType::U8), &["range", "u8", "256"]),
    ("more numbers than i32", |_| arange(1 << 40, DType::I32), &["range", "i32"]),
    // Devices.
    ("a typo in a device", |g| with_device("/GPUU:0", || g.v.neg()), &["GPUU"]),
    ("no such device to copy to", |g| g.v.to_device("/GPU:41"), &["GPU:41", "CPU:0"]),
    ("a name that is none", |g| g.v.to_device("///"), &["/"]),
    ("an index that is none", |g| g.v.to_device("/GPU:x"), &["x"]),
];

fn batch(n: usize) -> Result<Tensor> {
    zeros(&[n, 2, 2], DType::F32)
}

fn generator() -> Generator {
    Generator::new(0)
}

fn check(runtime: &Runtime, scope: &str) {
    with_runtime(runtime, || {
        let _scope = device(scope).expect("a valid name");
        let given = Given::new().expect("the operands are fine");
        let mut wrong = Vec::new();
        for (name, call, parts) in TABLE {
            match catch_unwind(AssertUnwindSafe(|| call(&given).and_then(|t| t.to_bytes()))) {
                Err(_) => wrong.push(format!("{name}: panicked")),
                Ok(Ok(_)) => wrong.push(format!("{name}: was accepted")),
                Ok(Err(error)) => {
                    let text = error.to_string();
                    let missing: Vec<_> = parts.iter().filter(|p| !text.contains(**p)).collect();
                    if !missing.is_empty() {
                        wrong.push(format!("{name}: the error does not name {missing:?}: {text}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} on {scope}:\n{}", wrong.len(), wrong.join("\n"));
        // Nothing was lost on the way.
        assert_eq!(given.v.to_vec::<f32>().expect("a good tensor"), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(given.variable.value().to_vec::<f32>().expect("a good variable"), [1.0, 2.0, 3.0, 4.0]);
    });
}

#[test]
fn wrong_calls_are_errors_on_the_cpu() {
    check(&machines::cpu(), "/CPU:0");
}

#[test]
fn wrong_calls_are_errors_on_a_simulated_gpu() {
    check(&machines::cpu_and(&[&SimulatedGpu::new()]), "/GPU:0");
}

#[test]
fn wrong_calls_are_errors_on_the_real_gpu() {
    if let Some(runtime) = machines::shared_cpu_and_gpu() {
        check(runtime, "/GPU:0");
    }
}
