//! A loop over batches in one function: while one batch is multiplied, the next is on its way. The events of
//! the call show it.

use situ::function::{Event, EventKind};
use situ::prelude::*;

/// Two layers applied to each batch on `compute`; the batches come from wherever they are.
pub(crate) fn layers(compute: &'static str, weights: &[Tensor; 2]) -> Function {
    let weights = weights.clone();
    Function::many(move |batches| {
        let layer = |batch: &Tensor| batch.matmul(&weights[0])?.relu()?.matmul(&weights[1]);
        batches.iter().map(|batch| situ::with_device(compute, || layer(batch))).collect()
    })
}

/// Pairs of a copy and a product of an earlier batch that were under way at the same time.
pub(crate) fn overlaps(events: &[Event]) -> Vec<(&Event, &Event)> {
    let copies = events.iter().filter(|e| matches!(e.kind, EventKind::Copy { .. }));
    let products = || events.iter().filter(|e| e.kind == EventKind::Launch && e.name.starts_with("matmul"));
    copies
        .flat_map(|c| products().filter(|p| p.start < c.end && c.start < p.end).map(move |p| (c, p)))
        .collect()
}

/// Runs it with the batches on `CPU:0` and the products on `CPU:1`, each with a core of its own; gives the
/// events of the call.
pub(crate) fn program() -> Result<(Vec<Tensor>, Vec<Event>)> {
    let cores = [LogicalConfig::cores([0]), LogicalConfig::cores([1])];
    config::set_logical_devices("CPU:0", &cores)?;
    let weight =
        || situ::with_device("/CPU:1", || random::normal(&[512, 512])?.mul(&situ::full(&[1], 0.05f32)?));
    let function = layers("/CPU:1", &[weight()?, weight()?]);
    let batches = situ::with_device("/CPU:0", || {
        (0..4).map(|_| random::normal(&[256, 512])).collect::<Result<Vec<_>>>()
    })?;
    let batches: Vec<&Tensor> = batches.iter().collect();
    // The first call compiles.
    function.call_many(&batches)?;
    function.call_recorded(&batches)
}

pub(crate) fn main() -> Result<()> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("two cores are needed to see an overlap");
        return Ok(());
    }
    let (_, events) = program()?;
    for e in &events {
        let what = match e.kind {
            EventKind::Copy { from, bytes } => format!("{bytes} bytes from {from}"),
            EventKind::Launch | EventKind::Wait => String::new(),
        };
        println!("{:>7.0} to {:>7.0} µs  {:<6} {:<12} {what}", e.start * 1e6, e.end * 1e6, e.device, e.name);
    }
    println!("{} times a copy and a product were under way at once", overlaps(&events).len());
    Ok(())
}
