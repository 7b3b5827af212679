//! Fitting a line to measurements, without negative terms.

use super::Line;
use serde::{Deserialize, Serialize};
use situ_ir::WorkClass;

/// One measurement of an op.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The op and its sizes, for people.
    pub what: String,
    /// The number of its class in [`WorkClass::ALL`].
    pub class: usize,
    /// The arithmetic operations of the op.
    pub flops: f64,
    /// The bytes that the op reads and writes.
    pub bytes: f64,
    /// What it took.
    pub seconds: f64,
}

impl Sample {
    /// The sort of work that was measured.
    pub fn class(&self) -> WorkClass {
        WorkClass::ALL[self.class.min(WorkClass::ALL.len() - 1)]
    }
}

/// The line with the least sum of squared *relative* errors among those without negative terms; `None`
/// without samples.
///
/// Three terms have eight choices of which are zero: each is solved, and the best that has no negative term
/// wins.
pub fn line(samples: &[Sample]) -> Option<Line> {
    let rows: Vec<[f64; 3]> = samples
        .iter()
        .filter(|s| s.seconds > 0.0 && s.seconds.is_finite())
        .map(|s| [1.0 / s.seconds, s.flops / s.seconds, s.bytes / s.seconds])
        .collect();
    let error = |x: &[f64; 3]| -> f64 {
        rows.iter().map(|r| (r[0] * x[0] + r[1] * x[1] + r[2] * x[2] - 1.0).powi(2)).sum()
    };
    let mut best: Option<([f64; 3], f64)> = None;
    for terms in 1u8..8 {
        let used: Vec<usize> = (0..3).filter(|t| terms & (1 << t) != 0).collect();
        let Some(x) = least_squares(&rows, &used) else { continue };
        if x.iter().all(|v| *v >= 0.0 && v.is_finite()) {
            let e = error(&x);
            if best.is_none_or(|(_, least)| e < least) {
                best = Some((x, e));
            }
        }
    }
    best.map(|([launch, per_flop, per_byte], _)| Line { launch, per_flop, per_byte })
}

/// How many times as long work takes in a dtype as the line, which is of f32, says; `same` is the same op in
/// f32, by which the line's own error there is told from the dtype's share. What the factor is of,
/// [`CostModel::compute`](super::CostModel::compute) says.
pub fn factor(line: &Line, sample: &Sample, same: &Sample) -> Option<f64> {
    let error = same.seconds / line.seconds(same.flops, same.bytes);
    let grows = if line.per_flop > 0.0 { sample.flops * line.per_flop } else { sample.bytes * line.per_byte };
    let stays = line.seconds(sample.flops, sample.bytes) - grows;
    let factor = (sample.seconds / error - stays) / grows;
    // An op that is lost in the launch tells nothing.
    (factor.is_finite() && factor > 0.0).then_some(factor)
}

/// Solves the normal equations of the terms in use; the others are zero.
fn least_squares(rows: &[[f64; 3]], used: &[usize]) -> Option<[f64; 3]> {
    let n = used.len();
    if rows.len() < n {
        return None;
    }
    // Columns are scaled to like sizes first: bytes are many, launches few.
    let scale: Vec<f64> =
        used.iter().map(|&t| rows.iter().map(|r| r[t] * r[t]).sum::<f64>().sqrt()).collect();
    if scale.contains(&0.0) {
        return None;
    }
    let mut matrix = [[0.0; 4]; 3];
    for row in rows {
        for i in 0..n {
            let a = row[used[i]] / scale[i];
            for j in 0..n {
                matrix[i][j] += a * row[used[j]] / scale[j];
            }
            matrix[i][3] += a;
        }
    }
    for i in 0..n {
        let pivot = (i..n).max_by(|a, b| matrix[*a][i].abs().total_cmp(&matrix[*b][i].abs()))?;
        matrix.swap(i, pivot);
        if matrix[i][i].abs() < 1e-12 {
            return None;
        }
        for j in 0..n {
            if j != i {
                let factor = matrix[j][i] / matrix[i][i];
                let pivot = matrix[i];
                for (cell, of_pivot) in matrix[j].iter_mut().zip(pivot) {
                    *cell -= factor * of_pivot;
                }
            }
        }
    }
    let mut x = [0.0; 3];
    for i in 0..n {
        x[used[i]] = matrix[i][3] / matrix[i][i] / scale[i];
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(flops: f64, bytes: f64, seconds: f64) -> Sample {
        Sample { what: String::new(), class: 0, flops, bytes, seconds }
    }

    #[test]
    fn a_factor_is_of_the_operations_or_of_the_bytes_where_the_line_has_no_operations() {
        let both = Line { launch: 1e-6, per_flop: 1e-9, per_byte: 1e-10 };
        let bytes = Line { per_flop: 0.0, ..both };
        for (line, seconds, want) in [
            (both, 1e-6 + 3.0 * 1e-3 + 4e-4, Some(3.0)),
            (bytes, 1e-6 + 2.0 * 4e-4, Some(2.0)),
            // Less than a launch takes.
            (both, 1e-7, None),
        ] {
            // The line is wrong by half for f32, too.
            let same = sample(1e6, 8e6, 1.5 * line.seconds(1e6, 8e6));
            let found = factor(&line, &sample(1e6, 4e6, 1.5 * seconds), &same);
            assert_eq!(found.map(|f| (f * 1e6).round() / 1e6), want);
        }
        let nothing = Line { launch: 1e-6, per_flop: 0.0, per_byte: 0.0 };
        assert_eq!(factor(&nothing, &sample(1.0, 1.0, 1.0), &sample(1.0, 1.0, 1.0)), None);
    }

    #[test]
    fn a_line_that_made_the_samples_is_found_again() {
        let made = Line { launch: 3e-6, per_flop: 2e-11, per_byte: 5e-11 };
        let sizes = [(1e3, 1e4), (1e6, 2e4), (1e8, 3e6), (1e4, 1e8), (5e9, 1e7)];
        let samples: Vec<Sample> = sizes.iter().map(|&(f, b)| sample(f, b, made.seconds(f, b))).collect();
        let found = line(&samples).unwrap();
        for (a, b) in
            [(made.launch, found.launch), (made.per_flop, found.per_flop), (made.per_byte, found.per_byte)]
        {
            assert!((a - b).abs() < 1e-6 * a, "{made:?} {found:?}");
        }
    }

    #[test]
    fn no_term_is_negative_even_where_that_would_fit_better() {
        // Falls with the flops: only a negative rate would follow it.
        let samples: Vec<Sample> =
            (1..6).map(|i| sample(1e6 * f64::from(i), 1e3, 1e-3 / f64::from(i))).collect();
        let found = line(&samples).unwrap();
        assert!(found.launch >= 0.0 && found.per_flop >= 0.0 && found.per_byte >= 0.0);
        assert!(line(&[]).is_none());
        assert!(line(&[sample(1.0, 1.0, 0.0)]).is_none(), "a time of nothing is no measurement");
    }
}
