//! Each method is the op it is called: a small answer known by heart for every one.

use situ_core::{DType, Result};
use situ_tensor::*;
use situ_testkit::machines::cpu;

fn f(values: &[f32]) -> Result<Tensor> {
    constant(values, &[values.len()])
}

/// A result in f64, for comparing any dtype.
fn numbers(t: &Tensor) -> Result<Vec<f64>> {
    t.cast(DType::F64)?.to_vec::<f64>()
}

#[track_caller]
fn assert_near(got: Result<Tensor>, want: &[f64]) {
    let got = numbers(&got.expect("the op works")).expect("its result can be read");
    assert_eq!(got.len(), want.len(), "{got:?} is not {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-6 * w.abs().max(1.0) || g == w, "{got:?} is not {want:?}");
    }
}

#[test]
fn unary_methods() -> Result<()> {
    with_runtime(&cpu(), || {
        let x = f(&[-2.0, 0.5, 1.0])?;
        assert_near(x.neg(), &[2.0, -0.5, -1.0]);
        assert_near(-&x, &[2.0, -0.5, -1.0]);
        assert_near(x.abs(), &[2.0, 0.5, 1.0]);
        assert_near(x.sign(), &[-1.0, 1.0, 1.0]);
        assert_near(x.square(), &[4.0, 0.25, 1.0]);
        assert_near(x.relu(), &[0.0, 0.5, 1.0]);
        assert_near(x.leaky_relu(0.5), &[-1.0, 0.5, 1.0]);
        assert_near(x.elu(2.0), &[2.0 * ((-2f64).exp() - 1.0), 0.5, 1.0]);
        assert_near(x.clip(-1.0, 0.75), &[-1.0, 0.5, 0.75]);
        assert_near(x.floor(), &[-2.0, 0.0, 1.0]);
        assert_near(x.ceil(), &[-2.0, 1.0, 1.0]);
        assert_near(x.round(), &[-2.0, 0.0, 1.0]);
        assert_near(x.exp(), &[(-2f64).exp(), 0.5f64.exp(), 1f64.exp()]);
        assert_near(x.sin(), &[(-2f64).sin(), 0.5f64.sin(), 1f64.sin()]);
        assert_near(x.cos(), &[(-2f64).cos(), 0.5f64.cos(), 1f64.cos()]);
        assert_near(x.tanh(), &[(-2f64).tanh(), 0.5f64.tanh(), 1f64.tanh()]);
        assert_near(x.reciprocal(), &[-0.5, 2.0, 1.0]);
        assert_near(x.erf(), &[-0.995_322_265, 0.520_499_878, 0.842_700_793]);
        assert_near(x.gelu(), &[-0.045_500_264, 0.345_731_231, 0.841_344_746]);
        assert_near(x.sigmoid(), &[0.119_202_922, 0.622_459_331, 0.731_058_579]);
        assert_near(x.silu(), &[-0.238_405_844, 0.311_229_666, 0.731_058_579]);
        assert_near(x.softplus(), &[0.126_928_011, 0.974_076_984, 1.313_261_688]);
        let p = f(&[0.25, 1.0, 4.0])?;
        assert_near(p.log(), &[0.25f64.ln(), 0.0, 4f64.ln()]);
        assert_near(p.log1p(), &[0.25f64.ln_1p(), 1f64.ln_1p(), 4f64.ln_1p()]);
        assert_near(p.sqrt(), &[0.5, 1.0, 2.0]);
        assert_near(p.rsqrt(), &[2.0, 1.0, 0.5]);
        assert_near(f(&[f32::NAN, 1.0])?.is_nan(), &[1.0, 0.0]);
        assert_near(tensor([true, false])?.logical_not(), &[0.0, 1.0]);
        Ok(())
    })
}

#[test]
fn binary_methods_and_operators() -> Result<()> {
    with_runtime(&cpu(), || {
        let (a, b) = (f(&[7.0, -3.0])?, f(&[2.0, 2.0])?);
        assert_near(a.add(&b), &[9.0, -1.0]);
        assert_near(a.sub(&b), &[5.0, -5.0]);
        assert_near(a.mul(&b), &[14.0, -6.0]);
        assert_near(a.div(&b), &[3.5, -1.5]);
        assert_near(a.rem(&b), &[1.0, -1.0]);
        assert_near(a.pow(&b), &[49.0, 9.0]);
        assert_near(a.maximum(&b), &[7.0, 2.0]);
        assert_near(a.minimum(&b), &[2.0, -3.0]);
        assert_near(&a + &b, &[9.0, -1.0]);
        assert_near(&a - &b, &[5.0, -5.0]);
        assert_near(&a * &b, &[14.0, -6.0]);
        assert_near(&a / &b, &[3.5, -1.5]);
        assert_near(&a % &b, &[1.0, -1.0]);
        assert_near(&a + 1.0, &[8.0, -2.0]);
        assert_near(&a * 0.5, &[3.5, -1.5]);
        assert_near(a.equal(&a), &[1.0, 1.0]);
        assert_near(a.not_equal(&b), &[1.0, 1.0]);
        assert_near(a.less(&b), &[0.0, 1.0]);
        assert_near(a.less_equal(&a), &[1.0, 1.0]);
        assert_near(a.greater(&b), &[1.0, 0.0]);
        assert_near(a.greater_equal(&b), &[1.0, 0.0]);
        let (p, q) = (tensor([true, true, false, false])?, tensor([true, false, true, false])?);
        assert_near(p.logical_and(&q), &[1.0, 0.0, 0.0, 0.0]);
        assert_near(p.logical_or(&q), &[1.0, 1.0, 1.0, 0.0]);
        assert_near(p.logical_xor(&q), &[0.0, 1.0, 1.0, 0.0]);
        assert_near(where_(&tensor([true, false])?, &a, &b), &[7.0, 2.0]);
        assert_near(a.cast(DType::I32), &[7.0, -3.0]);
        assert!(a.cast(DType::F32)?.shares_memory_with(&a), "it has that dtype");
        Ok(())
    })
}

