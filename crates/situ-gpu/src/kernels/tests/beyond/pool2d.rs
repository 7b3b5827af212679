//! Pooling over windows as large as images.

use super::super::harness::*;
use situ_ir::ops::pool2d::{Pool2d, Pool2dByInput, PoolKind};
use situ_ir::ops::window::{Format, Window};

struct Case {
    image: [usize; 2],
    size: [usize; 2],
    stride: usize,
    padding: usize,
    dilation: usize,
}

/// Results and the gradient by the image, in double precision; one channel after the other.
fn reference(case: &Case, mean: bool, data: &[f32], by: &[f32], places: [usize; 2]) -> [Vec<f64>; 2] {
    let ([h, w], [down, across]) = (case.image, places);
    let (mut result, mut back) = (Vec::new(), vec![0f64; data.len()]);
    for (plane, image) in data.chunks(h * w).enumerate() {
        for (y, x) in (0..down).flat_map(|y| (0..across).map(move |x| (y, x))) {
            let part = f64::from(by[result.len()]);
            let axis = |start: usize, taps: usize, size: usize| {
                (0..taps)
                    .map(move |k| (start * case.stride + k * case.dilation).wrapping_sub(case.padding))
                    .filter(move |at| *at < size)
                    .collect::<Vec<_>>()
            };
            let (rows, columns) = (axis(y, case.size[0], h), axis(x, case.size[1], w));
            let at: Vec<usize> = rows.iter().flat_map(|r| columns.iter().map(move |c| r * w + c)).collect();
            if mean {
                let count = at.len() as f64;
                result.push(at.iter().map(|i| f64::from(image[*i])).sum::<f64>() / count);
                at.iter().for_each(|i| back[plane * h * w + i] += part / count);
            } else {
                let first = at[0];
                let best = at.iter().fold(first, |best, i| if image[*i] > image[best] { *i } else { best });
                result.push(f64::from(image[best]));
                back[plane * h * w + best] += part;
            }
        }
    }
    [result, back]
}

#[test]
fn large_windows_and_their_gradients() {
    on_both_paths(|| {
        for (case, channels) in [
            (Case { image: [500, 500], size: [500, 500], stride: 500, padding: 0, dilation: 1 }, 1),
            (Case { image: [260, 270], size: [250, 257], stride: 3, padding: 0, dilation: 1 }, 1),
            (Case { image: [90, 61], size: [30, 31], stride: 7, padding: 9, dilation: 2 }, 3),
            (Case { image: [1, 100_000], size: [1, 70_000], stride: 10_000, padding: 0, dilation: 1 }, 1),
            (Case { image: [24, 24], size: [9, 9], stride: 1, padding: 4, dilation: 1 }, 2),
        ] {
            let places = [0, 1].map(|a| {
                (case.image[a] + 2 * case.padding * usize::from(case.image[a] > 1)
                    - case.dilation * (case.size[a] - 1)
                    - 1)
                    / case.stride
                    + 1
            });
            let padding = [0, 1].map(|a| [case.padding * usize::from(case.image[a] > 1); 2]);
            let dims = [1, channels, case.image[0], case.image[1]];
            let out = [1, channels, places[0], places[1]];
            let (elements, results): (usize, usize) = (dims.iter().product(), out.iter().product());
            let by = numbers(results, 3);
            for (kind, data) in [
                (PoolKind::Average, vec![1f32; elements]),
                (PoolKind::Average, numbers(elements, 1)),
                (PoolKind::Max, numbers(elements, 2)),
                (PoolKind::Max, vec![1f32; elements]),
            ] {
                let window = Window {
                    stride: [case.stride; 2],
                    dilation: [case.dilation; 2],
                    padding,
                    format: Format::ChannelsFirst,
                };
                let pool = Pool2d { kind, size: case.size, window };
                let t = Tensor::new(&dims, &data);
                let [want, back] = reference(&case, kind == PoolKind::Average, &data, &by, places);
                assert_close(&run(pool, &[&t]).read(), &want, 2e-6, 1e-5);
                let got = run(Pool2dByInput { pool }, &[&t, &Tensor::new(&out, &by)]);
                assert_close(&got.read(), &back, 1e-5, 1e-5);
            }
        }
    });
}
