//! Sorting by time: what happens in a step is spread over it, so buckets of time leave little to sort.

/// Fewer than this are sorted at once.
const FEW: usize = 64;

/// Sorts by a key that grows with the time, which lies between 0 and `end`.
pub(super) fn sort_by_time<T: Copy, K: Ord>(
    items: &mut Vec<T>,
    end: f64,
    time: impl Fn(&T) -> f64,
    key: impl Fn(&T) -> K,
) {
    let buckets = items.len() / 2;
    let scale = buckets as f64 / end;
    if items.len() < FEW || !scale.is_finite() {
        items.sort_unstable_by_key(key);
        return;
    }
    // Rounding never puts a later time into an earlier bucket.
    let bucket = |item: &T| ((time(item) * scale) as usize).min(buckets - 1);
    let mut next = vec![0u32; buckets + 1];
    for item in items.iter() {
        next[bucket(item) + 1] += 1;
    }
    for i in 0..buckets {
        next[i + 1] += next[i];
    }
    let mut sorted = items.clone();
    for item in items.iter() {
        let place = &mut next[bucket(item)];
        sorted[*place as usize] = *item;
        *place += 1;
    }
    let mut begin = 0;
    for &stop in &next[..buckets] {
        sorted[begin..stop as usize].sort_unstable_by_key(&key);
        begin = stop as usize;
    }
    *items = sorted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn buckets_give_the_order_of_sorting() {
        let mut random = Random::new(3, 0);
        for count in [0, 10, 64, 1000] {
            let mut times: Vec<f64> =
                (0..count).map(|_| (random.unit() * 50.0).floor() * random.unit()).collect();
            times.extend([0.0, 50.0]);
            let mut expected = times.clone();
            expected.sort_by(f64::total_cmp);
            sort_by_time(&mut times, 50.0, |&t| t, |&t| t.to_bits());
            assert_eq!(times, expected);
        }
    }
}
