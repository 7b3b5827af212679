//! Convolutions and their gradients on every level, against sums over every product, zeros around included.

use super::{Held, device, launch, shape};
use crate::level::Level;
use situ_core::{DType, Layout};
use situ_device::Device;
use situ_ir::Op;
use situ_ir::ops::window::{Format, Window};
use situ_ir::ops::{Conv2d, Conv2dByFilter, Conv2dByInput};

/// Numbers that look random.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }
    fn list(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| f64::from((self.next() % 4001) as f32 / 1000.0 - 2.0)).collect()
    }
}

#[derive(Clone, Copy, Debug)]
struct Shapes {
    conv: Conv2d,
    /// Batch, channels, height, width; filters, channels they take, height, width.
    x: [usize; 4],
    f: [usize; 4],
    y: [usize; 4],
}

impl Shapes {
    fn new(
        [n, c, h, w]: [usize; 4],
        [filters, fh, fw]: [usize; 3],
        stride: [usize; 2],
        dilation: [usize; 2],
        padding: [[usize; 2]; 2],
        groups: usize,
        format: Format,
    ) -> Option<Shapes> {
        let places = |axis: usize, size: usize, window: usize| {
            let whole = size + padding[axis][0] + padding[axis][1];
            Some(whole.checked_sub(dilation[axis] * (window - 1) + 1)? / stride[axis] + 1)
        };
        let y = [n, filters, places(0, h, fh)?, places(1, w, fw)?];
        let conv = Conv2d { window: Window { stride, dilation, padding, format }, groups };
        Some(Shapes { conv, x: [n, c, h, w], f: [filters, c / groups, fh, fw], y })
    }

    fn is_last(&self) -> bool {
        self.conv.window.format == Format::ChannelsLast
    }

    fn image(&self, [n, c, h, w]: [usize; 4]) -> [usize; 4] {
        if self.is_last() { [n, h, w, c] } else { [n, c, h, w] }
    }

    fn filter(&self) -> [usize; 4] {
        let [o, i, h, w] = self.f;
        if self.is_last() { [h, w, i, o] } else { [o, i, h, w] }
    }

    fn at_image(&self, [_, c, h, w]: [usize; 4], [n, i, y, x]: [usize; 4]) -> usize {
        if self.is_last() { ((n * h + y) * w + x) * c + i } else { ((n * c + i) * h + y) * w + x }
    }

    fn at_filter(&self, [o, i, y, x]: [usize; 4]) -> usize {
        let [fo, fi, fh, fw] = self.f;
        if self.is_last() { ((y * fw + x) * fi + i) * fo + o } else { ((o * fi + i) * fh + y) * fw + x }
    }

    /// The results of all three, each with the sum of its products' sizes.
    fn expected(&self, x: &[f64], f: &[f64], g: &[f64]) -> [Vec<(f64, f64)>; 3] {
        let count = |dims: [usize; 4]| vec![(0.0, 0.0); dims.iter().product()];
        let mut all = [count(self.y), count(self.x), count(self.f)];
        let Window { stride, dilation, padding, .. } = self.conv.window;
        let own = self.f[0] / self.conv.groups;
        let [batch, channels, height, width] = self.x;
        let mut add = |which: usize, at: usize, product: f64| {
            all[which][at].0 += product;
            all[which][at].1 += product.abs();
        };
        for n in 0..batch {
            for o in 0..self.f[0] {
                for i in 0..self.f[1] {
                    let channel = o / own * self.f[1] + i;
                    for (fy, fx) in (0..self.f[2]).flat_map(|y| (0..self.f[3]).map(move |x| (y, x))) {
                        let filter = self.at_filter([o, i, fy, fx]);
                        for (oy, ox) in (0..self.y[2]).flat_map(|y| (0..self.y[3]).map(move |x| (y, x))) {
                            let out = self.at_image(self.y, [n, o, oy, ox]);
                            let py = (oy * stride[0] + fy * dilation[0]).wrapping_sub(padding[0][0]);
                            let px = (ox * stride[1] + fx * dilation[1]).wrapping_sub(padding[1][0]);
                            let inside = py < height && px < width;
                            let pixel = inside.then(|| x[self.at_image(self.x, [n, channel, py, px])]);
                            add(0, out, pixel.unwrap_or(0.0) * f[filter]);
                            add(2, filter, pixel.unwrap_or(0.0) * g[out]);
                        }
                        // Each pixel looks back: at no window where the stride passes over it, else at one or
                        // at zeros around.
                        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                            let back = |axis: usize, at: usize, k: usize| {
                                let from = (at + padding[axis][0]) as isize - (k * dilation[axis]) as isize;
                                let stride = stride[axis] as isize;
                                (from % stride == 0).then_some(from / stride)
                            };
                            let (Some(oy), Some(ox)) = (back(0, y, fy), back(1, x, fx)) else { continue };
                            let inside = (0..self.y[2] as isize).contains(&oy)
                                && (0..self.y[3] as isize).contains(&ox);
                            let at = |oy, ox| self.at_image(self.y, [n, o, oy, ox]);
                            let upstream = if inside { g[at(oy as usize, ox as usize)] } else { 0.0 };
                            add(1, self.at_image(self.x, [n, channel, y, x]), upstream * f[filter]);
                        }
                    }
                }
            }
        }
        assert_eq!(channels, self.f[1] * self.conv.groups);
        all
    }

    fn ops(&self) -> [Op; 3] {
        let conv = self.conv;
        let (size, window) = ([self.x[2], self.x[3]], [self.f[2], self.f[3]]);
        [conv.into(), Conv2dByInput { conv, size }.into(), Conv2dByFilter { conv, size: window }.into()]
    }

    fn dims(&self) -> [[usize; 4]; 3] {
        [self.image(self.x), self.filter(), self.image(self.y)]
    }
}

