//! Numbers beside tensors, and ranges of them: exactly what was said, or an error.

use situ_core::{DType, Result};
use situ_tensor::{Function, Tensor, arange, range, tensor, with_runtime};
use situ_testkit::machines;

#[test]
fn numbers_that_a_dtype_has_are_taken_as_they_are() -> Result<()> {
    with_runtime(&machines::cpu(), || {
        let bytes = tensor([1u8, 255])?;
        assert_eq!((&bytes * 255.0)?.to_vec::<u8>()?, [255, 1], "integers wrap");
        assert_eq!((&tensor([5i32, -5])? / -2.0)?.to_vec::<i32>()?, [-2, 2]);
        assert_eq!((&tensor([1i64])? - 2f64.powi(53))?.to_vec::<i64>()?, [1 - (1 << 53)]);
        assert_eq!((&tensor([0i64])? + i64::MIN as f64)?.to_vec::<i64>()?, [i64::MIN]);
        assert_eq!((&tensor([1.0f32])? * 0.1)?.to_vec::<f32>()?, [0.1], "a float rounds, as a literal does");
        assert_eq!((&tensor([1.0f32])? * f64::INFINITY)?.to_vec::<f32>()?, [f32::INFINITY]);
        assert!((&tensor([1.0f32])? + f64::NAN)?.to_vec::<f32>()?[0].is_nan());
        assert_eq!((&tensor([1.0f64])? * 1e300)?.to_vec::<f64>()?, [1e300]);
        assert_eq!(tensor([true])?.pad(&[(1, 0)], 1.0)?.to_vec::<bool>()?, [true, true]);
        // Bounds are no elements: the integers between them count.
        assert_eq!(tensor([0u8, 9, 200])?.clip(0.5, 1e9)?.to_vec::<u8>()?, [1, 9, 200]);
        assert_eq!(tensor([-7i32, 7])?.clip(-1.5, f64::INFINITY)?.to_vec::<i32>()?, [-1, 7]);
        Ok(())
    })
}

#[test]
fn magnitudes_of_negated_integers_are_the_same_in_functions() -> Result<()> {
    fn check(x: &Tensor) -> Result<()> {
        let eager = x.neg()?.abs()?.to_bytes()?;
        let f = Function::new(|x| x.neg()?.abs());
        assert_eq!(f.call(x)?.to_bytes()?, eager, "{}", x.dtype());
        Ok(())
    }
    with_runtime(&machines::cpu(), || {
        check(&tensor((0..=255).collect::<Vec<u8>>())?)?;
        check(&tensor([i32::MIN, -1, 0, 1, i32::MAX])?)?;
        check(&tensor([i64::MIN, -1, 0, 1, i64::MAX])?)?;
        check(&tensor([-0.0f32, 0.0, f32::NAN, f32::NEG_INFINITY, 2.0])?)
    })
}

#[test]
fn ranges_end_before_their_end() -> Result<()> {
    with_runtime(&machines::cpu(), || {
        assert_eq!(range(0.0f32, 0.3, 0.1)?.to_vec::<f32>()?, [0.0, 0.1, 0.2]);
        assert_eq!(range(0.0f64, 0.3, 0.1)?.to_vec::<f64>()?, [0.0, 0.1, 0.2]);
        assert_eq!(range(1.0f64, 1.3, 0.1)?.to_vec::<f64>()?, [1.0, 1.1, 1.2]);
        assert_eq!(range(1.0f32, -1.0, -0.5)?.to_vec::<f32>()?, [1.0, 0.5, 0.0, -0.5]);
        assert_eq!(range(0.0f32, 1.0, 0.1)?.elements(), 10);
        assert_eq!(range(2.0f32, 2.0, 1.0)?.elements(), 0);
        assert_eq!(range(2.0f32, 1.0, 1.0)?.elements(), 0);
        assert_eq!(range(5u8, 2, 1)?.elements(), 0);
        assert_eq!(range(250u8, 255, 2)?.to_vec::<u8>()?, [250, 252, 254]);
        assert_eq!(range(7, -2, -4)?.to_vec::<i32>()?, [7, 3, -1]);
        let far = (1i64 << 53) - 1;
        assert_eq!(range(far, far + 3, 1)?.to_vec::<i64>()?, [far, far + 1, far + 2]);
        assert_eq!(range(far + 2, far + 2, 1)?.elements(), 0);
        let most = i64::MAX;
        assert_eq!(range(most - 2, most, 1)?.to_vec::<i64>()?, [most - 2, most - 1]);
        assert_eq!(range(i64::MIN, most, most)?.to_vec::<i64>()?, [i64::MIN, -1, most - 1]);
        assert_eq!(arange(256, DType::U8)?.to_vec::<u8>()?.last(), Some(&255));
        assert_eq!(arange(0, DType::U8)?.elements(), 0);
        // Steps that vanish beside where they begin: every element is before the end, and the count is found
        // without counting.
        let long = range(1e8f32, 1e8 + 80.0, 1.0)?.to_vec::<f32>()?;
        assert!(long.iter().all(|&v| v < 1e8 + 80.0) && long.len() > 70, "{}", long.len());
        Ok(())
    })
}

#[test]
fn floats_of_every_range_are_before_its_end_and_the_next_is_not() -> Result<()> {
    with_runtime(&machines::cpu(), || {
        for tenths in 1..200 {
            let stop = tenths as f32 / 10.0;
            let all = range(0.0f32, stop, 0.1)?.to_vec::<f32>()?;
            assert!(all.iter().all(|v| *v < stop), "0 to {stop}");
            assert_eq!(all.len(), tenths, "0 to {stop}");
        }
        Ok(())
    })
}
