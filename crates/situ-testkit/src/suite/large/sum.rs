//! Sums for references: a million numbers added up in f64 one after the other are off by hundreds of units in
//! the last place, which is more than a kernel of f64 that adds in blocks.

/// A sum and what was rounded off it.
#[derive(Clone, Copy, Default)]
pub(super) struct Total {
    sum: f64,
    rest: f64,
}

impl Total {
    /// Adds a number.
    pub(super) fn add(&mut self, value: f64) {
        let next = self.sum + value;
        // The smaller of the two lost digits, and can be asked which.
        let (large, small) =
            if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.rest += (large - next) + small;
        self.sum = next;
    }

    /// All of it, rounded once.
    pub(super) fn value(self) -> f64 {
        self.sum + self.rest
    }
}

/// The sum of numbers.
pub(super) fn total(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut all = Total::default();
    numbers.for_each(|value| all.add(value));
    all.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rounded_off_is_not_lost() {
        let tenth = std::iter::repeat_n(0.1, 10_000_000);
        assert_eq!(total(tenth.clone()), 1_000_000.0);
        assert_ne!(tenth.sum::<f64>(), 1_000_000.0);
        assert_eq!(total([1e16, 1.0, -1e16].into_iter()), 1.0);
    }
}
