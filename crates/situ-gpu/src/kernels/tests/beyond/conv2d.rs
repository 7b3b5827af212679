//! Convolutions and their gradients with many images, channels or taps.

use super::super::harness::*;
use situ_ir::ops::conv2d::{Conv2d, Conv2dByFilter, Conv2dByInput};
use situ_ir::ops::window::{Format, Window};

/// Sizes of one convolution; images, filters and results have channels first.
#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    taken: usize,
    out: usize,
    groups: usize,
    image: [usize; 2],
    filter: [usize; 2],
    stride: usize,
    dilation: usize,
    padding: usize,
}

const PLAIN: Case = Case {
    batch: 1,
    taken: 1,
    out: 1,
    groups: 1,
    image: [4, 4],
    filter: [3, 3],
    stride: 1,
    dilation: 1,
    padding: 0,
};

impl Case {
    fn conv(&self, format: Format) -> Conv2d {
        let window = Window {
            stride: [self.stride; 2],
            dilation: [self.dilation; 2],
            padding: [[self.padding; 2]; 2],
            format,
        };
        Conv2d { window, groups: self.groups }
    }

    fn places(&self, axis: usize) -> usize {
        (self.image[axis] + 2 * self.padding - self.dilation * (self.filter[axis] - 1) - 1) / self.stride + 1
    }

    fn images(&self) -> [usize; 4] {
        [self.batch, self.taken * self.groups, self.image[0], self.image[1]]
    }

    fn filters(&self) -> [usize; 4] {
        [self.out, self.taken, self.filter[0], self.filter[1]]
    }

    fn results(&self) -> [usize; 4] {
        [self.batch, self.out, self.places(0), self.places(1)]
    }

    /// Calls `visit` with the elements of images, filters and results that meet.
    fn visit(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let ([n, c, h, w], [o, t, kh, kw], [_, _, oh, ow]) = (self.images(), self.filters(), self.results());
        for (n, o) in (0..n).flat_map(|n| (0..o).map(move |o| (n, o))) {
            let group = o / (self.out / self.groups);
            for (y, x) in (0..oh).flat_map(|y| (0..ow).map(move |x| (y, x))) {
                for (i, j) in (0..kh).flat_map(|i| (0..kw).map(move |j| (i, j))) {
                    let row = (y * self.stride + i * self.dilation).wrapping_sub(self.padding);
                    let column = (x * self.stride + j * self.dilation).wrapping_sub(self.padding);
                    if row >= h || column >= w {
                        continue;
                    }
                    for k in 0..t {
                        let image = ((n * c + group * t + k) * h + row) * w + column;
                        let filter = ((o * t + k) * kh + i) * kw + j;
                        visit(image, filter, ((n * self.out + o) * oh + y) * ow + x);
                    }
                }
            }
        }
    }
}

fn count(dims: &[usize; 4]) -> usize {
    dims.iter().product()
}

/// A tensor that has channels first, or the same with channels last.
fn laid(dims: &[usize; 4], data: &[f32], format: Format, filter: bool) -> Tensor {
    let t = Tensor::new(dims, data);
    match format {
        Format::ChannelsFirst => t,
        Format::ChannelsLast => {
            let turned = t.permute(if filter { &[2, 3, 1, 0] } else { &[0, 2, 3, 1] });
            let shape: Vec<usize> = turned.layout.shape().to_vec();
            Tensor::new(&shape, &turned.read::<f32>())
        }
    }
}

fn check(case: &Case, format: Format, data: [&[f32]; 3], exact: bool) {
    let [images, filters, results] = data;
    let mut want = [vec![0f64; images.len()], vec![0f64; filters.len()], vec![0f64; results.len()]];
    case.visit(|i, f, r| {
        want[0][i] += f64::from(filters[f]) * f64::from(results[r]);
        want[1][f] += f64::from(images[i]) * f64::from(results[r]);
        want[2][r] += f64::from(images[i]) * f64::from(filters[f]);
    });
    let conv = case.conv(format);
    let ti = laid(&case.images(), images, format, false);
    let tf = laid(&case.filters(), filters, format, true);
    let tr = laid(&case.results(), results, format, false);
    let got = [
        run(Conv2dByInput { conv, size: case.image }, &[&tr, &tf]),
        run(Conv2dByFilter { conv, size: case.filter }, &[&ti, &tr]),
        run(conv, &[&ti, &tf]),
    ];
    for (which, (got, want)) in got.iter().zip(&want).enumerate() {
        let back: &[usize] = match (format, which) {
            (Format::ChannelsFirst, _) => &[0, 1, 2, 3],
            (Format::ChannelsLast, 1) => &[3, 2, 0, 1],
            (Format::ChannelsLast, _) => &[0, 3, 1, 2],
        };
        let got: Vec<f32> = got.permute(back).read();
        let tolerance = if exact { 0.0 } else { 2e-5 * want.iter().fold(1.0, |m: f64, x| m.max(x.abs())) };
        println!("{case:?}, {which}");
        assert_close(&got, want, 0.0, tolerance);
    }
}

#[test]
fn many_images_channels_and_taps_are_all_counted() {
    on_both_paths(|| {
        for case in [
            // The gradient by the filter has few elements, and sums over many pixels.
            Case { batch: 128, out: 2, image: [28, 28], ..PLAIN },
            Case { batch: 256, taken: 3, out: 2, image: [17, 19], padding: 1, stride: 2, ..PLAIN },
            // Many channels one way and the other.
            Case { taken: 1_200, out: 2, image: [5, 5], padding: 1, ..PLAIN },
            Case { taken: 2, out: 1_200, image: [5, 5], dilation: 2, padding: 2, ..PLAIN },
            Case { batch: 2, taken: 900, out: 4, groups: 2, image: [4, 6], filter: [2, 5], ..PLAIN },
            // A filter of many taps, and images that are one long line.
            Case { taken: 1, image: [84, 101], filter: [83, 100], ..PLAIN },
            Case { taken: 1, out: 1, image: [1, 13_000], filter: [1, 12_000], ..PLAIN },
            Case { batch: 2, taken: 1, out: 2, image: [3, 20_000], filter: [1, 2], ..PLAIN },
        ] {
            let (i, f, r) = (count(&case.images()), count(&case.filters()), count(&case.results()));
            if case.image[1] != 13_000 {
                check(&case, Format::ChannelsFirst, [&vec![1.0; i], &vec![1.0; f], &vec![1.0; r]], true);
            } else {
                // Most pairs would meet: ones at the ends tell as much.
                let ends = |n: usize| {
                    (0..n).map(|k| if k == 0 || k + 1 == n { 1.0 } else { 0.0 }).collect::<Vec<f32>>()
                };
                let [image, filter] = [ends(i), ends(f)];
                let conv = case.conv(Format::ChannelsFirst);
                let got = run(
                    conv,
                    &[&Tensor::new(&case.images(), &image), &Tensor::new(&case.filters(), &filter)],
                );
                let mut want = vec![0.0; r];
                (want[0], want[r - 1]) = (1.0, 1.0);
                assert_close(&got.read(), &want, 0.0, 0.0);
                let ones = Tensor::new(&case.images(), &vec![1f32; i]);
                let got = run(conv, &[&ones, &Tensor::new(&case.filters(), &vec![1f32; f])]);
                assert_close(&got.read(), &vec![12_000.0; r], 0.0, 0.0);
                continue;
            }
            let format = if case.batch % 2 == 0 { Format::ChannelsLast } else { Format::ChannelsFirst };
            check(&case, format, [&numbers(i, 1), &numbers(f, 2), &numbers(r, 3)], false);
        }
    });
}
