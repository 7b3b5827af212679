//! Several elements as one, along a new first axis.
//!
//! What lies in the host's memory, rows of tensors above all, is copied into the batch by one memory copy per
//! row; what lies on another device is stacked there.

use crate::cell::{Cell, Part};
use crate::fingerprint::Fingerprint;
use crate::stages::map::ClosureScope;
use crate::stop::Stop;
use crate::stream::{Context, Item, Length, Stage, Stream};
use situ_core::{Error, Result, Shape, TensorType};
use situ_tensor::{Tensor, stack, written};
use smallvec::SmallVec;
use std::sync::Arc;

pub(crate) struct Batch {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) size: usize,
    pub(crate) drop_remainder: bool,
    pub(crate) closure_scope: ClosureScope,
}

impl Stage for Batch {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        Box::new(Batches {
            from: self.from.open(context),
            size: self.size,
            drop_remainder: self.drop_remainder,
            closure_scope: self.closure_scope.or_on(&context.host),
            waiting: Vec::new(),
            rows: Vec::new(),
            ended: false,
            next: 0,
            stop: context.stop.clone(),
        })
    }

    fn length(&self) -> Length {
        self.from.length().map(|n| match self.drop_remainder {
            true => n / self.size,
            false => n.div_ceil(self.size),
        })
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text("batch");
        fingerprint.size(self.size);
        fingerprint.number(u64::from(self.drop_remainder));
    }
}

struct Batches {
    from: Box<dyn Stream>,
    size: usize,
    drop_remainder: bool,
    closure_scope: ClosureScope,
    waiting: Vec<Item>,
    /// The numbers of rows, where elements are nothing else.
    rows: Vec<usize>,
    ended: bool,
    next: usize,
    stop: Arc<Stop>,
}

impl Batches {
    fn next(&mut self) -> Option<Item> {
        self.rows.clear();
        if let Some(tensors) = self.from.fill_rows(self.size, &mut self.rows) {
            self.ended = self.rows.len() < self.size;
            if self.rows.is_empty() || (self.ended && self.drop_remainder) {
                return None;
            }
            let made = self.closure_scope.enter(|| tensors.gather(&self.rows));
            return Some(batch(made, &mut self.next));
        }
        while self.waiting.len() < self.size && !self.ended {
            let before = self.waiting.len();
            self.from.fill(self.size - before, &mut self.waiting);
            self.ended = self.waiting.len() == before;
            // One that never fills can still be ended.
            if self.stop.is_set() {
                self.ended = true;
                self.waiting.clear();
            }
        }
        let short = self.waiting.len() < self.size;
        let failed = self.waiting.iter().any(Result::is_err);
        if self.waiting.is_empty() || (short && self.drop_remainder && !failed) {
            return None;
        }
        let cells: Result<Vec<Cell>> = self.waiting.drain(..).collect();
        let made = cells.map(|cells| self.closure_scope.enter(|| join(&cells)));
        Some(made.and_then(|made| batch(made, &mut self.next)))
    }
}

/// The tensors of a batch as an element, with the next number.
fn batch(made: Result<SmallVec<[Part; 2]>>, next: &mut usize) -> Item {
    let origin = *next;
    *next += 1;
    Ok(Cell { parts: made.map_err(|e| e.of_element("batch", origin))?, origin })
}

impl Stream for Batches {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        for _ in 0..max {
            let Some(item) = self.next() else { return };
            out.push(item);
            if self.ended {
                return;
            }
        }
    }
}

/// The batch of some elements.
fn join(cells: &[Cell]) -> Result<SmallVec<[Part; 2]>> {
    let parts = cells[0].parts.len();
    if let Some(other) = cells.iter().find(|c| c.parts.len() != parts) {
        return Err(Error::argument(
            "batch",
            format!(
                "element {} has {parts} tensors, element {} has {}",
                cells[0].origin,
                other.origin,
                other.parts.len()
            ),
            "give every element as many",
        ));
    }
    (0..parts).map(|part| join_part(cells, part).map(Part::Made)).collect()
}

fn join_part(cells: &[Cell], part: usize) -> Result<Tensor> {
    let ty = cells[0].parts[part].tensor_type();
    if let Some(other) = cells.iter().find(|c| c.parts[part].tensor_type() != ty) {
        return Err(Error::operands(
            "batch",
            &[ty, other.parts[part].tensor_type()],
            format!("elements {} and {} differ", cells[0].origin, other.origin),
            "map them to one shape and dtype (crop, pad, cast), or use batches of 1",
        ));
    }
    if cells.iter().all(|c| c.parts[part].host_bytes().is_some()) {
        return gather(cells, part, ty);
    }
    let tensors: Vec<Tensor> =
        cells.iter().map(|c| c.parts[part].clone().into_tensor()).collect::<Result<_>>()?;
    stack(&tensors.iter().collect::<Vec<_>>(), 0)
}

fn gather(cells: &[Cell], part: usize, ty: TensorType) -> Result<Tensor> {
    let mut dims = vec![cells.len()];
    dims.extend_from_slice(ty.shape.dims());
    let shape = Shape::new(&dims).map_err(|error| error.of_op("batch", &[ty]))?;
    written(TensorType::new(ty.dtype, shape), |to| {
        // Rows of no bytes: nothing to copy, and any other size of piece cuts nothing into none.
        for (to, cell) in to.chunks_exact_mut(ty.bytes().max(1)).zip(cells) {
            // Asked for before: a tensor's memory stays where it is.
            if let Some(bytes) = cell.parts[part].host_bytes() {
                to.copy_from_slice(bytes);
            }
        }
        Ok(())
    })
}
