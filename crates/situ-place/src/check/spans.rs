//! Spans of time that must not overlap too much. Spans no longer than the tolerance are not seen.

/// Events of the spans, each shrunk by the tolerance, with the ends before the beginnings of the same time.
fn events<T: Copy>(spans: impl Iterator<Item = (f64, f64, T)>, tolerance: f64) -> Vec<(f64, i32, T)> {
    let mut events = Vec::new();
    for (start, finish, what) in spans {
        if finish - start > tolerance {
            events.push((start + tolerance / 2.0, 1, what));
            events.push((finish - tolerance / 2.0, -1, what));
        }
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    events
}

pub(super) fn at_most(spans: Vec<(f64, f64)>, limit: usize, tolerance: f64) -> Result<(), String> {
    let mut running = 0i64;
    for (time, step, ()) in events(spans.into_iter().map(|(a, b)| (a, b, ())), tolerance) {
        running += i64::from(step);
        if running > limit as i64 {
            return Err(format!("{running} at once at {time}, at most {limit}"));
        }
    }
    Ok(())
}

pub(super) fn one_owner(spans: Vec<(f64, f64, &str)>, tolerance: f64) -> Result<(), String> {
    let mut running: Vec<(&str, i32)> = Vec::new();
    for (time, step, owner) in events(spans.into_iter(), tolerance) {
        match running.iter_mut().find(|(name, _)| *name == owner) {
            Some((_, count)) => *count += step,
            None => running.push((owner, step)),
        }
        if running.iter().filter(|(_, count)| *count > 0).count() > 1 {
            return Err(format!("two devices run at once at {time}"));
        }
    }
    Ok(())
}
