//! The most bytes that each device holds at once, from the times.

use super::{Run, instant};
use crate::problem::{Problem, Route};

/// One span of bytes in a memory.
#[derive(Clone, Copy)]
struct Life {
    start: f64,
    finish: f64,
    bytes: f64,
}

/// Bytes that stay for the whole step: what nodes hold, and the resident tensors that they use.
pub(crate) fn static_bytes(problem: &Problem, devices: &[u16]) -> Vec<f64> {
    let count = problem.device_count();
    let mut bytes = vec![0.0; count];
    let mut held = vec![false; count * problem.residents.len()];
    for (node, row) in problem.nodes.iter().enumerate() {
        let device = devices[node] as usize;
        bytes[device] += row.memory;
        for &r in problem.uses.row(node) {
            let seen = &mut held[device * problem.residents.len() + r as usize];
            if !std::mem::replace(seen, true) {
                bytes[device] += problem.residents[r as usize].bytes;
            }
        }
    }
    bytes
}

/// Whether every output and every copy fits at once beside what stays, on every device: then no times need be
/// known to say that memory suffices.
pub(crate) fn all_fits(problem: &Problem, devices: &[u16], fixed: impl Fn(usize) -> f64) -> bool {
    let count = problem.device_count();
    let mut bytes: Vec<f64> = (0..count).map(&fixed).collect();
    // A copy counts once per device; CPUs on the way of a copy hold it too.
    let many = count > u128::BITS as usize;
    for (node, row) in problem.nodes.iter().enumerate() {
        let home = devices[node] as usize;
        bytes[home] += row.output_bytes;
        let mut reached: u128 = 0;
        for edge in problem.outs(node) {
            let there = devices[edge.to as usize] as usize;
            if there == home || (!many && reached >> there & 1 == 1) {
                continue;
            }
            if !many {
                reached |= 1 << there;
            }
            let most = problem.most_held(node);
            bytes[there] += most;
            if let Route::Via(middle) = problem.routes.get(home as u16, there as u16) {
                bytes[middle as usize] += most;
            }
        }
    }
    (0..count).all(|d| bytes[d] <= problem.limit(d))
}

/// The most bytes that each device holds at once, of a run that is done.
pub(super) fn peaks(run: &Run<'_>, makespan: f64) -> Vec<f64> {
    let Run { problem, devices, copies, .. } = run;
    let fixed = static_bytes(problem, devices);
    if problem.nodes.iter().all(|n| n.output_bytes == 0.0) && copies.all.iter().all(|t| t.bytes == 0.0) {
        return fixed;
    }
    // What stays for the whole step is freed at its end, before what is taken at that very instant.
    let whole = |&bytes: &f64| vec![Life { start: 0.0, finish: makespan, bytes }];
    let mut lives: Vec<Vec<Life>> = fixed.iter().map(whole).collect();
    // The last use of each copy.
    let mut ends = vec![f64::NEG_INFINITY; copies.all.len()];
    for node in 0..problem.node_count() {
        let home = devices[node];
        let mut home_end = f64::NEG_INFINITY;
        for &to in problem.readers.row(node) {
            let (reader, done) = (devices[to as usize], run.finish[to as usize]);
            if reader == home {
                home_end = home_end.max(done);
            } else if let Some(copy) = copies.to(node, reader) {
                ends[copy] = ends[copy].max(done);
            }
        }
        for copy in copies.of(node) {
            let t = &copies.all[copy];
            if t.from == home {
                home_end = home_end.max(t.finish);
            } else if let Some(copy) = copies.to(node, t.from) {
                ends[copy] = ends[copy].max(t.finish);
            }
        }
        for copy in copies.of(node) {
            let t = &copies.all[copy];
            lives[t.to as usize].push(Life { start: t.start, finish: ends[copy], bytes: t.bytes });
        }
        let end = if home_end == f64::NEG_INFINITY { makespan } else { home_end };
        let bytes = problem.nodes[node].output_bytes;
        lives[home as usize].push(Life { start: run.start[node], finish: end, bytes });
    }
    lives.iter().map(|lives| peak(lives, makespan)).collect()
}

/// Fewer lives than this are sorted at once.
const FEW: usize = 64;
/// Lives for each stretch of time that is looked at as a whole.
const PER_STRETCH: usize = 4;

/// Only the stretches of time in which the peak may be have their events sorted.
fn peak(lives: &[Life], end: f64) -> f64 {
    let stretches = lives.len() / PER_STRETCH;
    let scale = stretches as f64 / end;
    if lives.len() < FEW || !scale.is_finite() {
        return highest(lives, |_| true, 0.0);
    }
    // Rounding never puts a later time into an earlier stretch.
    let stretch = |time: f64| ((time * scale) as usize).min(stretches - 1);
    let mut changes = vec![(0.0f64, 0.0f64); stretches];
    for life in lives {
        let begin = &mut changes[stretch(life.start)];
        *begin = (begin.0 + life.bytes, begin.1 + life.bytes);
        changes[stretch(life.finish)].0 -= life.bytes;
    }
    // From what is there before each stretch, and what is taken in it, follows how high it may get there.
    let (mut used, mut top) = (0.0f64, 0.0f64);
    for (net, taken) in &mut changes {
        let before = used;
        used += *net;
        top = top.max(used);
        (*net, *taken) = (before, before + *taken);
    }
    let mut of_stretch: Vec<(u32, Life)> = Vec::new();
    for life in lives {
        let (first, last) = (stretch(life.start), stretch(life.finish));
        for at in [first, last].into_iter().take(if first == last { 1 } else { 2 }) {
            if changes[at].1 > top {
                of_stretch.push((at as u32, *life));
            }
        }
    }
    of_stretch.sort_by_key(|item| item.0);
    let mut inside = Vec::new();
    for group in of_stretch.chunk_by(|a, b| a.0 == b.0) {
        let at = group[0].0 as usize;
        if changes[at].1 > top {
            inside.clear();
            inside.extend(group.iter().map(|item| item.1));
            top = top.max(highest(&inside, |time| stretch(time) == at, changes[at].0));
        }
    }
    top
}

/// The most bytes at the events in a stretch of time. At one instant, what began earlier is freed, then the
/// new is taken, then what began just now is freed.
fn highest(lives: &[Life], is_inside: impl Fn(f64) -> bool, before: f64) -> f64 {
    let mut events: Vec<(f64, u8, f64)> = Vec::with_capacity(2 * lives.len());
    for life in lives.iter().filter(|l| l.bytes > 0.0) {
        events.push((life.start, 1, life.bytes));
        events.push((life.finish, if life.finish <= life.start { 2 } else { 0 }, -life.bytes));
    }
    events.retain(|e| is_inside(e.0));
    events.sort_unstable_by_key(|e| (instant(e.0), e.1));
    let (mut used, mut top) = (before, before);
    for (_, _, change) in events {
        used += change;
        top = top.max(used);
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_peak_is_that_of_all_events_in_order() {
        let mut random = Random::new(5, 0);
        for count in [1, 63, 64, 500, 3000] {
            for coarse in [4.0, 1e6] {
                let time = |random: &mut Random| (random.unit() * coarse).floor() / coarse * 9.0;
                let lives: Vec<Life> = (0..count)
                    .map(|_| {
                        let (a, b) = (time(&mut random), time(&mut random));
                        Life { start: a.min(b), finish: a.max(b), bytes: random.below(9) as f64 }
                    })
                    .collect();
                assert_eq!(peak(&lives, 9.0), highest(&lives, |_| true, 0.0), "{count} {coarse}");
            }
        }
    }
}
