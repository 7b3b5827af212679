//! Whether a result is close enough to its reference, and where it is not.

use super::case::{Bound, Expected};
use crate::array::{Array, Numbers, rounded};
use crate::numbers::largest;
use situ_core::DType;

/// `None` where every element is within the bound of the reference, or of the second one if there is one;
/// else what is wrong, with the first element that is.
pub fn mismatch(got: &Array, want: &Expected, or: Option<&Expected>, bound: Bound) -> Option<String> {
    if got.dtype != want.array.dtype || got.dims != want.array.dims {
        return Some(format!(
            "is {}{:?}, expected {}{:?}",
            got.dtype, got.dims, want.array.dtype, want.array.dims
        ));
    }
    let wrong: Vec<usize> = (0..got.len())
        .filter(|&at| !close(got, want, at, bound) && !or.is_some_and(|or| close(got, or, at, bound)))
        .collect();
    let &first = wrong.first()?;
    let (value, expected) = match (&got.numbers, &want.array.numbers) {
        (Numbers::Real(g), Numbers::Real(w)) => {
            (format!("{:e}", g[first]), format!("{:e}", round(got.dtype, w[first])))
        }
        (Numbers::Whole(g), Numbers::Whole(w)) => (g[first].to_string(), w[first].to_string()),
        _ => ("a number of another sort".to_string(), String::new()),
    };
    Some(format!(
        "element {first} is {value}, expected {expected} ({} of {} elements are wrong; {bound:?})",
        wrong.len(),
        got.len()
    ))
}

/// A reference's value as the dtype holds it.
fn round(dtype: DType, value: f64) -> f64 {
    if dtype == DType::F32 { f64::from(value as f32) } else { rounded(dtype, value) }
}

fn close(got: &Array, want: &Expected, at: usize, bound: Bound) -> bool {
    match (&got.numbers, &want.array.numbers) {
        (Numbers::Whole(g), Numbers::Whole(w)) => g[at] == w[at],
        (Numbers::Real(g), Numbers::Real(w)) => {
            let scale = want.scale.as_ref().map_or(0.0, |s| s[at]);
            real_close(got.dtype, g[at], w[at], scale, bound)
        }
        _ => false,
    }
}

pub(super) fn real_close(dtype: DType, got: f64, want: f64, scale: f64, bound: Bound) -> bool {
    let rounded = round(dtype, want);
    if got.is_nan() || rounded.is_nan() {
        return got.is_nan() && rounded.is_nan();
    }
    match bound {
        Bound::Bits => got.to_bits() == rounded.to_bits(),
        Bound::Equal => got == rounded,
        Bound::Near { relative, absolute } => {
            if got == rounded {
                return true;
            }
            // A result next to the end of the range may round to either side of it.
            if got.is_infinite() || rounded.is_infinite() {
                let most = largest(dtype);
                let finite = if got.is_infinite() { rounded } else { got };
                return got.signum() == rounded.signum() && finite.abs() >= most * (1.0 - 4.0 * relative);
            }
            (got - want).abs() <= relative * want.abs().max(scale) + absolute
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f64]) -> Array {
        Array::real(DType::F32, &[values.len()], values.to_vec())
    }

    #[test]
    fn comparisons_can_fail() {
        let near = Bound::Near { relative: 1e-6, absolute: 0.0 };
        let check = |got: f64, want: f64, bound| {
            mismatch(&f32s(&[got]), &f32s(&[want]).into(), None, bound).is_none()
        };
        assert!(
            check(1.0, 1.0, Bound::Bits) && !check(0.0, -0.0, Bound::Bits) && check(0.0, -0.0, Bound::Equal)
        );
        assert!(check(1.0000005, 1.0, near) && !check(1.00001, 1.0, near));
        assert!(
            check(f64::NAN, f64::NAN, near) && !check(f64::NAN, 1.0, near) && !check(1.0, f64::NAN, near)
        );
        assert!(check(f64::INFINITY, f64::INFINITY, near) && !check(f64::INFINITY, -f64::INFINITY, near));
        assert!(!check(1e30, f64::INFINITY, near) && check(f64::from(f32::MAX), f64::INFINITY, near));
        let text = mismatch(&f32s(&[1.0, 2.0]), &f32s(&[1.0, 3.0]).into(), None, near).unwrap();
        assert!(text.contains("element 1 is 2e0, expected 3e0 (1 of 2"), "{text}");
        let other = mismatch(&f32s(&[1.0]), &Array::whole(DType::I32, &[1], vec![1]).into(), None, near);
        assert!(other.unwrap().contains("expected i32[1]"));
    }
}