trait Number: Copy + Default + Into<f64> + PartialEq {
    const DTYPE: DType;
    const UNIT: f64;
    fn of(x: f64) -> Self;
    fn bits(self) -> u64;
}

impl Number for f32 {
    const DTYPE: DType = DType::F32;
    const UNIT: f64 = f32::EPSILON as f64;
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Number for f64 {
    const DTYPE: DType = DType::F64;
    const UNIT: f64 = f64::EPSILON;
    fn of(x: f64) -> f64 {
        x
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

fn run<T: Number>(device: &dyn Device, shapes: &Shapes, values: [&[f64]; 3]) -> [Vec<T>; 3] {
    let dims = shapes.dims();
    let [x, f, g] = [0, 1, 2].map(|n| {
        let list: Vec<T> = values[n].iter().map(|x| T::of(*x)).collect();
        Held::new(device, T::DTYPE, Layout::dense(shape(&dims[n])), &list)
    });
    let [forward, by_input, by_filter] = shapes.ops();
    [(forward, [&x, &f]), (by_input, [&g, &f]), (by_filter, [&x, &g])]
        .map(|(op, inputs)| launch::<T>(device, &op, &inputs).unwrap().unwrap())
}

/// Every level is right, and gives the same bits whatever the number of threads.
fn check<T: Number>(shapes: &Shapes, values: [&[f64]; 3]) {
    let expected = shapes.expected(values[0], values[1], values[2]);
    for level in Level::available() {
        let [one, three] = [1, 3].map(|threads| run::<T>(&*device(level, threads), shapes, values));
        for (n, name) in ["forward", "by input", "by filter"].iter().enumerate() {
            assert!(
                one[n].iter().zip(&three[n]).all(|(a, b)| a.bits() == b.bits()),
                "{level}: {name} of {shapes:?} depends on threads"
            );
            for (at, (got, (want, scale))) in one[n].iter().zip(&expected[n]).enumerate() {
                let got: f64 = (*got).into();
                let near = (got - want).abs() <= 64.0 * T::UNIT * scale.max(1e-30);
                let same = got == *want || got.is_nan() && want.is_nan() || want.is_finite() && near;
                assert!(same, "{level}: {name} of {shapes:?} at {at}: {got} instead of {want}");
            }
        }
    }
}

fn values(shapes: &Shapes, noise: &mut Noise) -> [Vec<f64>; 3] {
    [shapes.x, shapes.f, shapes.y].map(|dims| noise.list(dims.iter().product()))
}

const FORMATS: [Format; 2] = [Format::ChannelsFirst, Format::ChannelsLast];

#[test]
fn random_convolutions_are_right_on_every_level_with_any_number_of_threads() {
    let noise = &mut Noise(7);
    let mut done = 0;
    while done < 120 {
        let groups = [1, 1, 1, 2, 3][noise.below(5)];
        let x = [noise.below(3), groups * noise.below(5), 1 + noise.below(12), 1 + noise.below(24)];
        let f = [groups * [1, 2, 3, 9, 17, 33][noise.below(6)], 1 + noise.below(4), 1 + noise.below(4)];
        let mut pair = |n: usize| [1 + noise.below(n), 1 + noise.below(n)];
        let (stride, dilation) = (pair(3), pair(3));
        let padding = [0, 1].map(|_| [noise.below(4), noise.below(4)]);
        let format = FORMATS[noise.below(2)];
        let Some(shapes) = Shapes::new(x, f, stride, dilation, padding, groups, format) else { continue };
        let list = values(&shapes, noise);
        let list = [&list[0][..], &list[1], &list[2]];
        if done % 4 == 0 {
            check::<f64>(&shapes, list)
        } else {
            check::<f32>(&shapes, list)
        }
        done += 1;
    }
}

#[test]
fn convolutions_of_more_than_one_block_are_right() {
    let noise = &mut Noise(11);
    let same = |n: usize| [[n; 2]; 2];
    for (x, f, stride, dilation, padding, groups) in [
        ([2, 70, 9, 30], [40, 3, 3], [1; 2], [1; 2], same(1), 1),
        ([1, 150, 6, 7], [20, 3, 3], [2; 2], [1; 2], same(1), 1),
        ([2, 3, 40, 37], [35, 7, 7], [2; 2], [1; 2], same(3), 1),
        ([1, 2, 33, 35], [3, 31, 29], [1; 2], [1; 2], same(2), 1),
        ([3, 12, 20, 70], [12, 3, 3], [1; 2], [1; 2], same(1), 12),
        ([2, 12, 21, 40], [24, 3, 3], [2; 2], [1; 2], same(1), 12),
        ([1, 64, 12, 12], [70, 1, 1], [1; 2], [1; 2], same(0), 1),
        ([1, 30, 12, 13], [40, 1, 1], [2; 2], [1; 2], same(0), 1),
        ([1, 4, 20, 600], [5, 3, 5], [1, 3], [1, 4], same(2), 1),
        ([1, 3, 90, 80], [2, 3, 3], [1; 2], [30, 25], same(20), 1),
        ([9, 20, 5, 4], [18, 3, 3], [1; 2], [1; 2], same(1), 2),
        ([1, 1, 3, 3], [1, 2, 2], [5; 2], [1; 2], same(0), 1),
        ([2, 64, 8, 9], [33, 3, 3], [1; 2], [1; 2], same(2), 1),
        ([1, 66, 10, 20], [18, 3, 3], [1; 2], [3; 2], [[3, 0], [0, 3]], 1),
        ([1, 70, 3, 17], [32, 5, 5], [2, 3], [1; 2], same(4), 1),
        ([2, 40, 6, 19], [40, 5, 3], [1; 2], [1; 2], same(2), 40),
    ] {
        for format in FORMATS {
            let shapes = Shapes::new(x, f, stride, dilation, padding, groups, format).unwrap();
            let list = values(&shapes, noise);
            let list = [&list[0][..], &list[1], &list[2]];
            check::<f32>(&shapes, list);
            check::<f64>(&shapes, list);
        }
    }
}

#[test]
fn nothing_is_skipped_because_it_is_zero() {
    let noise = &mut Noise(13);
    for (groups, filters, channels) in [(1, 5, 4), (1, 20, 4), (4, 4, 4), (2, 34, 4), (1, 70, 66)] {
        for (stride, format) in [(1, FORMATS[0]), (2, FORMATS[0]), (1, FORMATS[1]), (3, FORMATS[1])] {
            let x = [2, channels, 7, 9];
            let shapes =
                Shapes::new(x, [filters, 3, 2], [stride; 2], [1, 2], [[2, 1], [1, 3]], groups, format);
            let shapes = shapes.unwrap();
            for special in [f64::INFINITY, f64::NAN] {
                for which in 0..3 {
                    let mut list = values(&shapes, noise);
                    let at = noise.below(list[which].len());
                    list[which][at] = special;
                    let zero = noise.below(list[which].len());
                    if zero != at {
                        list[which][zero] = 0.0;
                    }
                    check::<f32>(&shapes, [&list[0], &list[1], &list[2]]);
                }
            }
        }
    }
}
