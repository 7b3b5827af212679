//! The cases of input pipelines: one call is one batch of 32×784 floats and its labels.

use crate::cases::Call;
use situ::data::Dataset;
use situ::{DType, Error, Result, Tensor, arange, full, random};
use std::cell::RefCell;

/// Rows of the data, of a batch, and of the buffer that shuffles.
const ROWS: usize = 20_000;
const BATCH: usize = 32;
const BUFFER: usize = 1000;

/// The call of a case of this file; nothing if it is not one.
pub(crate) fn prepare(name: &str) -> Result<Option<Call>> {
    let (case, way) = name.split_once('@').unwrap_or((name, ""));
    let Some(stages) = case.strip_prefix("data_").and_then(|rest| rest.strip_suffix("_32x784")) else {
        return Ok(None);
    };
    let x = random::uniform(&[ROWS, 784], 0.0, 255.0)?;
    let rows = Dataset::from_tensors((x, arange(ROWS, DType::I32)?))?;
    let shuffled = rows.shuffle(BUFFER, 7).repeat(None);
    let scale = full(&[], 1.0f32 / 255.0)?;
    let scaled = move |(x, y): (Tensor, Tensor)| Ok((x.mul(&scale)?, y));
    let batches = match (stages, way) {
        ("shuffle_batch", "") => shuffled.batch(BATCH),
        ("shuffle_map_batch", "") => shuffled.map(scaled).batch(BATCH),
        ("shuffle_map_batch", "parallel") => shuffled.map_parallel(2, scaled).batch(BATCH),
        ("shuffle_batch_map", "") => shuffled.batch(BATCH).map(scaled),
        _ => return Ok(None),
    };
    let batches = RefCell::new(batches.prefetch(2).iter());
    let ended = || Error::argument("bench", "the data ended", "it is repeated for ever: a defect of situ");
    Ok(Some(Box::new(move || Ok(batches.borrow_mut().next().ok_or_else(ended)??.0))))
}
