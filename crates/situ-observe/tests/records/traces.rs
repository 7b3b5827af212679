//! Traces: what Perfetto is given, read back.

use super::{machine, on, square, two_layers};
use serde_json::Value;
use situ_core::Result;
use situ_observe::profile;
use std::collections::{HashMap, HashSet};

fn trace() -> Result<Value> {
    on(&machine(), || {
        let (f, x) = (two_layers(), square(64)?);
        let (_, record) = profile(|| (0..4).try_for_each(|_| f.call(&x)?.item::<f32>().map(drop)))?;
        let file = std::env::temp_dir().join(format!(
            "situ-trace-{}-{:?}.json",
            std::process::id(),
            std::thread::current().id()
        ));
        record.save_trace(&file)?;
        let text = std::fs::read_to_string(&file).expect("it was written");
        std::fs::remove_file(&file).ok();
        Ok(serde_json::from_str(&text).expect("it is JSON"))
    })
}

fn of<'t>(events: &'t [Value], phase: &str) -> Vec<&'t Value> {
    events.iter().filter(|e| e["ph"] == phase).collect()
}

#[test]
fn a_trace_has_a_named_track_for_every_slice_and_no_overlaps() -> Result<()> {
    let trace = trace()?;
    let events = trace["traceEvents"].as_array().expect("a list");
    let named: HashSet<(u64, u64)> = of(events, "M")
        .iter()
        .filter(|e| e["name"] == "thread_name")
        .map(|e| (e["pid"].as_u64().unwrap(), e["tid"].as_u64().unwrap()))
        .collect();
    let mut tracks: HashMap<(u64, u64), Vec<(f64, f64)>> = HashMap::new();
    for slice in of(events, "X") {
        let track = (slice["pid"].as_u64().unwrap(), slice["tid"].as_u64().unwrap());
        assert!(named.contains(&track), "{slice}");
        let (start, length) = (slice["ts"].as_f64().unwrap(), slice["dur"].as_f64().unwrap());
        assert!(start >= 0.0 && length >= 0.0, "{slice}");
        tracks.entry(track).or_default().push((start, start + length));
    }
    for (track, mut slices) in tracks {
        slices.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-3), "{track:?}: {slices:?}");
    }
    let kernels =
        of(events, "X").iter().filter(|e| e["cat"] == "kernel" && e["name"] == "dense/matmul").count();
    assert_eq!(kernels, 4);
    let processes = of(events, "M").iter().filter(|e| e["name"] == "process_name").count();
    assert_eq!(processes, 3, "the program, CPU:0 and GPU:0");
    Ok(())
}

#[test]
fn every_arrow_has_two_ends_on_slices_and_memory_is_counted() -> Result<()> {
    let trace = trace()?;
    let events = trace["traceEvents"].as_array().expect("a list");
    let slices = of(events, "X");
    let on_slice = |end: &Value| {
        slices.iter().any(|slice| {
            let (start, length) = (slice["ts"].as_f64().unwrap(), slice["dur"].as_f64().unwrap());
            let at = end["ts"].as_f64().unwrap();
            slice["pid"] == end["pid"] && slice["tid"] == end["tid"] && (start..=start + length).contains(&at)
        })
    };
    let (begins, ends) = (of(events, "s"), of(events, "f"));
    assert_eq!(begins.len(), ends.len());
    // The input goes to the product, the product to the rest: a kernel at one end of the first, at both of
    // the second.
    assert_eq!(begins.len(), 4 * 3);
    for begin in &begins {
        let end = ends.iter().find(|e| e["id"] == begin["id"]).expect("its other end");
        assert!(on_slice(begin) && on_slice(end), "{begin} {end}");
        assert!(begin["ts"].as_f64() <= end["ts"].as_f64(), "forwards in time: {begin} {end}");
    }
    let counters = of(events, "C");
    assert!(counters.iter().any(|c| c["args"]["in use"].as_u64() > Some(0)), "{counters:?}");
    Ok(())
}
