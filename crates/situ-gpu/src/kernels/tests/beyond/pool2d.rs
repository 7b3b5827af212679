//! Pooling over windows as large as images, and over small ones in all their forms.

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

/// A tensor that has channels first, or the same with channels last.
fn laid(dims: &[usize; 4], data: &[f32], format: Format) -> Tensor {
    let t = Tensor::new(dims, data);
    match format {
        Format::ChannelsFirst => t,
        Format::ChannelsLast => {
            let [n, c, h, w] = *dims;
            Tensor::new(&[n, h, w, c], &t.permute(&[0, 2, 3, 1]).read::<f32>())
        }
    }
}

fn check(case: &Case, [batch, channels]: [usize; 2], format: Format) {
    let padding = [0, 1].map(|a| [case.padding * usize::from(case.image[a] > 1); 2]);
    let places = [0, 1].map(|a| {
        (case.image[a] + 2 * padding[a][0] - case.dilation * (case.size[a] - 1) - 1) / case.stride + 1
    });
    let dims = [batch, channels, case.image[0], case.image[1]];
    let out = [batch, channels, places[0], places[1]];
    let (elements, results): (usize, usize) = (dims.iter().product(), out.iter().product());
    let by = numbers(results, 3);
    let back_again: &[usize] = if format == Format::ChannelsFirst { &[0, 1, 2, 3] } else { &[0, 3, 1, 2] };
    for (kind, data) in [
        (PoolKind::Average, vec![1f32; elements]),
        (PoolKind::Average, numbers(elements, 1)),
        (PoolKind::Max, numbers(elements, 2)),
        (PoolKind::Max, vec![1f32; elements]),
    ] {
        let window = Window { stride: [case.stride; 2], dilation: [case.dilation; 2], padding, format };
        let pool = Pool2d { kind, size: case.size, window };
        let t = laid(&dims, &data, format);
        let [want, back] = reference(case, kind == PoolKind::Average, &data, &by, places);
        assert_close(&run(pool, &[&t]).permute(back_again).read(), &want, 2e-6, 1e-5);
        let got = run(Pool2dByInput { pool }, &[&t, &laid(&out, &by, format)]);
        assert_close(&got.permute(back_again).read(), &back, 1e-5, 1e-5);
    }
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
            check(&case, [1, channels], Format::ChannelsFirst);
        }
    });
}

#[test]
fn small_windows_apart_and_overlapping_padded_and_dilated_in_either_format() {
    on_both_paths(|| {
        for case in [
            // Apart, with and without lines that no window reaches.
            Case { image: [26, 26], size: [2, 2], stride: 2, padding: 0, dilation: 1 },
            Case { image: [11, 7], size: [2, 2], stride: 2, padding: 0, dilation: 1 },
            Case { image: [12, 17], size: [1, 2], stride: 3, padding: 0, dilation: 1 },
            Case { image: [13, 16], size: [2, 2], stride: 4, padding: 1, dilation: 2 },
            Case { image: [9, 10], size: [3, 3], stride: 3, padding: 1, dilation: 1 },
            // Overlapping, or strides too long to be written out.
            Case { image: [14, 15], size: [3, 3], stride: 2, padding: 1, dilation: 1 },
            Case { image: [8, 9], size: [3, 2], stride: 1, padding: 0, dilation: 2 },
            Case { image: [40, 31], size: [2, 3], stride: 9, padding: 0, dilation: 1 },
        ] {
            for format in [Format::ChannelsFirst, Format::ChannelsLast] {
                check(&case, [3, 5], format);
            }
        }
    });
}

#[test]
fn the_first_nan_of_a_window_is_its_largest_and_infinities_count() {
    on_both_paths(|| {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let data = [1.0, nan, -inf, -inf, nan, 2.0, -inf, -inf, inf, 3.0, -0.0, 0.0, inf, 4.0, -1.0, -0.0];
        let window = Window { stride: [2; 2], ..Window::default() };
        let pool = Pool2d { kind: PoolKind::Max, size: [2, 2], window };
        let t = Tensor::new(&[1, 1, 4, 4], &data);
        let got: Vec<f32> = run(pool, &[&t]).read();
        assert!(got[0].is_nan() && got[1] == -inf && got[2] == inf && got[3] == 0.0, "{got:?}");
        let by = Tensor::new(&[1, 1, 2, 2], &[1f32, 2.0, 3.0, 4.0]);
        let got: Vec<f32> = run(Pool2dByInput { pool }, &[&t, &by]).read();
        let want = [0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(got, want);
    });
}
