//! What no buffer of a GPU holds is placed elsewhere, says so, and is right: arguments, results, and what is
//! between them.

use situ_core::{DType, DeviceKind, Policy, Reason, Result};
use situ_tensor::{Function, Tensor, fallback_policy, full, tensor, with_device, with_runtime};
use situ_testkit::machines;

/// Elements of f32 beyond the largest buffer of the software GPU, which is 128 MiB.
const BEYOND: usize = (128 << 18) + 1_000;

/// Runs on the machine's GPU, with what does not fit allowed to go elsewhere.
fn on_gpu(body: impl FnOnce() -> Result<()>) -> Result<()> {
    let Some(runtime) = machines::shared_cpu_and_gpu() else { return Ok(()) };
    with_runtime(runtime, || {
        let _allowed = fallback_policy(Policy::Allow);
        with_device("/GPU:0", body)
    })
}

/// A large result: where it is, and that it is all there.
fn is_full_of(x: &Tensor, value: f32) -> Result<()> {
    let all = x.to_vec::<f32>()?;
    assert_eq!(all.len(), BEYOND);
    let wrong = all.iter().filter(|v| **v != value).count();
    assert_eq!(wrong, 0, "of {BEYOND}, on {}", x.device());
    let fits = x.device().kind == DeviceKind::Gpu;
    assert!(fits || !matches!(x.reason(), Reason::Requested), "{} is {}", x.device(), x.reason());
    Ok(())
}

#[test]
fn a_large_result_of_an_eager_op_is_elsewhere_and_right() -> Result<()> {
    on_gpu(|| {
        let one = full(&[BEYOND], 1.0f32)?;
        is_full_of(&one, 1.0)?;
        is_full_of(&one.add(&one)?, 2.0)?;
        assert_eq!(one.sum(&[])?.item::<f32>()? as usize / 1_000, BEYOND / 1_000);
        Ok(())
    })
}

#[test]
fn a_large_result_of_a_function_is_elsewhere_and_right() -> Result<()> {
    on_gpu(|| {
        let f = Function::new(|x| x.expand(&[BEYOND])?.add(&tensor([1.0f32])?));
        is_full_of(&f.call(&tensor([2.0f32])?)?, 3.0)
    })
}

#[test]
fn a_large_argument_of_a_function_is_read_where_it_lies() -> Result<()> {
    on_gpu(|| {
        let x = with_device("/CPU:0", || full(&[BEYOND], 1.0f32))?;
        let f = Function::new(|x| x.add(x)?.max(&[]));
        assert_eq!(f.call(&x)?.item::<f32>()?, 2.0);
        let rows = Function::new(|x| x.reshape(&[-1, 1_000])?.sum(&[1]));
        let part = x.narrow(0, 0, BEYOND / 1_000 * 1_000)?;
        assert!(rows.call(&part)?.to_vec::<f32>()?.iter().all(|sum| *sum == 1_000.0));
        Ok(())
    })
}

#[test]
fn a_large_value_between_two_ops_of_a_function_is_whole() -> Result<()> {
    on_gpu(|| {
        let outer = Function::new(|x| {
            let n = x.shape().dims()[0] as isize;
            x.reshape(&[n, 1])?.matmul(&x.reshape(&[1, n])?)?.sum(&[1])
        });
        // 155 MiB between the argument and the result.
        let n = 6_392;
        let sums = outer.call(&tensor(vec![1.0f32; n])?)?.to_vec::<f32>()?;
        let wrong = sums.iter().filter(|sum| **sum != n as f32).count();
        assert_eq!(wrong, 0, "of {n} rows");
        Ok(())
    })
}

#[test]
fn large_bytes_are_counted_to_the_last() -> Result<()> {
    on_gpu(|| {
        let count = (128 << 20) + 77;
        let x = full(&[count], true)?;
        assert!(x.all(&[])?.item::<bool>()?);
        let last = x
            .logical_not()?
            .logical_or(&situ_tensor::arange(count, DType::I32)?.equal(&tensor([count as i32 - 1])?)?)?;
        assert!(last.any(&[])?.item::<bool>()?);
        Ok(())
    })
}
