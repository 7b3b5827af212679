//! The cases of compiled functions: what a call costs, what a node costs, how near a fused chain is to a
//! copy, and whether two devices work at once.

use crate::cases::Call;
use situ::{
    DType, Function, LogicalConfig, Result, Runtime, Tensor, config, random::Generator, with_device,
    with_runtime,
};

/// Adds in the chain of tiny ones.
const CHAIN: usize = 100;

/// Side of the matrices that a half multiplies, and how many times it does: about 10 ms on one core.
const SIDE: usize = 512;
const PRODUCTS: usize = 4;

/// The call of a case of this file; nothing if it is not one.
pub(crate) fn prepare(name: &str) -> Result<Option<Call>> {
    let generator = Generator::new(1);
    let normal = |dims: &[usize]| generator.normal(dims, 0.0, 1.0, DType::F32);
    Ok(Some(match name {
        "function_empty" => {
            let (x, function) = (normal(&[4])?, Function::new(|x| Ok(x.clone())));
            Box::new(move || function.call(&x))
        }
        "function_chain_100" => {
            let x = normal(&[4])?;
            let function = Function::new(|x| (0..CHAIN).try_fold(x.clone(), |sum, _| sum.add(x)));
            let function = function.without("fuse")?;
            Box::new(move || function.call(&x))
        }
        "function_fused_16m" => {
            // One tensor is read and one is written, as by a copy.
            let x = normal(&[1 << 24])?;
            let function = Function::new(|x| x.mul(x)?.add(x)?.neg()?.relu());
            Box::new(move || function.call(&x))
        }
        "function_halves_one_cpu" => halves(0)?,
        "function_halves_two_cpus" => halves(1)?,
        _ => return Ok(None),
    }))
}

/// Two independent chains of products, the second on that CPU, in a runtime with two CPUs of a core each.
fn halves(second: usize) -> Result<Call> {
    let runtime = Runtime::builder().build()?;
    with_runtime(&runtime, || {
        config::set_logical_devices("CPU:0", &[LogicalConfig::cores([0]), LogicalConfig::cores([1])])
    })?;
    let second = format!("/CPU:{second}");
    let half =
        |device: &str| with_device(device, || Generator::new(1).normal(&[SIDE, SIDE], 0.0, 0.05, DType::F32));
    let (a, b) = with_runtime(&runtime, || (half("/CPU:0"), half(&second)));
    let (a, b) = (a?, b?);
    fn products(device: &str, x: &Tensor) -> Result<Tensor> {
        with_device(device, || (0..PRODUCTS).try_fold(x.clone(), |y, _| y.matmul(x)))
    }
    let function = Function::many(move |inputs| {
        Ok(vec![products("/CPU:0", &inputs[0])?, products(&second, &inputs[1])?])
    });
    Ok(Box::new(move || {
        let outputs = with_runtime(&runtime, || function.call_many(&[&a, &b]))?;
        runtime.sync()?;
        Ok(outputs[1].clone())
    }))
}
