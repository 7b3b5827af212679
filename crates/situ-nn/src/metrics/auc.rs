//! The area under a curve of two rates, as the threshold goes from 0 to 1.

use crate::Metric;
use crate::losses::same_shape;
use situ_core::{DType, Error, Result};
use situ_tensor::{Tensor, concat, constant, zeros};

/// Which rates are drawn against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    /// True positives by false positives.
    Roc,
    /// Precision by recall.
    PrecisionRecall,
}

/// The area under the curve, from counts at 200 thresholds with straight lines between. Predictions are
/// probabilities, or logits of them.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Metric;
/// use situ_nn::metrics::Auc;
/// use situ_tensor::tensor;
/// let auc = Auc::roc();
/// let batch = auc.batch(&tensor([0.1f32, 0.4, 0.35, 0.8])?, &tensor([0, 0, 1, 1])?)?;
/// assert!((auc.figure(&batch.to_vec::<f32>()?) - 0.75).abs() < 1e-6);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Auc {
    curve: Curve,
    thresholds: usize,
    logits: bool,
}

/// How far the outer thresholds are outside of 0 to 1: everything is above the first, nothing above the last.
const BEYOND: f64 = 1e-7;

/// How many thresholds are compared with a prediction.
const AROUND: usize = 4;

/// More thresholds than f32 tells apart are none.
const MOST: usize = 1 << 20;

impl Auc {
    /// Of true positives by false positives: the chance that a positive example is predicted above a negative
    /// one.
    pub fn roc() -> Auc {
        Auc { curve: Curve::Roc, thresholds: 200, logits: false }
    }

    /// Of precision by recall.
    pub fn precision_recall() -> Auc {
        Auc { curve: Curve::PrecisionRecall, ..Auc::roc() }
    }

    /// With that many thresholds: at least 2.
    pub fn thresholds(self, thresholds: usize) -> Auc {
        Auc { thresholds, ..self }
    }

    /// Of predictions that are logits: their sigmoid is what counts.
    pub fn from_logits(self) -> Auc {
        Auc { logits: true, ..self }
    }

    fn levels(&self) -> Vec<f64> {
        let last = self.thresholds.saturating_sub(1);
        let level = |at: usize| match at {
            0 => -BEYOND,
            at if at == last => 1.0 + BEYOND,
            at => at as f64 / last as f64,
        };
        (0..self.thresholds).map(level).collect()
    }

    /// How many thresholds each prediction is above. Of one that is no number, any count there can be.
    fn above(&self, predicted: &Tensor, levels: &[f32]) -> Result<Tensor> {
        // Thresholds are evenly spaced, so a product says about how many there are below; the few around that
        // are compared, so that the answer is exact. Beyond them all is far enough on either side.
        let last = (self.thresholds - 1) as f64;
        let about = (&predicted.clip(-1.0, 2.0)? * last)?.floor()?.cast(DType::I32)?;
        let start = (&about - 1.0)?.clip(0.0, last)?;
        let padded = [levels, &[f32::MAX; AROUND]].concat();
        let levels = constant(&padded, &[padded.len()])?;
        let mut above = start.clone();
        for at in 0..AROUND {
            let level = levels.gather(&(&start + at as f64)?, 0)?;
            above = above.add(&predicted.greater(&level)?.cast(DType::I32)?)?;
        }
        above.clip(0.0, self.thresholds as f64)
    }
}

impl Metric for Auc {
    fn name(&self) -> String {
        match self.curve {
            Curve::Roc => "auc".into(),
            Curve::PrecisionRecall => "pr_auc".into(),
        }
    }

    /// Positive examples between each threshold and the next, then negative ones.
    fn sums(&self) -> usize {
        self.thresholds.saturating_mul(2)
    }

    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        if !(2..=MOST).contains(&self.thresholds) {
            let why = format!("a curve of {} thresholds", self.thresholds);
            return Err(Error::argument("auc", why, format!("give from 2 to {MOST}")));
        }
        let count = predicted.elements() as isize;
        let target = same_shape("auc", predicted, target)?.cast(DType::F32)?.reshape(&[count, 1])?;
        let predicted = if self.logits { predicted.sigmoid()? } else { predicted.clone() };
        let predicted = predicted.cast(DType::F32)?.reshape(&[count])?;
        // How many thresholds a prediction is above tells the pair that it is between: one number for each,
        // not one for each threshold.
        let levels: Vec<f32> = self.levels().iter().map(|&level| level as f32).collect();
        let between = (&self.above(&predicted, &levels)? - 1.0)?.clip(0.0, self.thresholds as f64)?;
        // Below the first threshold is between none; so is what is no number.
        let counted = predicted.greater(&constant(&levels[..1], &[1])?)?;
        let counted = counted.cast(DType::F32)?.reshape(&[count, 1])?;
        let sides = concat(&[&target, &(&target.neg()? + 1.0)?], 1)?.mul(&counted)?;
        let bins = zeros(&[self.thresholds, 2], DType::F32)?.scatter_add(&between, &sides, 0)?;
        bins.transpose(&[])?.reshape(&[2 * self.thresholds as isize])
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn figure(&self, sums: &[f32]) -> f64 {
        if sums.len() != self.sums() || sums.is_empty() {
            return 0.0;
        }
        let (hits, misses) = sums.split_at(self.thresholds);
        let (hits, misses) = (from_the_end(hits), from_the_end(misses));
        match self.curve {
            Curve::Roc => area_of_rates(&hits, &misses),
            Curve::PrecisionRecall => area_of_precision(&hits, &misses),
        }
    }
}

/// At each place, the sum of all from there on: of what is between thresholds, what is above each.
fn from_the_end(between: &[f32]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut above: Vec<f64> = between
        .iter()
        .rev()
        .map(|&part| {
            sum += f64::from(part);
            sum
        })
        .collect();
    above.reverse();
    above
}

/// The part, or 0 of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn area_of_rates(hits: &[f64], misses: &[f64]) -> f64 {
    let (positive, negative) = (hits[0], misses[0]);
    let pairs = hits.windows(2).zip(misses.windows(2));
    pairs
        .map(|(hit, miss)| {
            let width = share(miss[0] - miss[1], negative);
            width * share((hit[0] + hit[1]) / 2.0, positive)
        })
        .sum()
}

/// Between two thresholds, hits are taken to grow in step with all that is found; precision then is no
/// straight line, and its integral has a logarithm.
fn area_of_precision(hits: &[f64], misses: &[f64]) -> f64 {
    let positive = hits[0];
    let pairs = hits.windows(2).zip(misses.windows(2));
    pairs
        .map(|(hit, miss)| {
            let (more, fewer) = (hit[0], hit[1]);
            let (found_more, found_fewer) = (more + miss[0], fewer + miss[1]);
            let slope = share(more - fewer, found_more - found_fewer);
            let level = fewer - slope * found_fewer;
            let ratio = if found_more > 0.0 && found_fewer > 0.0 { found_more / found_fewer } else { 1.0 };
            share(slope * (more - fewer + level * ratio.ln()), positive)
        })
        .sum()
}
