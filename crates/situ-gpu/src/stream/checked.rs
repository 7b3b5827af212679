//! Launches that may find bad data: the slots they report in, and how those reach their checks.

use super::batch::Batch;
use super::{Launch, Stream, mapped};
use crate::checks::{self, PendingCheck};
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{MAX_PARAM_WORDS, PARAM_WORDS};
use std::sync::Arc;

impl Stream {
    /// Records kernel calls that may find bad data, and the one right behind them that notes the value found.
    /// All bind the block of slots, and find the number of their slot in word 63 of their parameters.
    pub(crate) fn dispatch_checked(
        &self,
        watch: &PendingCheck,
        mains: &[Launch<'_>],
        note_value: Option<&Launch<'_>>,
    ) -> Result<(), Fault> {
        loop {
            let mut batch = self.lock();
            if let Some(slot) = batch.checks.reserve(watch) {
                for main in mains {
                    self.record_with_slot(&mut batch, main, slot)?;
                }
                return match note_value {
                    Some(launch) => self.record_with_slot(&mut batch, launch, slot),
                    None => Ok(()),
                };
            }
            drop(batch);
            // All slots are taken: settle them now.
            self.sync()?;
        }
    }

    /// The block of error slots, for kernels with checks.
    pub(crate) fn slots(&self) -> Arc<Block> {
        self.lock().checks.block.clone()
    }

    fn record_with_slot(&self, batch: &mut Batch, launch: &Launch<'_>, slot: u32) -> Result<(), Fault> {
        let mut params = [0; MAX_PARAM_WORDS];
        params[..launch.params.len()].copy_from_slice(launch.params);
        params[PARAM_WORDS - 1] = slot;
        let used = launch.params.len().max(PARAM_WORDS);
        self.record(batch, &Launch { params: &params[..used], ..*launch })
    }

    /// Records the fetching and clearing of the error slots in use; gives their checks.
    pub(super) fn fetch_checks(&self, to: &wgpu::Buffer) -> Vec<PendingCheck> {
        let mut batch = self.lock();
        let bytes = batch.checks.bytes_in_use();
        if bytes == 0 {
            return Vec::new();
        }
        let slots = batch.checks.block.buffer.clone();
        let encoder = self.encoder(&mut batch);
        encoder.copy_buffer_to_buffer(&slots, 0, to, 0, Some(bytes));
        encoder.clear_buffer(&slots, 0, Some(bytes));
        batch.checks.take()
    }

    /// Waits for fetched slots, and settles their checks.
    pub(super) fn settle_checks(&self, from: &wgpu::Buffer, open: &[PendingCheck]) -> Result<(), Fault> {
        self.flush()?;
        from.map_async(wgpu::MapMode::Read, .., |_| {});
        self.finish_submitted()?;
        let bytes = open.len() as u64 * checks::SLOT_WORDS * 4;
        let settled = mapped(from, bytes).map(|view| checks::settle(open, &view));
        from.unmap();
        settled
    }
}
