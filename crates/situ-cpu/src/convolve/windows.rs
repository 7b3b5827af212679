//! Where windows lie on images: along an axis, on both, and for the gradient by the images, where a stride
//! leaves pixels of several kinds.

use std::ops::Range;

/// How windows lie along one axis: the element `k` of the window at place `i` is read at
/// `i · step + offset + k · dilation`; outside of the image it is zero.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// How many places the window takes.
    pub places: usize,
    /// The window's elements.
    pub window: usize,
    /// From one place to the next.
    pub step: isize,
    /// Where the first element of the first window is.
    pub offset: isize,
    /// From one element of the window to the next.
    pub dilation: isize,
}

impl Axis {
    /// The first and the last position that these elements of the windows at these places have, if there are
    /// any.
    pub(super) fn bounds(&self, places: &Range<usize>, elements: &Range<usize>) -> Option<[isize; 2]> {
        let elements = elements.start..elements.end.min(self.window);
        let places = places.start..places.end.min(self.places);
        if places.is_empty() || elements.is_empty() {
            return None;
        }
        let ends = [elements.start, elements.end - 1].map(|k| k as isize * self.dilation);
        let [first, last] = [places.start, places.end - 1].map(|i| i as isize * self.step + self.offset);
        Some([first + ends[0].min(ends[1]), last + ends[0].max(ends[1])])
    }
}

/// Windows of one kind, with the elements of the filter under them and where results go.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Down and across.
    pub axes: [Axis; 2],
    /// Where the first element of the window is in a filter, and from one to the next, down and across.
    pub filter: (usize, [usize; 2]),
    /// Where the first place is in the result, and from one to the next, down and across.
    pub target: (usize, [usize; 2]),
}

impl Windows {
    /// Elements of the window.
    pub(super) fn elements(&self) -> usize {
        self.axes[0].window * self.axes[1].window
    }
}

/// What an axis of a convolution is, as its gradient by the images sees it.
#[derive(Clone, Copy, Debug)]
pub struct Forward {
    /// The image's size.
    pub size: usize,
    /// The filter's size.
    pub window: usize,
    /// From one window to the next.
    pub stride: usize,
    /// From one element of a window to the next.
    pub dilation: usize,
    /// Zeros before the image.
    pub before: usize,
}

impl Forward {
    /// The axis for every `stride`th pixel from `residue` on, with the first element of the filter that ever
    /// met them, and from one to the next. Each pixel looks back at the windows that it was in: with a
    /// stride, only some elements of them can have met it, and which ones they are depends on its residue
    /// alone.
    fn back(&self, residue: usize) -> (Axis, usize, usize) {
        let Forward { size, window, stride, dilation, before } = *self;
        let apart = stride / common_divisor(stride, dilation);
        let from = residue + before;
        let first = (0..apart.min(window)).find(|k| from % stride == k * dilation % stride);
        let places = size.saturating_sub(residue).div_ceil(stride);
        let axis = |window, offset| Axis {
            places,
            window,
            step: 1,
            offset,
            dilation: -((apart * dilation / stride) as isize),
        };
        match first {
            Some(k) => {
                let offset = (from as isize - (k * dilation) as isize) / stride as isize;
                (axis((window - k).div_ceil(apart), offset), k, apart)
            }
            None => (axis(0, 0), 0, apart),
        }
    }
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// The windows that the gradient by the images looks back at, one kind for each residue of a pixel; `filter`
/// and `target` are from one element to the next, down and across.
pub fn back(axes: [Forward; 2], filter: [usize; 2], target: [usize; 2]) -> Vec<Windows> {
    let residues = axes.map(|axis| axis.stride.min(axis.size));
    let mut list = Vec::new();
    for residue in (0..residues[0]).flat_map(|y| (0..residues[1]).map(move |x| [y, x])) {
        let [(down, y, y_step), (across, x, x_step)] = [0, 1].map(|n| axes[n].back(residue[n]));
        list.push(Windows {
            axes: [down, across],
            filter: (y * filter[0] + x * filter[1], [y_step * filter[0], x_step * filter[1]]),
            target: (
                residue[0] * target[0] + residue[1] * target[1],
                [axes[0].stride * target[0], axes[1].stride * target[1]],
            ),
        });
    }
    list
}
