//! Convolutions and their gradients with many images, channels or taps, and with strides, dilations and
//! groups of all kinds.

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

#[test]
fn strides_dilations_and_groups_in_either_format() {
    on_both_paths(|| {
        for case in [
            // Channels and pixels around the sides of blocks and tiles.
            Case { batch: 2, taken: 17, out: 70, image: [13, 11], padding: 1, ..PLAIN },
            Case { batch: 3, taken: 3, out: 130, image: [9, 9], filter: [1, 1], ..PLAIN },
            Case { batch: 2, taken: 33, out: 5, image: [7, 19], filter: [2, 3], ..PLAIN },
            // Taps that some pixels never met, and strides that share a divisor with the dilation.
            Case { batch: 2, taken: 3, out: 6, image: [12, 13], stride: 2, padding: 1, ..PLAIN },
            Case { batch: 2, taken: 4, out: 5, image: [16, 15], stride: 2, dilation: 2, padding: 2, ..PLAIN },
            Case {
                batch: 1,
                taken: 4,
                out: 9,
                image: [17, 16],
                filter: [2, 2],
                stride: 3,
                padding: 1,
                ..PLAIN
            },
            Case {
                batch: 2,
                taken: 2,
                out: 4,
                image: [29, 30],
                filter: [4, 3],
                stride: 4,
                dilation: 6,
                padding: 7,
                ..PLAIN
            },
            Case { batch: 2, taken: 5, out: 8, image: [10, 10], filter: [1, 1], stride: 2, ..PLAIN },
            // More phases than there are dispatches for, and strides longer than images.
            Case { batch: 2, taken: 3, out: 4, image: [30, 28], filter: [9, 9], stride: 9, ..PLAIN },
            Case { batch: 2, taken: 3, out: 4, image: [5, 4], stride: 7, padding: 1, ..PLAIN },
            // Groups, and filters that see one channel.
            Case { batch: 2, taken: 5, out: 36, groups: 4, image: [10, 9], padding: 1, ..PLAIN },
            Case { batch: 2, taken: 8, out: 64, groups: 8, image: [8, 8], stride: 2, padding: 1, ..PLAIN },
            Case { batch: 3, taken: 1, out: 37, groups: 37, image: [12, 11], padding: 1, ..PLAIN },
            // Blocks of places that cover images and nothing else, a few filters for a channel, few channels.
            Case { batch: 2, taken: 1, out: 40, groups: 40, image: [8, 12], padding: 1, ..PLAIN },
            Case {
                batch: 2,
                taken: 1,
                out: 9,
                groups: 3,
                image: [9, 7],
                filter: [5, 2],
                padding: 2,
                ..PLAIN
            },
            Case {
                batch: 2,
                taken: 3,
                out: 8,
                image: [21, 20],
                filter: [7, 7],
                stride: 2,
                padding: 3,
                ..PLAIN
            },
            Case { batch: 2, taken: 6, out: 3, image: [9, 14], dilation: 2, padding: 2, ..PLAIN },
            Case {
                batch: 3,
                taken: 1,
                out: 12,
                groups: 6,
                image: [9, 12],
                stride: 2,
                dilation: 2,
                padding: 2,
                ..PLAIN
            },
        ] {
            let (i, f, r) = (count(&case.images()), count(&case.filters()), count(&case.results()));
            for format in [Format::ChannelsFirst, Format::ChannelsLast] {
                check(&case, format, [&numbers(i, 1), &numbers(f, 2), &numbers(r, 3)], false);
            }
        }
    });
}

#[test]
fn padding_is_zeros_that_are_multiplied_and_what_is_infinite_stays_so() {
    on_both_paths(|| {
        let case = Case { taken: 1, out: 9, image: [4, 5], padding: 1, ..PLAIN };
        let mut filters = vec![1f32; 81];
        filters[0] = f32::INFINITY;
        let (images, filters) =
            (Tensor::new(&[1, 1, 4, 5], &[1f32; 20]), Tensor::new(&[9, 1, 3, 3], &filters));
        let got: Vec<f32> = run(case.conv(Format::ChannelsFirst), &[&images, &filters]).read();
        for (place, x) in got.iter().enumerate() {
            let (channel, y, x_at) = (place / 20, place % 20 / 5, place % 5);
            match channel {
                0 if y == 0 || x_at == 0 => assert!(x.is_nan(), "{place}: {x}"),
                0 => assert!(*x == f32::INFINITY, "{place}: {x}"),
                _ => assert!(x.is_finite(), "{place}: {x}"),
            }
        }
    });
}

#[test]
fn what_lies_beyond_the_last_place_of_a_window_is_no_part_of_a_gradient() {
    on_both_paths(|| {
        // The last pixel meets the last tap at the last place, and nothing else.
        let case = Case { taken: 1, out: 1, image: [6, 7], ..PLAIN };
        let mut images = vec![1f32; 42];
        images[41] = f32::INFINITY;
        let (images, by) = (Tensor::new(&case.images(), &images), Tensor::new(&[1, 1, 4, 5], &[1f32; 20]));
        let op = Conv2dByFilter { conv: case.conv(Format::ChannelsFirst), size: case.filter };
        let got: Vec<f32> = run(op, &[&images, &by]).read();
        assert_eq!(got, [20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, f32::INFINITY]);
    });
}