#[test]
fn products_norms_and_losses() -> Result<()> {
    with_runtime(&cpu(), || {
        let m = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
        assert_near(m.matmul(&m), &[7.0, 10.0, 15.0, 22.0]);
        assert_near(m.matmul_transposed(&m, true, false), &[10.0, 14.0, 14.0, 20.0]);
        assert_near(m.matmul_transposed(&m, false, true), &[5.0, 11.0, 11.0, 25.0]);
        assert_near(m.bias_add(&f(&[10.0, 20.0])?), &[11.0, 22.0, 13.0, 24.0]);
        assert_near(m.layer_norm(&f(&[1.0, 2.0])?, &f(&[0.0, 1.0])?, 0.0), &[-1.0, 3.0, -1.0, 3.0]);
        let (low, high) = (0.268_941_421, 0.731_058_579);
        assert_near(m.softmax(-1), &[low, high, low, high]);
        assert_near(m.log_softmax(1), &[f64::ln(low), f64::ln(high), f64::ln(low), f64::ln(high)]);
        assert_near(m.sparse_softmax_cross_entropy(&tensor([0i32, 1])?), &[-f64::ln(low), -f64::ln(high)]);
        let halves = m.softmax_cross_entropy(&tensor([[0.5f32, 0.5], [0.0, 1.0]])?);
        assert_near(halves, &[-0.5 * (f64::ln(low) + f64::ln(high)), -f64::ln(high)]);
        Ok(())
    })
}

#[test]
fn reductions_with_and_without_their_axes() -> Result<()> {
    with_runtime(&cpu(), || {
        let m = tensor([[1.0f32, 5.0, 3.0], [4.0, 2.0, 6.0]])?;
        assert_near(m.sum(&[]), &[21.0]);
        assert_near(m.sum(&[0]), &[5.0, 7.0, 9.0]);
        assert_near(m.mean(&[-1]), &[3.0, 4.0]);
        assert_near(m.max(&[1]), &[5.0, 6.0]);
        assert_near(m.min(&[0]), &[1.0, 2.0, 3.0]);
        assert_near(m.prod(&[]), &[720.0]);
        assert_near(m.argmax(&[1]), &[1.0, 2.0]);
        assert_near(m.argmin(&[]), &[0.0]);
        let p = m.greater(&tensor(3.5f32)?)?;
        assert_near(p.any(&[0]), &[1.0, 1.0, 1.0]);
        assert_near(p.all(&[1]), &[0.0, 0.0]);
        assert_eq!(m.sum_keep(&[1])?.shape().dims(), [2, 1]);
        assert_eq!(m.argmax_keep(&[])?.shape().dims(), [1, 1]);
        assert_eq!(m.sum(&[1])?.shape().dims(), [2]);
        Ok(())
    })
}

#[test]
fn movement_indices_and_constants() -> Result<()> {
    with_runtime(&cpu(), || {
        let x = tensor([[1, 2, 3], [4, 5, 6]])?;
        assert_near(concat(&[&x, &x.narrow(0, 0, 1)?], 0), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
        let stacked = stack(&[&tensor([1, 2])?, &tensor([3, 4])?], 1)?;
        assert_eq!((stacked.shape().dims(), stacked.to_vec::<i32>()?), (&[2, 2][..], vec![1, 3, 2, 4]));
        let parts = x.split(3, 1)?;
        assert_eq!((parts.len(), parts[2].to_vec::<i32>()?), (3, vec![3, 6]));
        assert_near(x.pad(&[(0, 0), (1, 0)], 9.0), &[9.0, 1.0, 2.0, 3.0, 9.0, 4.0, 5.0, 6.0]);
        assert_near(tensor([1, 2])?.tile(&[2]), &[1.0, 2.0, 1.0, 2.0]);
        assert_near(x.gather(&tensor([1, 0])?, 0), &[4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
        let added = tensor([0, 0, 0])?.scatter_add(&tensor([2, 0, 2])?, &tensor([1, 2, 3])?, 0);
        assert_near(added, &[2.0, 0.0, 4.0]);
        assert_near(tensor([1, 0])?.one_hot(2, DType::F32), &[0.0, 1.0, 1.0, 0.0]);
        assert_near(range(1.0f32, 2.0, 0.25), &[1.0, 1.25, 1.5, 1.75]);
        assert_near(range(5i32, 0, -2), &[5.0, 3.0, 1.0]);
        assert_near(range(0i32, 0, 1), &[]);
        assert_near(arange(3, DType::I64), &[0.0, 1.0, 2.0]);
        assert_near(full(&[2], 7u8), &[7.0, 7.0]);
        assert_near(ones(&[2], DType::F64), &[1.0, 1.0]);
        assert_near(zeros(&[2], DType::Bool), &[0.0, 0.0]);
        assert_near(eye(2, 3, DType::F32), &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(tensor(7i64)?.item::<i64>()?, 7);
        Ok(())
    })
}
