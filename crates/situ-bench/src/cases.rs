//! The benchmark's cases on situ's eager API, as a user would write them. Names and shapes are those of
//! `bench/cases.py`.

use crate::{batches, convolutions, embeddings, functions, training};
use situ::{DType, Error, Function, Result, Tensor, ones, random::Generator, zeros};

/// A case ready to be timed: one call is one repetition.
pub(crate) type Call = Box<dyn Fn() -> Result<Tensor>>;

/// Every case there is, but for convolutions.
pub(crate) const NAMES: &[&str] = &[
    "eager_add_4",
    "matmul_64x64x64",
    "matmul_256x256x256",
    "matmul_1024x1024x1024",
    "matmul_2048x2048x2048",
    "matmul_32x784x128",
    "matmul_32x2048x365",
    "matmul_1x4096x4096",
    "matmul_f64_256x256x256",
    "matmul_f64_1024x1024x1024",
    "matmul_i8_256x256x256",
    "matmul_i8_1024x1024x1024",
    "matmul_bf16_256x256x256",
    "matmul_bf16_1024x1024x1024",
    "softmax_32x365",
    "softmax_4096x365",
    "softmax_1024x32000",
    "layer_norm_4096x1024",
    "add_1m",
    "add_16m",
    "add_relu_16m",
    "add_relu_16m@function",
    "exp_1m",
    "sum_16m",
    "dense_step_32",
    "dense_eager_step_32",
    "cnn_step_64",
    "cnn_eager_step_64",
    "resnet_step_8",
    "data_shuffle_batch_32x784",
    "data_shuffle_map_batch_32x784",
    "data_shuffle_map_batch_32x784@parallel",
    "data_shuffle_batch_map_32x784",
    "copy_16m",
    "function_empty",
    "function_chain_100",
    "function_fused_16m",
    "function_halves_one_cpu",
    "function_halves_two_cpus",
];

/// The sizes in a name.
pub(crate) fn dims(size: &str) -> Result<Vec<usize>> {
    match size {
        "4" => Ok(vec![4]),
        "1m" => Ok(vec![1 << 20]),
        "16m" => Ok(vec![1 << 24]),
        list => list
            .split('x')
            .map(|n| {
                n.parse()
                    .map_err(|_| Error::argument("bench", format!("no size in '{size}'"), "see the list"))
            })
            .collect(),
    }
}

/// Makes a case's inputs and the call that is timed.
pub(crate) fn prepare(name: &str) -> Result<Call> {
    for others in
        [functions::prepare, training::prepare, embeddings::prepare, batches::prepare, convolutions::prepare]
    {
        if let Some(call) = others(name)? {
            return Ok(call);
        }
    }
    let unknown = || Error::argument("bench", format!("there is no case '{name}'"), "ask for the list");
    // `add_relu_16m@function` is the op `add_relu@function` of size `16m`.
    let (case, way) =
        name.split_once('@').map_or((name, String::new()), |(case, way)| (case, format!("@{way}")));
    let (op, size) = case.rsplit_once('_').ok_or_else(unknown)?;
    let op = format!("{op}{way}");
    let dims = dims(size)?;
    let generator = Generator::new(1);
    let normal = |dims: &[usize]| generator.normal(dims, 0.0, 1.0, DType::F32);
    Ok(match (op.as_str(), dims.as_slice()) {
        ("eager_add" | "add", dims) => {
            let (a, b) = (normal(dims)?, normal(dims)?);
            Box::new(move || a.add(&b))
        }
        ("add_relu", dims) => {
            let (a, b) = (normal(dims)?, normal(dims)?);
            Box::new(move || a.add(&b)?.relu())
        }
        ("add_relu@function", dims) => {
            let (a, b) = (normal(dims)?, normal(dims)?);
            let function = Function::new2(|a, b| a.add(b)?.relu());
            Box::new(move || function.call2(&a, &b))
        }
        ("exp", dims) => {
            let a = normal(dims)?;
            Box::new(move || a.exp())
        }
        // Dense from end to end: nothing but the copy.
        ("copy", dims) => {
            let a = normal(dims)?;
            Box::new(move || situ::concat(&[&a], 0))
        }
        ("sum", dims) => {
            let a = normal(dims)?;
            Box::new(move || a.sum(&[]))
        }
        ("matmul", [m, k, n]) => {
            let (a, b) = (normal(&[*m, *k])?, normal(&[*k, *n])?);
            Box::new(move || a.matmul(&b))
        }
        ("matmul_f64" | "matmul_bf16", [m, k, n]) => {
            let dtype = if op == "matmul_f64" { DType::F64 } else { DType::BF16 };
            let (a, b) = (normal(&[*m, *k])?.cast(dtype)?, normal(&[*k, *n])?.cast(dtype)?);
            Box::new(move || a.matmul(&b))
        }
        ("matmul_i8", [m, k, n]) => {
            let bytes = |dims: &[usize]| generator.uniform(dims, -128.0, 128.0, DType::F32)?.cast(DType::I8);
            let (a, b) = (bytes(&[*m, *k])?, bytes(&[*k, *n])?);
            Box::new(move || a.matmul_integer(&b))
        }
        ("softmax", dims) => {
            let a = normal(dims)?;
            Box::new(move || a.softmax(-1))
        }
        ("layer_norm", dims @ [_, columns]) => {
            let (x, scale, shift) =
                (normal(dims)?, ones(&[*columns], DType::F32)?, zeros(&[*columns], DType::F32)?);
            Box::new(move || x.layer_norm(&scale, &shift, 1e-5))
        }
        _ => return Err(unknown()),
    })
}
