//! Plain numbers to test with, and naive references that share no code with the kernels.

use situ_core::Element;
use situ_tensor::{Tensor, constant};

/// Numbers between −1 and 1, the same for the same seed.
pub(crate) fn some(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// [`some`] as a tensor.
pub(crate) fn tensor_of(dims: &[usize], seed: u64) -> Tensor {
    constant(&some(dims.iter().product(), seed), dims).unwrap()
}

/// The elements, whichever float they are.
pub(crate) fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.cast(f64::DTYPE).unwrap().to_vec::<f64>().unwrap()
}

/// Panics where the two differ by more than the tolerance, relative to numbers above 1.
pub(crate) fn assert_close(got: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}: as many numbers");
    for (at, (a, b)) in got.iter().zip(wanted).enumerate() {
        let far = (a - b).abs() / b.abs().max(1.0);
        assert!(far <= tolerance, "{what}: number {at} is {a}, and should be {b}");
    }
}

/// How a window slides, in the words of the reference.
#[derive(Clone, Copy)]
pub(crate) struct Slide {
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
    /// Before and after, on both axes.
    pub(crate) padding: [usize; 2],
    pub(crate) groups: usize,
}

/// A convolution by its definition: x is `[batch][channel][row][column]`, the filter
/// `[out][in][row][column]`.
pub(crate) fn convolved(
    x: &[f64],
    [n, c, h, w]: [usize; 4],
    k: &[f64],
    [o, i, kh, kw]: [usize; 4],
    slide: Slide,
) -> (Vec<f64>, [usize; 4]) {
    let Slide { stride, dilation, padding, groups } = slide;
    let places = |size: usize, kernel: usize| {
        (size + padding[0] + padding[1] - (dilation * (kernel - 1) + 1)) / stride + 1
    };
    let (rows, columns) = (places(h, kh), places(w, kw));
    let mut y = Vec::new();
    for image in 0..n {
        for out in 0..o {
            let group = out / (o / groups);
            for row in 0..rows {
                for column in 0..columns {
                    let mut sum = 0.0;
                    for channel in 0..i {
                        for down in 0..kh {
                            for across in 0..kw {
                                let at = (row * stride + down * dilation).checked_sub(padding[0]);
                                let beside = (column * stride + across * dilation).checked_sub(padding[0]);
                                let (Some(at), Some(beside)) = (at, beside) else { continue };
                                if at < h && beside < w {
                                    let from = ((image * c + group * i + channel) * h + at) * w + beside;
                                    sum += x[from] * k[((out * i + channel) * kh + down) * kw + across];
                                }
                            }
                        }
                    }
                    y.push(sum);
                }
            }
        }
    }
    (y, [n, o, rows, columns])
}
