//! Ranges of an axis, as slices take them.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// Part of an axis: from `start` to before `stop` in steps of `step`. Negative positions count from the end,
/// positions beyond the ends are clamped, and a negative step walks backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first position; `None`: the end that the step starts from.
    pub start: Option<isize>,
    /// Where to stop before; `None`: the end that the step runs to.
    pub stop: Option<isize>,
    /// The step, which may be negative but not 0.
    pub step: isize,
}

impl Span {
    /// The whole axis.
    pub const ALL: Span = Span { start: None, stop: None, step: 1 };

    /// The same span in other steps.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_tensor::{Span, tensor};
    /// let x = tensor([0, 1, 2, 3, 4])?;
    /// assert_eq!(x.slice(&[Span::ALL.by(-2)])?.to_vec::<i32>()?, [4, 2, 0]);
    /// assert_eq!(x.slice(&[(1..-1).into()])?.to_vec::<i32>()?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub const fn by(self, step: isize) -> Span {
        Span { step, ..self }
    }

    /// First index, step and count on an axis of that size.
    pub(crate) fn resolve(self, size: usize) -> Option<(usize, usize)> {
        let size = size as i128;
        let step = self.step as i128;
        if step == 0 {
            return None;
        }
        let place = |at: isize, low: i128, high: i128| {
            let at = at as i128;
            (if at < 0 { at + size } else { at }).clamp(low, high)
        };
        let (start, stop) = if step > 0 {
            (self.start.map_or(0, |s| place(s, 0, size)), self.stop.map_or(size, |s| place(s, 0, size)))
        } else {
            let start = self.start.map_or(size - 1, |s| place(s, -1, size - 1));
            (start, self.stop.map_or(-1, |s| place(s, -1, size - 1)))
        };
        let distance = if step > 0 { stop - start } else { start - stop };
        let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
        Some((start.max(0) as usize, count as usize))
    }
}

impl From<Range<isize>> for Span {
    fn from(r: Range<isize>) -> Span {
        Span { start: Some(r.start), stop: Some(r.end), step: 1 }
    }
}
impl From<RangeFrom<isize>> for Span {
    fn from(r: RangeFrom<isize>) -> Span {
        Span { start: Some(r.start), stop: None, step: 1 }
    }
}
impl From<RangeTo<isize>> for Span {
    fn from(r: RangeTo<isize>) -> Span {
        Span { start: None, stop: Some(r.end), step: 1 }
    }
}
impl From<RangeFull> for Span {
    fn from(_: RangeFull) -> Span {
        Span::ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_resolve_as_in_python() {
        assert_eq!(Span::from(1..10).resolve(5), Some((1, 4)));
        assert_eq!(Span::from(-2..).resolve(5), Some((3, 2)));
        let backwards = Span { start: Some(4), stop: Some(0), step: -2 };
        assert_eq!(backwards.resolve(5), Some((4, 2)));
        assert_eq!(backwards.by(1).resolve(5), Some((4, 0)));
        assert_eq!(Span::ALL.by(-1).resolve(3), Some((2, 3)));
        assert_eq!(Span::ALL.by(-1).resolve(0), Some((0, 0)));
        assert_eq!(Span::ALL.by(0).resolve(3), None);
        assert_eq!(Span::from(isize::MIN..isize::MAX).by(isize::MAX).resolve(7), Some((0, 1)));
    }
}
