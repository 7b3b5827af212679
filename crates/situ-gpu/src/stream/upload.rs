//! The way of bytes from the host: small ones with the parameters, others in pieces through staging buffers.

use super::Stream;
use crate::fault::Fault;
use crate::memory::Block;
use crate::staging::{self, Direction};

/// Uploads up to this size travel with the parameters: one driver call for all of a batch.
const INLINE_UPLOAD: usize = 16 << 10;

impl Stream {
    /// Writes `bytes` to `block` at `offset` (a multiple of 4). If the length is not a multiple of 4, the
    /// rest of the last word is overwritten too: it is padding of the same tensor.
    pub(crate) fn upload(&self, block: &Block, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        debug_assert_eq!(offset % 4, 0);
        self.context.check()?;
        if bytes.len() <= INLINE_UPLOAD {
            let mut batch = self.lock();
            let padded = bytes.len().next_multiple_of(4);
            if padded == 0 {
                return Ok(());
            }
            let at = self.inline_space(&mut batch, padded)?;
            batch.inline[at..at + bytes.len()].copy_from_slice(bytes);
            let source = batch.inline_buffer.clone();
            let encoder = self.encoder(&mut batch);
            encoder.copy_buffer_to_buffer(&source, at as u64, &block.buffer, offset, Some(padded as u64));
            return Ok(());
        }
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let want = (rest.len() as u64).min(staging::PIECE);
            let staged = self.staging.take(Direction::Up, want, || self.finish_submitted())?;
            let (part, later) = rest.split_at(rest.len().min(staged.bytes as usize));
            let padded = part.len().next_multiple_of(4) as u64;
            let mut view = staged
                .buffer
                .get_mapped_range_mut(..padded)
                .map_err(|e| Fault::Internal(format!("mapping a staging buffer: {e:?}")))?;
            view.slice(..part.len()).copy_from_slice(part);
            drop(view);
            staged.buffer.unmap();
            let mut batch = self.lock();
            let source = staged.buffer.clone();
            self.encoder(&mut batch).copy_buffer_to_buffer(&source, 0, &block.buffer, at, Some(padded));
            batch.staged.push(staged);
            // The device copies this piece while the host fills the next.
            self.submit(&mut batch)?;
            at += part.len() as u64;
            rest = later;
        }
        Ok(())
    }
}
